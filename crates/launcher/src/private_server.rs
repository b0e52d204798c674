//! A private server that runs: started, waited for, ended when it is dropped.

use crate::error::Error;
use crate::launch_command::ListenAddress;
use crate::launch_spec::LaunchSpec;
use crate::product::Product;
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
    supervisor: Supervisor,
}

impl PrivateServer {
    /// Starts one, and returns when it can be met.
    pub fn start(spec: &LaunchSpec) -> Result<PrivateServer, Error> {
        spec.fits()?;
        let mut tries = 1;
        loop {
            match PrivateServer::attempt(spec) {
                Err(_) if tries < TRIES => tries += 1,
                ended => return ended,
            }
        }
    }

    fn attempt(spec: &LaunchSpec) -> Result<PrivateServer, Error> {
        let product = spec.product;
        let failed = |what: String| Error { product: product.word(), what };
        let mut prepared = ServerDirectory::prepare(spec).map_err(failed)?;
        let launch = (product.launcher().private)(spec, &prepared).map_err(failed)?;
        let command = prepared.confined(&launch.serve, spec.cpus.as_deref());
        let sockets = launch.sockets.as_deref();
        let supervisor = Supervisor::of(prepared.path(), sockets, launch.stop, &command);
        let mut supervisor = supervisor.map_err(failed)?;
        prepared.is_kept();
        for command in &launch.prepare {
            prepared.run(command).map_err(failed)?;
        }
        supervisor.serve().map_err(failed)?;
        let log = prepared.log();
        let (directory, fallback, user) = prepared.into_parts();
        let private =
            PrivateServer { product, urls: launch.urls, directory, fallback, user, supervisor };
        private.wait(&launch.listens_at, launch.ready.as_ref(), &log).map_err(failed)?;
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
        self.supervisor.server()
    }

    /// True if the server has ended by itself.
    pub fn has_ended(&self) -> bool {
        self.supervisor.server_ended()
    }

    /// Waits until it can be met; the error says what it wrote into its log.
    fn wait(
        &self,
        listens_at: &ListenAddress,
        ready: Option<&(PathBuf, &str)>,
        log: &Path,
    ) -> Result<(), String> {
        let is_ready = || {
            let said = ready.is_none_or(|(file, text)| {
                std::fs::read_to_string(file).is_ok_and(|content| content.contains(text))
            });
            said && listens_at.answers(LOOKS_EVERY)
        };
        let looks = STARTS_WITHIN.as_millis() / LOOKS_EVERY.as_millis();
        for _ in 0..looks {
            if self.supervisor.server_ended() {
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
