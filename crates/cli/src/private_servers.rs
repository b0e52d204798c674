//! The private servers of this program: started when a target names one, stopped when the program ends.
//!
//! To a command, `postgres:private?durability=data` is a URL like any other; the registry opens the server
//! that was started for it. One URL has one server, however often it is opened, so that the probe measures
//! the disk on which the measured server keeps its log.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use syncline_console::{CannotRun, terminal};
use syncline_launcher::PrivateServer;
use syncline_stores::launch_spec;

/// The running servers, by the URL that requested them.
#[derive(Debug, Default)]
pub(crate) struct PrivateServers {
    running: Mutex<BTreeMap<String, PrivateServer>>,
}

impl PrivateServers {
    /// The URL to open: the given one, or that of a private server, which is started on first use.
    pub(crate) fn resolve(&self, url: &str) -> Result<String, CannotRun> {
        let Some(wanted) = launch_spec(url) else {
            return Ok(url.to_owned());
        };
        let wanted = wanted?;
        let mut running = self.running.lock();
        if let Some(private) = running.get(url) {
            return Ok(private.url().to_owned());
        }
        let private = PrivateServer::start(&wanted)?;
        terminal::note(&started(&private));
        if let Some(why) = private.fallback() {
            terminal::warn(why);
        }
        let resolved = private.url().to_owned();
        running.insert(url.to_owned(), private);
        Ok(resolved)
    }
}

/// A sentence about a started server: directory, user, process.
pub(crate) fn started(private: &PrivateServer) -> String {
    let product = private.product().word();
    let user = private.user().map_or_else(String::new, |user| format!(" as user {user}"));
    format!(
        "started a temporary {product} server{user}, process {}, in {}",
        private.pid(),
        private.directory().display()
    )
}
