//! The private servers of this program: started when a target names one, ended with the program.
//!
//! `postgres:private?durability=data` is a URL like any other to a verb; the registry opens in its place
//! the server that was started for it. One URL has one server, however often it is opened, so that a
//! line is probed where the server that is measured keeps its log.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use syncline_console::{CannotRun, terminal};
use syncline_launcher::PrivateServer;
use syncline_stores::launch_spec;

/// Those that run, by the URL that asked for them.
#[derive(Debug, Default)]
pub(crate) struct PrivateServers {
    running: Mutex<BTreeMap<String, PrivateServer>>,
}

impl PrivateServers {
    /// The URL to open: the one given, or that of a private server, which is started when it is first
    /// asked for.
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

/// What was started, where and as whom.
pub(crate) fn started(private: &PrivateServer) -> String {
    let product = private.product().word();
    let user = private.user().map_or_else(String::new, |user| format!(" as user {user}"));
    format!(
        "started a temporary {product} server{user}, process {}, in {}",
        private.pid(),
        private.directory().display()
    )
}
