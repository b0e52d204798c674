//! Private servers: a throw-away PostgreSQL, MariaDB, Redis, etcd or Derby on loopback, in a directory of
//! its own, from what is installed; gone without a trace when it is dropped.
//!
//! | file | what stands in it |
//! |---|---|
//! | `wanted.rs` | what a user asks for: `postgres:private?durability=data&cache=512m` |
//! | `ground.rs` | the directory, the user that owns it, the port |
//! | `keeper.rs` | the process that ends the server and removes the directory, also after kill -9 of ours |
//! | `postgres.rs`, `mariadb.rs`, `redis.rs`, `etcd.rs`, `derby.rs` | a [`Recipe`] each |
//!
//! 1. The server listens on 127.0.0.1 only, on a port that was free, and asks nobody for a password: it
//!    holds nothing but what a run puts into it.
//! 2. It never runs as root: where we are root, as the product's own user, or nobody's, without groups
//!    and without a way to gain privileges.
//! 3. It stands in the current directory, on the disk that is asked about. Where that is closed to the
//!    server's user, in [`FALLBACK`], which is said; its log is then there, and so is its line.
//! 4. It ends with whoever started it, however that ends: the keeper holds a pipe that closes then.
//! 5. Its settings are for a durability; that they are in force the target reads back from it.

mod derby;
mod etcd;
mod ground;
mod keeper;
mod mariadb;
mod postgres;
mod redis;
#[cfg(test)]
mod tests;
mod wanted;

pub use ground::FALLBACK;
pub use wanted::{Product, Wanted, bytes, processors};

use crate::error::Error;
use ground::Ground;
use keeper::Keeper;
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a server that fails to start, such as for a port that was taken meanwhile, is tried.
const TRIES: usize = 3;
/// How long a server may take to start.
const STARTS_WITHIN: Duration = Duration::from_mins(1);
const LOOKS_EVERY: Duration = Duration::from_millis(20);
const NOBODY: &str = "nobody";
/// Clients a private server has room for, beside what it needs itself.
const CONNECTIONS: usize = 300;

/// A server that runs as long as this lives.
#[derive(Debug)]
pub struct Private {
    product: Product,
    urls: Vec<String>,
    directory: PathBuf,
    fallback: Option<String>,
    user: Option<&'static str>,
    keeper: Keeper,
}

/// How a product is started.
struct Recipe {
    /// Commands that prepare the directory, in order.
    prepares: Vec<Vec<OsString>>,
    /// The server's command; it stays in the foreground.
    serves: Vec<OsString>,
    /// The signal that ends it at once.
    stop: &'static str,
    /// The URLs by which it is met, the best first.
    urls: Vec<String>,
    /// A file that holds this text once the server is ready; beside that its port must answer.
    ready: Option<(PathBuf, &'static str)>,
}

impl Private {
    /// Starts one, and returns when it can be met.
    pub fn start(wanted: &Wanted) -> Result<Private, Error> {
        let mut tries = 1;
        loop {
            match Private::attempt(wanted) {
                Err(_) if tries < TRIES => tries += 1,
                ended => return ended,
            }
        }
    }

    fn attempt(wanted: &Wanted) -> Result<Private, Error> {
        let product = wanted.product;
        let failed = |what: String| Error::Private {
            product: product.word(),
            what,
        };
        let mut ground = Ground::prepare(wanted).map_err(failed)?;
        let recipe = product.recipe(wanted, &ground).map_err(failed)?;
        let command = ground.confined(&recipe.serves, wanted.cpus.as_deref());
        let mut keeper = Keeper::of(ground.directory(), recipe.stop, &command).map_err(failed)?;
        ground.is_kept();
        for command in &recipe.prepares {
            ground.run(command).map_err(failed)?;
        }
        keeper.serve().map_err(failed)?;
        let (port, log) = (ground.port, ground.log());
        let (directory, fallback, user) = ground.into_parts();
        let private = Private {
            product,
            urls: recipe.urls,
            directory,
            fallback,
            user,
            keeper,
        };
        private
            .wait(port, recipe.ready.as_ref(), &log)
            .map_err(failed)?;
        Ok(private)
    }

    /// What it is.
    pub fn product(&self) -> Product {
        self.product
    }

    /// The URL by which it is met, over TCP.
    pub fn url(&self) -> &str {
        &self.urls[0]
    }

    /// Every URL by which it can be met.
    pub fn urls(&self) -> &[String] {
        &self.urls
    }

    /// Where it stands.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Why it does not stand where it was wanted, in a sentence; none if it does.
    pub fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    /// The user that it runs as, where that is not ours.
    pub fn user(&self) -> Option<&'static str> {
        self.user
    }

    /// The server's process.
    pub fn pid(&self) -> u32 {
        self.keeper.server()
    }

    /// True if the server has ended by itself.
    pub fn has_ended(&self) -> bool {
        self.keeper.server_ended()
    }

    /// Waits until it can be met; the error says what it wrote into its log.
    fn wait(&self, port: u16, ready: Option<&(PathBuf, &str)>, log: &Path) -> Result<(), String> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let is_ready = || {
            let said = ready.is_none_or(|(file, text)| {
                std::fs::read_to_string(file).is_ok_and(|content| content.contains(text))
            });
            said && TcpStream::connect_timeout(&address, LOOKS_EVERY).is_ok()
        };
        let looks = STARTS_WITHIN.as_millis() / LOOKS_EVERY.as_millis();
        for _ in 0..looks {
            if self.keeper.server_ended() {
                return Err(format!("the server ended at once: {}", tail(log)));
            }
            if is_ready() {
                return Ok(());
            }
            std::thread::sleep(LOOKS_EVERY);
        }
        Err(format!(
            "the server was not ready within {} s: {}",
            STARTS_WITHIN.as_secs(),
            tail(log)
        ))
    }
}

/// The last lines of a log, in one.
fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let last = lines.iter().skip(lines.len().saturating_sub(4));
    let last: Vec<&str> = last.copied().collect();
    if last.is_empty() {
        "it wrote nothing".to_owned()
    } else {
        last.join(" | ")
    }
}

/// A program by one of its names, on the search path or in the directories where Debian keeps it.
fn program(names: &[&str], package: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let searched = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/bin"].map(PathBuf::from));
    let candidates =
        searched.flat_map(|directory| names.iter().map(move |name| directory.join(name)));
    let found = candidates.into_iter().find(|candidate| candidate.is_file());
    found.ok_or_else(|| {
        format!(
            "{} is not installed: apt-get install {package}",
            names.join(" or ")
        )
    })
}

/// A command as a list of words.
fn words<const N: usize>(program: &Path, arguments: [String; N]) -> Vec<OsString> {
    let mut words = vec![program.as_os_str().to_owned()];
    words.extend(arguments.map(OsString::from));
    words
}
