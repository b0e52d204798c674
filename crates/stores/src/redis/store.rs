//! Rows as keys of Redis, and transactions by WATCH, MULTI and EXEC.

use super::connection::{ANSWERS_WITHIN, Connection, accepted, unexpected};
use super::counters;
use super::protocol::Reply;
use super::reported_settings::{self, ServerInfo};
use super::settings::{LISTING, Settings};
use crate::error::Error;
use crate::server::{MARK, SESSION_END_CHECKS, SESSION_END_PAUSE, SchemaName};
use crate::url::Url;
use crate::wire::{Cleanup, Tls, is_asked};
use parking_lot::{Mutex, MutexGuard};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use syncline_contract::key_value::{
    Change, KeyValue, KeyValueTarget, Pair, StoreInfo, WatchedKeyChanged,
};
use syncline_contract::{
    Counter, DryRunPlan, Durability, LogLocation, Order, Setting, StoreObservation, StoreProcess,
};

/// Redis as a target.
pub type RedisTarget = KeyValueTarget<Redis>;

/// A server of Redis's protocol as a key-value store: a client's own handle, or the one that all
/// clients come from.
#[derive(Debug)]
pub struct Redis {
    shared: Arc<Shared>,
    /// Opened at its first use; closed after its first error.
    link: Mutex<Option<Link>>,
    /// True for a client's handle, which never opens a second connection: the keys watched on the first
    /// would be lost.
    is_client: bool,
}

#[derive(Debug)]
struct Shared {
    settings: Settings,
    tls: Tls,
    prefix: SchemaName,
    server_info: Mutex<Option<ServerInfo>>,
}

#[derive(Debug)]
struct Link {
    connection: Connection,
    watching: bool,
}

/// Reads names of rows in order and returns each with its row, atomically.
const SCAN: &[u8] =
    b"local names = redis.call(ARGV[1], KEYS[1], ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[4])
local pairs = {}
for place, name in ipairs(names) do
  pairs[2 * place - 1] = name
  pairs[2 * place] = redis.call('GET', ARGV[5] .. name)
end
return pairs";

/// Opens the target that a `redis:` URL names, without connecting.
pub(crate) fn open(url: &Url) -> Result<RedisTarget, Error> {
    let settings = Settings::parse(url)?;
    let shared = Shared {
        tls: settings.encryption.tls(LISTING.name)?,
        settings,
        prefix: SchemaName::fresh(),
        server_info: Mutex::new(None),
    };
    let store = Redis { shared: Arc::new(shared), link: Mutex::new(None), is_client: false };
    Ok(KeyValueTarget::new(store))
}

impl Redis {
    fn link(&self) -> MutexGuard<'_, Option<Link>> {
        self.link.lock()
    }

    fn cached_server_info(&self) -> MutexGuard<'_, Option<ServerInfo>> {
        self.shared.server_info.lock()
    }

    /// The facts about the server, read once.
    fn server_info(&self) -> io::Result<ServerInfo> {
        if let Some(server_info) = &*self.cached_server_info() {
            return Ok(server_info.clone());
        }
        let settings = &self.shared.settings;
        let server_info = self.with(|link| {
            link.connection.limit(settings.connects_within);
            reported_settings::ask(&mut link.connection, settings)
        })?;
        *self.cached_server_info() = Some(server_info.clone());
        Ok(server_info)
    }

    /// Runs a function on the connection. After an I/O error, answers cannot be matched to requests any
    /// more, so the connection is closed; after a refusal of the server it remains usable.
    fn with<R>(&self, work: impl FnOnce(&mut Link) -> io::Result<R>) -> io::Result<R> {
        let mut held = self.link();
        if held.is_none() {
            if self.is_client {
                return Err(ErrorKind::NotConnected.into());
            }
            *held = Some(self.connected()?);
        }
        let link = held.as_mut().expect("it was opened above");
        link.connection.limit(ANSWERS_WITHIN);
        let done = work(link);
        if let Err(error) = &done
            && is_lost(error)
        {
            *held = None;
        }
        done
    }

    /// Opens a connection with the name of the run's keys, so that `clean` sees that they are in use.
    fn connected(&self) -> io::Result<Link> {
        let settings = &self.shared.settings;
        let mut connection = Connection::open(settings, &self.shared.tls)
            .map_err(|error| settings.address.named_in(&error))?;
        let name = self.shared.prefix.as_str().as_bytes();
        match connection.ask(&[b"CLIENT", b"SETNAME", name]) {
            Err(error) if is_lost(&error) => return Err(error),
            // A user that may not name a session may not list them either: then `clean` is refused.
            _ => {}
        }
        Ok(Link { connection, watching: false })
    }

    fn named(&self, what: &str) -> Vec<u8> {
        format!("{}:{what}", self.shared.prefix).into_bytes()
    }

    fn row(&self, key: &[u8]) -> Vec<u8> {
        let mut name = self.named("row:");
        name.extend_from_slice(key);
        name
    }

    fn queue(&self, connection: &mut Connection, changes: &[Change]) -> usize {
        let index = self.named("rows");
        let mut count = 0;
        for Change { key, value } in changes {
            let row = self.row(key);
            match value {
                Some(value) => connection.queue(&[b"SET", &row, value]),
                None => connection.queue(&[b"DEL", &row]),
            }
            count += 1;
            if self.shared.settings.scans {
                match value {
                    Some(_) => connection.queue(&[b"ZADD", &index, b"0", key]),
                    None => connection.queue(&[b"ZREM", &index, key]),
                }
                count += 1;
            }
        }
        count
    }

    fn value(&self, link: &mut Link, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let row = self.row(key);
        match link.connection.ask(&[b"GET", &row])? {
            Reply::Bytes(value) => Ok(value),
            other => Err(unexpected(&other)),
        }
    }
}

/// True if an error leaves the connection in an unknown state.
fn is_lost(error: &io::Error) -> bool {
    !matches!(
        error.kind(),
        ErrorKind::Other
            | ErrorKind::StorageFull
            | ErrorKind::ResourceBusy
            | ErrorKind::InvalidInput
            | ErrorKind::AlreadyExists
    )
}

impl KeyValue for Redis {
    fn about(&self) -> StoreInfo {
        let server_info = self.cached_server_info().clone();
        let not_contacted = "the server has not been contacted yet";
        StoreInfo {
            name: LISTING.name.to_owned(),
            version: server_info
                .as_ref()
                .map_or(String::new(), |server_info| server_info.version.clone()),
            durability: server_info
                .as_ref()
                .map_or(Durability::None, |server_info| server_info.durability),
            durability_evidence: server_info
                .as_ref()
                .map_or(not_contacted.to_owned(), |server_info| server_info.evidence.clone()),
            log_location: server_info
                .map_or(LogLocation::Nowhere(not_contacted.to_owned()), |server_info| {
                    server_info.log_location
                }),
        }
    }

    fn other_locations(&self) -> Vec<LogLocation> {
        let server_info = self.cached_server_info();
        server_info
            .as_ref()
            .and_then(|server_info| server_info.directory.clone())
            .into_iter()
            .collect()
    }

    fn preflight(&self) -> io::Result<()> {
        let server_info = self.server_info()?;
        reported_settings::refuse(&server_info, &self.shared.settings)
    }

    fn clients_max(&self) -> Option<usize> {
        self.cached_server_info().as_ref().and_then(|server_info| server_info.free)
    }

    fn create(&self) -> io::Result<()> {
        let server_info = self.server_info()?;
        reported_settings::refuse_word(&server_info, &self.shared.settings)?;
        let mark = self.named("mark");
        let set = self.with(|link| {
            let command: [&[u8]; 4] = [b"SET", &mark, MARK.as_bytes(), b"NX"];
            link.connection.ask(&command)
        })?;
        match set {
            Reply::Word(_) => Ok(()),
            _ => Err(io::Error::new(
                ErrorKind::AlreadyExists,
                format!("keys with the prefix {} exist already", self.shared.prefix),
            )),
        }
    }

    fn remove(&self) -> io::Result<()> {
        let _removal = Cleanup::begins();
        self.with(|link| remove(&mut link.connection, &self.shared.prefix)).map(drop)
    }

    fn client(&self) -> io::Result<Option<Redis>> {
        let link = self.connected()?;
        Ok(Some(Redis {
            shared: Arc::clone(&self.shared),
            link: Mutex::new(Some(link)),
            is_client: true,
        }))
    }

    fn watches(&self) -> bool {
        true
    }

    fn watch(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let row = self.row(key);
        self.with(|link| {
            link.watching = true;
            link.connection.queue(&[b"WATCH", &row]);
            link.connection.queue(&[b"GET", &row]);
            link.connection.send()?;
            let watched = link.connection.answer()?;
            let value = link.connection.answer()?;
            accepted(watched)?;
            match accepted(value)? {
                Reply::Bytes(value) => Ok(value),
                other => Err(unexpected(&other)),
            }
        })
    }

    fn unwatch(&self) {
        if self.link().as_ref().is_some_and(|link| link.watching) {
            // If the connection is lost, its watched keys are forgotten too.
            drop(self.with(|link| {
                link.watching = false;
                link.connection.ask(&[b"UNWATCH"])
            }));
        }
    }

    fn commit(&self, changes: &[Change]) -> io::Result<()> {
        self.with(|link| {
            link.connection.queue(&[b"MULTI"]);
            let count = self.queue(&mut link.connection, changes);
            link.connection.queue(&[b"EXEC"]);
            link.connection.send()?;
            link.watching = false;
            // Every answer is read, even after a refusal, so that the connection remains usable.
            let mut refused = None;
            for _ in 0..=count {
                let queued = link.connection.answer()?;
                refused = refused.or(accepted(queued).err());
            }
            let done = link.connection.answer()?;
            if let Some(refused) = refused {
                return Err(refused);
            }
            match accepted(done)? {
                Reply::Several(Some(done)) => {
                    done.into_iter().try_for_each(|one| accepted(one).map(drop))
                }
                Reply::Several(None) => Err(io::Error::other(WatchedKeyChanged)),
                other => Err(unexpected(&other)),
            }
        })
    }

    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        self.with(|link| self.value(link, key))
    }

    fn scans(&self) -> bool {
        self.shared.settings.scans
    }

    fn scan(&self, from: &[u8], to: &[u8], order: Order, limit: usize) -> io::Result<Vec<Pair>> {
        let least = [b"[", from].concat();
        let end = [b"(", to].concat();
        let (how, first, last): (&[u8], _, _) = match order {
            Order::Ascending => (b"ZRANGEBYLEX", &least, &end),
            Order::Descending => (b"ZREVRANGEBYLEX", &end, &least),
        };
        let (index, rows) = (self.named("rows"), self.named("row:"));
        let limit = limit.to_string();
        let command: [&[u8]; 9] =
            [b"EVAL", SCAN, b"1", &index, how, first, last, limit.as_bytes(), &rows];
        let answer = self.with(|link| link.connection.ask(&command))?;
        let Reply::Several(Some(answer)) = answer else {
            return Err(unexpected(&answer));
        };
        let mut pairs = Vec::with_capacity(answer.len() / 2);
        let mut answer = answer.into_iter();
        while let (Some(key), Some(value)) = (answer.next(), answer.next()) {
            match (key, value) {
                (Reply::Bytes(Some(key)), Reply::Bytes(Some(value))) => pairs.push((key, value)),
                (_, other) => return Err(unexpected(&other)),
            }
        }
        Ok(pairs)
    }

    fn settings(&self) -> Vec<Setting> {
        let server_info = self.cached_server_info();
        let mut settings =
            server_info.as_ref().map_or(Vec::new(), |server_info| server_info.settings.clone());
        let scans = if self.shared.settings.scans {
            "one string for each row, and its name in a sorted set"
        } else {
            "one string for each row"
        };
        settings.push(self.shared.settings.encryption.as_setting());
        settings.push(Setting {
            name: "rows".to_owned(),
            value: scans.to_owned(),
            source: "this target".to_owned(),
        });
        settings
    }

    fn process(&self) -> StoreProcess {
        let server_info = self.cached_server_info();
        server_info.as_ref().map_or(StoreProcess::REMOTE, |server_info| server_info.process)
    }

    fn ping(&self) -> io::Result<bool> {
        self.with(|link| link.connection.ask(&[b"PING"])).map(|_| true)
    }

    fn counters(&self) -> io::Result<Vec<Counter>> {
        self.with(|link| counters::of(&mut link.connection))
    }

    fn observe(&self) -> io::Result<Option<StoreObservation>> {
        let server_info = self.server_info()?;
        self.with(|link| counters::observation(&mut link.connection, &server_info)).map(Some)
    }

    fn clean(&self) -> io::Result<Option<Vec<String>>> {
        self.with(|link| clean(&mut link.connection)).map(Some)
    }

    fn dry_run(&self, clients: usize) -> DryRunPlan {
        let prefix = &self.shared.prefix;
        let index = if self.shared.settings.scans {
            format!(", ZADD {prefix}:rows 0 KEY")
        } else {
            String::new()
        };
        DryRunPlan {
            makes: vec![format!("SET {prefix}:mark \"{MARK}\" NX")],
            transactions: vec![
                format!("WATCH {prefix}:row:KEY, GET {prefix}:row:KEY for what is written over"),
                format!("MULTI, SET {prefix}:row:KEY VALUE{index}, EXEC"),
            ],
            connections: Some(clients + 1),
            removes: vec![format!("SCAN MATCH {prefix}:*, UNLINK")],
            ..DryRunPlan::default()
        }
    }
}

impl Drop for Redis {
    /// Managed keys are removed only by `remove`; a killed run leaves them to `clean`.
    fn drop(&mut self) {
        self.unwatch();
    }
}

/// Removes every key with a managed prefix; returns their number. The mark is removed last, so that the
/// rest remains recognizable after a failure.
fn remove(connection: &mut Connection, prefix: &SchemaName) -> io::Result<usize> {
    let mark = format!("{prefix}:mark").into_bytes();
    let pattern = format!("{prefix}:*");
    let (mut count, mut cursor) = (0, None);
    while let Some(found) = keys(connection, &pattern, &mut cursor)? {
        for key in found.iter().filter(|key| **key != mark) {
            connection.ask(&[b"UNLINK", key])?;
            count += 1;
        }
    }
    connection.ask(&[b"UNLINK", &mark])?;
    Ok(count)
}

/// Removes the keys of managed prefixes with the mark; returns their descriptions.
fn clean(connection: &mut Connection) -> io::Result<Vec<String>> {
    let mut cleaned = Vec::new();
    let (mut marks, mut cursor) = (Vec::new(), None);
    while let Some(found) = keys(connection, "syncline_*:mark", &mut cursor)? {
        marks.extend(found);
        if is_asked() {
            let what = "interrupted";
            return Err(io::Error::new(ErrorKind::Interrupted, what));
        }
        if marks.len() > MARKS_MAX {
            let what =
                format!("the server returned more than {MARKS_MAX} keys that match our marks");
            return Err(io::Error::new(ErrorKind::InvalidData, what));
        }
    }
    // SCAN may return a key more than once.
    marks.sort_unstable();
    marks.dedup();
    for key in marks {
        let name = str::from_utf8(&key).ok();
        let prefix = name.and_then(|name| SchemaName::of(name.strip_suffix(":mark")?));
        let Some(prefix) = prefix else { continue };
        // A key of another type is refused: it is not a mark.
        let marked = connection.ask(&[b"GET", &key]);
        if matches!(marked, Ok(Reply::Bytes(Some(words))) if words == MARK.as_bytes()) {
            if is_used(connection, &prefix)? {
                cleaned.push(format!("kept the keys of prefix {prefix}: a run uses them"));
                continue;
            }
            let count = remove(connection, &prefix)?;
            cleaned.push(format!("{count} keys of prefix {prefix}"));
        }
    }
    Ok(cleaned)
}

/// True if connections have that name even after those of a killed run had time to end.
fn is_used(connection: &mut Connection, prefix: &SchemaName) -> io::Result<bool> {
    let name = format!("name={prefix}");
    for _ in 0..SESSION_END_CHECKS {
        let clients = match connection.ask(&[b"CLIENT", b"LIST"])? {
            Reply::Bytes(Some(text)) => String::from_utf8_lossy(&text).into_owned(),
            other => return Err(unexpected(&other)),
        };
        if !clients.split_whitespace().any(|field| field == name) {
            return Ok(false);
        }
        std::thread::sleep(SESSION_END_PAUSE);
    }
    Ok(true)
}

/// The maximum number of marks that `clean` accepts from a server.
const MARKS_MAX: usize = 1 << 16;

/// The next keys that match a pattern, from a cursor, which is `None` at the beginning; `None` at the
/// end. The scan of a server without an end stops when the program is asked to stop.
fn keys(
    connection: &mut Connection,
    pattern: &str,
    cursor: &mut Option<Vec<u8>>,
) -> io::Result<Option<Vec<Vec<u8>>>> {
    let from = match cursor.take() {
        Some(end) if end == b"0" => return Ok(None),
        Some(from) => from,
        None => b"0".to_vec(),
    };
    let command: [&[u8]; 6] = [b"SCAN", &from, b"MATCH", pattern.as_bytes(), b"COUNT", b"1000"];
    let answer = connection.ask(&command)?;
    let Reply::Several(Some(answer)) = answer else {
        return Err(unexpected(&answer));
    };
    let [Reply::Bytes(Some(next)), Reply::Several(Some(found))] = &answer[..] else {
        return Err(io::Error::new(
            ErrorKind::InvalidData,
            "SCAN did not return a cursor and keys",
        ));
    };
    let found = found.iter().filter_map(|one| match one {
        Reply::Bytes(key) => key.clone(),
        _ => None,
    });
    *cursor = Some(next.clone());
    Ok(Some(found.collect()))
}
