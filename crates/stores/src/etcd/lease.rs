//! A key that exists while a run is in progress, and disappears soon after a run was killed: it is
//! attached to a lease, which a thread keeps alive.
//!
//! Its requests, one in five seconds, write nothing to etcd's log.

use super::gateway::{Gateway, coded, number};
use super::settings::Settings;
use serde_json::json;
use std::io::{self, ErrorKind};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long the key outlives a killed process, in seconds.
pub(super) const LASTS_S: u64 = 20;
/// The interval of the keep-alive requests.
const EVERY: Duration = Duration::from_secs(5);

/// A lease and the thread that keeps it alive; dropping it ends both.
#[derive(Debug)]
pub(super) struct Lease {
    /// Dropped to end the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Lease {
    /// Puts a key under a lease of its own.
    pub(super) fn take(settings: &Settings, key: &[u8]) -> io::Result<Lease> {
        let gateway = Gateway::new(settings)?;
        let granted = gateway.ask("/v3/lease/grant", &json!({ "TTL": LASTS_S.to_string() }))?;
        let id = number(&granted["ID"]);
        if id == 0 {
            let what = format!("the gateway returned {granted} instead of a lease");
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        }
        let id = id.to_string();
        gateway.ask("/v3/kv/put", &json!({ "key": coded(key), "value": "", "lease": id }))?;
        let (end, ended) = mpsc::channel::<()>();
        let thread = thread::Builder::new().name("etcd-lease".to_owned()).spawn(move || {
            while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                // A failed request is repeated at the next interval: a lease outlives several.
                drop(gateway.ask("/v3/lease/keepalive", &json!({ "ID": id })));
            }
            // Without this request the lease expires by itself.
            drop(gateway.ask("/v3/lease/revoke", &json!({ "ID": id })));
        })?;
        Ok(Lease { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // The thread returns no result.
            drop(thread.join());
        }
    }
}
