//! Rows as keys of etcd, and transactions by comparing revisions.

use super::gateway::{Gateway, coded, decoded, number};
use super::lease::{LASTS_S, Lease};
use super::metrics::{self, Metrics};
use super::reported_settings::{self, ServerInfo};
use super::settings::{LISTING, Settings};
use crate::error::Error;
use crate::server::{MARK, SchemaName};
use crate::url::Url;
use crate::wire::{Cleanup, is_asked};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use std::io::{self, ErrorKind};
use std::sync::{Arc, OnceLock};
use syncline_contract::key_value::{
    Change, KeyValue, KeyValueTarget, Pair, StoreInfo, WatchedKeyChanged,
};
use syncline_contract::{
    Counter, DryRunPlan, Durability, LogLocation, Order, Setting, StoreObservation, StoreProcess,
};

/// etcd as a target.
pub type EtcdTarget = KeyValueTarget<Etcd>;

/// The maximum size of a transaction, unless the server was started with another `--max-txn-ops`.
const OPERATIONS_MAX: usize = 128;

/// The key that exists while a run is in progress.
const USED: &[u8] = b"used";

/// etcd as a key-value store: a client's own handle, or the one that all clients come from.
#[derive(Debug)]
pub struct Etcd {
    shared: Arc<Shared>,
    gateway: OnceLock<Gateway>,
    /// The keys that the transaction has read, with their revisions.
    watched: Mutex<Vec<(Vec<u8>, i64)>>,
}

#[derive(Debug)]
struct Shared {
    settings: Settings,
    prefix: SchemaName,
    server_info: Mutex<Option<ServerInfo>>,
    /// The durability of a commit, once the store is created.
    measured_durability: Mutex<Option<(Durability, String)>>,
    /// Shows `clean` that the keys are in use; from `create` to `remove`, or to the end of the process.
    lease: Mutex<Option<Lease>>,
}

/// Opens the target that an `etcd:` URL names, without connecting.
pub(crate) fn open(url: &Url) -> Result<EtcdTarget, Error> {
    let settings = Settings::parse(url)?;
    // Unreadable roots are refused here, not when the first client connects.
    settings.encryption.tls(LISTING.name)?;
    let shared = Shared {
        settings,
        prefix: SchemaName::fresh(),
        server_info: Mutex::new(None),
        measured_durability: Mutex::new(None),
        lease: Mutex::new(None),
    };
    let store = Etcd::of(Arc::new(shared));
    Ok(KeyValueTarget::new(store))
}

impl Etcd {
    fn of(shared: Arc<Shared>) -> Etcd {
        Etcd { shared, gateway: OnceLock::new(), watched: Mutex::default() }
    }

    fn gateway(&self) -> io::Result<&Gateway> {
        if let Some(gateway) = self.gateway.get() {
            return Ok(gateway);
        }
        let gateway = Gateway::new(&self.shared.settings)?;
        Ok(self.gateway.get_or_init(|| gateway))
    }

    fn cached_server_info(&self) -> MutexGuard<'_, Option<ServerInfo>> {
        lock(&self.shared.server_info)
    }

    /// The facts about the server, read once.
    fn server_info(&self) -> io::Result<ServerInfo> {
        if let Some(server_info) = &*self.cached_server_info() {
            return Ok(server_info.clone());
        }
        let gateway = self.gateway()?;
        let server_info =
            gateway.promptly(|| reported_settings::ask(gateway, &self.shared.settings))?;
        *self.cached_server_info() = Some(server_info.clone());
        Ok(server_info)
    }

    fn named(&self, what: &[u8]) -> Vec<u8> {
        [self.shared.prefix.as_str().as_bytes(), b"/", what].concat()
    }

    fn row(&self, key: &[u8]) -> Vec<u8> {
        self.named(&[b"row/", key].concat())
    }

    /// The row of a key, and the revision of its last change; 0 if the key does not exist.
    fn read_row(&self, row: &[u8]) -> io::Result<(Option<Vec<u8>>, i64)> {
        let answer = self.gateway()?.ask("/v3/kv/range", &json!({ "key": coded(row) }))?;
        match &answer["kvs"][0] {
            Value::Null => Ok((None, 0)),
            found => Ok((Some(decoded(&found["value"])?), number(&found["mod_revision"]))),
        }
    }

    fn transaction(&self, compare: &[Value], success: &[Value]) -> io::Result<bool> {
        let transaction = json!({ "compare": compare, "success": success });
        let answer = self.gateway()?.ask("/v3/kv/txn", &transaction)?;
        Ok(answer["succeeded"].as_bool().unwrap_or(false))
    }

    /// Marks the prefix as managed; false if it exists already.
    fn mark(&self) -> io::Result<bool> {
        let mark = self.named(b"mark");
        self.transaction(&[compare(&mark, 0)], &[put(&mark, MARK.as_bytes())])
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

fn compare(key: &[u8], revision: i64) -> Value {
    json!({
        "key": coded(key),
        "target": "MOD",
        "result": "EQUAL",
        "mod_revision": revision.to_string(),
    })
}

fn put(key: &[u8], value: &[u8]) -> Value {
    json!({ "request_put": { "key": coded(key), "value": coded(value) } })
}

fn delete(key: &[u8]) -> Value {
    json!({ "request_delete_range": { "key": coded(key) } })
}

impl KeyValue for Etcd {
    fn about(&self) -> StoreInfo {
        let server_info = self.cached_server_info().clone();
        let measured_durability = lock(&self.shared.measured_durability).clone();
        let not_contacted = || "the server has not been contacted yet".to_owned();
        let (durability, evidence) =
            measured_durability.unwrap_or_else(|| (Durability::None, not_contacted()));
        StoreInfo {
            name: LISTING.name.to_owned(),
            version: server_info
                .as_ref()
                .map_or(String::new(), |server_info| server_info.version.clone()),
            durability,
            durability_evidence: evidence,
            log_location: server_info.map_or_else(
                || LogLocation::Nowhere(not_contacted()),
                |server_info| server_info.log_location,
            ),
        }
    }

    fn other_locations(&self) -> Vec<LogLocation> {
        let server_info = self.cached_server_info();
        server_info
            .as_ref()
            .map(|server_info| server_info.data_location.clone())
            .into_iter()
            .collect()
    }

    fn preflight(&self) -> io::Result<()> {
        self.server_info()?;
        let gateway = self.gateway()?;
        gateway.promptly(|| reported_settings::refuse_others(gateway, &self.shared.settings))
    }

    fn create(&self) -> io::Result<()> {
        self.server_info()?;
        if !self.mark()? {
            return Err(io::Error::new(
                ErrorKind::AlreadyExists,
                format!("keys with the prefix {} exist already", self.shared.prefix),
            ));
        }
        let lease = Lease::take(&self.shared.settings, &self.named(USED))?;
        *lock(&self.shared.lease) = Some(lease);
        let trial = self.named(b"trial");
        let commits = || self.transaction(&[], &[put(&trial, b"")]).map(drop);
        let found = reported_settings::durability(self.gateway()?, commits)?;
        let refused = match self.shared.settings.durability {
            Some(word) if word != found.0 => Some(format!(
                "the URL sets durability={}, but {}; this target does not change a server's settings",
                word.word(),
                found.1
            )),
            _ => None,
        };
        self.transaction(&[], &[delete(&trial)])?;
        if let Some(refused) = refused {
            drop(lock(&self.shared.lease).take());
            remove(self.gateway()?, &self.shared.prefix)?;
            return Err(io::Error::new(ErrorKind::InvalidInput, refused));
        }
        *lock(&self.shared.measured_durability) = Some(found);
        Ok(())
    }

    fn remove(&self) -> io::Result<()> {
        let _removal = Cleanup::begins();
        drop(lock(&self.shared.lease).take());
        remove(self.gateway()?, &self.shared.prefix).map(drop)
    }

    fn client(&self) -> io::Result<Option<Etcd>> {
        let client = Etcd::of(Arc::clone(&self.shared));
        // So that an unreachable server is reported when a client connects.
        let address = &self.shared.settings.address;
        client.ping().map_err(|error| address.named_in(&error))?;
        Ok(Some(client))
    }

    fn watches(&self) -> bool {
        true
    }

    fn watch(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let row = self.row(key);
        let (value, revision) = self.read_row(&row)?;
        let mut watched = lock(&self.watched);
        // The first value read counts: the transaction does not depend on a later change.
        if watched.iter().all(|(key, _)| *key != row) {
            watched.push((row, revision));
        }
        Ok(value)
    }

    fn unwatch(&self) {
        lock(&self.watched).clear();
    }

    fn changes_max(&self) -> usize {
        OPERATIONS_MAX
    }

    fn commit(&self, changes: &[Change]) -> io::Result<()> {
        let watched = std::mem::take(&mut *lock(&self.watched));
        let compares: Vec<_> =
            watched.iter().map(|(key, revision)| compare(key, *revision)).collect();
        let writes: Vec<_> = changes
            .iter()
            .map(|Change { key, value }| match value {
                Some(value) => put(&self.row(key), value),
                None => delete(&self.row(key)),
            })
            .collect();
        if self.transaction(&compares, &writes)? {
            Ok(())
        } else {
            Err(io::Error::other(WatchedKeyChanged))
        }
    }

    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        Ok(self.read_row(&self.row(key))?.0)
    }

    fn scans(&self) -> bool {
        true
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, limit: usize) -> io::Result<Vec<Pair>> {
        let mut question = json!({
            "key": coded(&self.row(from)),
            "range_end": coded(&self.row(to)),
            "limit": limit.to_string(),
        });
        if order == Order::Descending {
            question["sort_order"] = json!("DESCEND");
            question["sort_target"] = json!("KEY");
        }
        let answer = self.gateway()?.ask("/v3/kv/range", &question)?;
        let begin = self.row(b"").len();
        let pairs = answer["kvs"].as_array().into_iter().flatten();
        pairs
            .map(|pair| {
                let name = decoded(&pair["key"])?;
                let key = name.get(begin..).unwrap_or_default().to_vec();
                Ok((key, decoded(&pair["value"])?))
            })
            .collect()
    }

    fn settings(&self) -> Vec<Setting> {
        let mut settings = self
            .cached_server_info()
            .as_ref()
            .map_or(Vec::new(), |server_info| server_info.settings.clone());
        for (name, value) in [
            ("rows", "one key for each row"),
            ("transactions", "compared revisions, then puts and deletions, at most 128 of each"),
            ("protocol", "its HTTP/JSON gateway, a connection a client"),
        ] {
            settings.push(Setting {
                name: name.to_owned(),
                value: value.to_owned(),
                source: "this target".to_owned(),
            });
        }
        settings.push(self.shared.settings.encryption.as_setting());
        settings
    }

    fn process(&self) -> StoreProcess {
        let server_info = self.cached_server_info();
        server_info.as_ref().map_or(StoreProcess::REMOTE, |server_info| server_info.process)
    }

    fn ping(&self) -> io::Result<bool> {
        self.gateway()?.page("/version").map(|_| true)
    }

    fn counters(&self) -> io::Result<Vec<Counter>> {
        Ok(Metrics::ask(self.gateway()?)?.counters())
    }

    fn observe(&self) -> io::Result<Option<StoreObservation>> {
        let server_info = self.server_info()?;
        metrics::observation(self.gateway()?, &server_info).map(Some)
    }

    fn clean(&self) -> io::Result<Option<Vec<String>>> {
        clean(self.gateway()?).map(Some)
    }

    fn dry_run(&self, clients: usize) -> DryRunPlan {
        let prefix = &self.shared.prefix;
        DryRunPlan {
            makes: vec![
                format!("put {prefix}/mark \"{MARK}\" if it is not there"),
                format!("lease grant, put {prefix}/used under it, kept alive by a thread"),
            ],
            transactions: vec![
                format!("range {prefix}/row/KEY for what is written over"),
                format!("txn: if the revisions are those, put {prefix}/row/KEY VALUE"),
            ],
            connections: Some(clients + 1),
            removes: vec![format!("delete-range {prefix}/")],
            ..DryRunPlan::default()
        }
    }
}

/// True while the lease of a run exists; after a kill it expires by itself.
fn is_used(gateway: &Gateway, prefix: &SchemaName) -> io::Result<bool> {
    let used = [prefix.as_str().as_bytes(), b"/", USED].concat();
    let found = gateway.ask("/v3/kv/range", &json!({ "key": coded(&used), "keys_only": true }))?;
    Ok(!found["kvs"][0].is_null())
}

/// Removes every key with a managed prefix; returns their number.
fn remove(gateway: &Gateway, prefix: &SchemaName) -> io::Result<i64> {
    // `0` is the byte after `/`.
    let question = json!({
        "key": coded(format!("{prefix}/").as_bytes()),
        "range_end": coded(format!("{prefix}0").as_bytes()),
    });
    let answer = gateway.ask("/v3/kv/deleterange", &question)?;
    Ok(number(&answer["deleted"]))
}

/// Removes the keys of managed prefixes with the mark; returns their descriptions.
fn clean(gateway: &Gateway) -> io::Result<Vec<String>> {
    let mut cleaned = Vec::new();
    // Reads the first key of each prefix in turn: a prefix may have millions.
    let mut from = b"syncline_".to_vec();
    loop {
        // '`' is the byte after `_`.
        let question = json!({
            "key": coded(&from),
            "range_end": coded(b"syncline`"),
            "keys_only": true,
            "limit": "1",
        });
        let answer = gateway.ask("/v3/kv/range", &question)?;
        let Some(key) = answer["kvs"].get(0) else {
            break;
        };
        if is_asked() {
            let what = "interrupted";
            return Err(io::Error::new(ErrorKind::Interrupted, what));
        }
        let first = decoded(&key["key"])?;
        if first < from {
            let what = "etcd returned a key before the requested range";
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        }
        let length = first.iter().position(|byte| *byte == b'/');
        let prefix = &first[..length.unwrap_or(first.len())];
        // `0` is the byte after `/`.
        from = [prefix, if length.is_some() { b"0" } else { b"\0" }].concat();
        let name = str::from_utf8(prefix).ok();
        let Some(prefix) = name.and_then(SchemaName::of) else {
            continue;
        };
        let key = format!("{prefix}/mark").into_bytes();
        let found = gateway.ask("/v3/kv/range", &json!({ "key": coded(&key) }))?;
        if decoded(&found["kvs"][0]["value"])? == MARK.as_bytes() {
            if is_used(gateway, &prefix)? {
                cleaned.push(format!(
                    "kept the keys of prefix {prefix}: a run uses them; if it was killed, clean again in \
                     {LASTS_S} s"
                ));
                continue;
            }
            let count = remove(gateway, &prefix)?;
            cleaned.push(format!("{count} keys of prefix {prefix}"));
        }
    }
    Ok(cleaned)
}
