//! A key that stands while a run is under way, and goes by itself soon after a run that was killed: it hangs
//! on a lease, which a thread keeps alive.
//!
//! Its requests, one in five seconds, write nothing into etcd's log.

use super::gateway::{Gateway, coded, number};
use super::settings::Settings;
use serde_json::json;
use std::io::{self, ErrorKind};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long the key outlives a process that was killed, in seconds.
pub(super) const LASTS_S: u64 = 20;
/// How often the lease is kept alive.
const EVERY: Duration = Duration::from_secs(5);

/// A lease and the thread that keeps it; ends with its value.
#[derive(Debug)]
pub(super) struct Lease {
    /// Dropped to end the thread.
    end: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl Lease {
    /// Puts a key under a lease of its own.
    pub(super) fn take(settings: &Settings, key: &[u8]) -> io::Result<Lease> {
        let gateway = Gateway::new(settings)?;
        let granted = gateway.ask("/v3/lease/grant", &json!({ "TTL": LASTS_S.to_string() }))?;
        let id = number(&granted["ID"]);
        if id == 0 {
            let what = format!("the gateway answers {granted} where a lease was due");
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        }
        let id = id.to_string();
        gateway.ask("/v3/kv/put", &json!({ "key": coded(key), "value": "", "lease": id }))?;
        let (end, ended) = mpsc::channel::<()>();
        let keeper = thread::Builder::new().name("etcd-lease".to_owned()).spawn(move || {
            while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                // One that fails is tried again: a lease outlives several.
                drop(gateway.ask("/v3/lease/keepalive", &json!({ "ID": id })));
            }
            // Without it the lease ends by itself.
            drop(gateway.ask("/v3/lease/revoke", &json!({ "ID": id })));
        })?;
        Ok(Lease { end: Some(end), keeper: Some(keeper) })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(keeper) = self.keeper.take() {
            // It has nothing to say.
            drop(keeper.join());
        }
    }
}
