//! A running private server; it ends when it is dropped.

use crate::error::Error;
use crate::launch_command::ListenAddress;
use crate::launch_spec::LaunchSpec;
use crate::product::Product;
use crate::server_directory::ServerDirectory;
use crate::supervisor::Supervisor;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The number of attempts to start a server: a start fails if another process takes its port meanwhile.
const TRIES: usize = 3;
/// How long a server may take to start.
pub(crate) const START_TIMEOUT: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A server that runs until this is dropped.
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
    /// Starts a server, and returns when it accepts connections.
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
        prepared.leave_to_supervisor();
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

    /// The product.
    pub fn product(&self) -> Product {
        self.product
    }

    /// The URL for connecting; over TCP, if the product supports a password there.
    pub fn url(&self) -> &str {
        &self.urls[0]
    }

    /// All URLs for connecting.
    pub fn urls(&self) -> &[String] {
        &self.urls
    }

    /// The server's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Why the directory is in [`FALLBACK`](crate::FALLBACK), in one sentence; `None` if it is where the user
    /// requested it.
    pub fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    /// The user that it runs as, if it is another than that of this process.
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

    /// Waits until the server accepts connections; the error has the end of its log.
    fn wait(
        &self,
        listens_at: &ListenAddress,
        ready: Option<&(PathBuf, &str)>,
        log: &Path,
    ) -> Result<(), String> {
        let is_ready = || {
            let signals_ready = ready.is_none_or(|(file, text)| {
                std::fs::read_to_string(file).is_ok_and(|content| content.contains(text))
            });
            signals_ready && listens_at.answers(POLL_INTERVAL)
        };
        let polls = START_TIMEOUT.as_millis() / POLL_INTERVAL.as_millis();
        for _ in 0..polls {
            if self.supervisor.server_ended() {
                return Err(format!("the server ended at once: {}", tail(log)));
            }
            if is_ready() {
                return Ok(());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Err(format!("the server was not ready within {} s: {}", START_TIMEOUT.as_secs(), tail(log)))
    }
}

/// The last lines of a log, joined into one.
pub(crate) fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.iter().skip(lines.len().saturating_sub(4));
    let last: Vec<&str> = last.copied().collect();
    if last.is_empty() { "it wrote nothing".to_owned() } else { last.join(" | ") }
}
