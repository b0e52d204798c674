//! A private server that runs: started, waited for, ended when it is dropped.

use crate::error::Error;
use crate::launch_command::ListenAddress;
use crate::launch_spec::{LaunchSpec, Product};
use crate::server_directory::ServerDirectory;
use crate::supervisor::Supervisor;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a server that fails to start, such as for a port that was taken meanwhile, is tried.
const TRIES: usize = 3;
/// How long a server may take to start.
pub(crate) const STARTS_WITHIN: Duration = Duration::from_mins(1);
const LOOKS_EVERY: Duration = Duration::from_millis(20);

/// A server that runs as long as this lives.
#[derive(Debug)]
pub struct PrivateServer {
    product: Product,
    urls: Vec<String>,
    directory: PathBuf,
    fallback: Option<String>,
    user: Option<&'static str>,
    keeper: Supervisor,
}

impl PrivateServer {
    /// Starts one, and returns when it can be met.
    pub fn start(wanted: &LaunchSpec) -> Result<PrivateServer, Error> {
        wanted.fits()?;
        let mut tries = 1;
        loop {
            match PrivateServer::attempt(wanted) {
                Err(_) if tries < TRIES => tries += 1,
                ended => return ended,
            }
        }
    }

    fn attempt(wanted: &LaunchSpec) -> Result<PrivateServer, Error> {
        let product = wanted.product;
        let failed = |what: String| Error { product: product.word(), what };
        let mut ground = ServerDirectory::prepare(wanted).map_err(failed)?;
        let recipe = product.recipe(wanted, &ground).map_err(failed)?;
        let command = ground.confined(&recipe.serves, wanted.cpus.as_deref());
        let sockets = recipe.sockets.as_deref();
        let keeper = Supervisor::of(ground.directory(), sockets, recipe.stop, &command);
        let mut keeper = keeper.map_err(failed)?;
        ground.is_kept();
        for command in &recipe.prepares {
            ground.run(command).map_err(failed)?;
        }
        keeper.serve().map_err(failed)?;
        let log = ground.log();
        let (directory, fallback, user) = ground.into_parts();
        let private =
            PrivateServer { product, urls: recipe.urls, directory, fallback, user, keeper };
        private.wait(&recipe.meets, recipe.ready.as_ref(), &log).map_err(failed)?;
        Ok(private)
    }

    /// What it is.
    pub fn product(&self) -> Product {
        self.product
    }

    /// The URL by which it is met, over TCP where the product offers that with a password.
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
    fn wait(
        &self,
        meets: &ListenAddress,
        ready: Option<&(PathBuf, &str)>,
        log: &Path,
    ) -> Result<(), String> {
        let is_ready = || {
            let said = ready.is_none_or(|(file, text)| {
                std::fs::read_to_string(file).is_ok_and(|content| content.contains(text))
            });
            said && meets.answers(LOOKS_EVERY)
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
        Err(format!("the server was not ready within {} s: {}", STARTS_WITHIN.as_secs(), tail(log)))
    }
}

/// The last lines of a log, in one.
pub(crate) fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.iter().skip(lines.len().saturating_sub(4));
    let last: Vec<&str> = last.copied().collect();
    if last.is_empty() { "it wrote nothing".to_owned() } else { last.join(" | ") }
}
