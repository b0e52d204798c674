//! The settings that a server of Redis's protocol reports: version, durability, location, limits.

use super::connection::{Connection, unexpected};
use super::protocol::Reply;
use super::settings::Settings;
use crate::server::{
    FORWARDER, Host, LIVE, LogSetting, listener, log_location, pluralized, verified_process,
};
use std::io::{self, ErrorKind};
use std::path::Path;
use syncline_contract::{Durability, LogLocation, Setting, StoreProcess};

/// The facts about a server.
#[derive(Clone, Debug)]
pub(super) struct ServerInfo {
    pub(super) product: String,
    pub(super) version: String,
    pub(super) durability: Durability,
    /// The reason for that durability.
    pub(super) evidence: String,
    pub(super) log_location: LogLocation,
    /// The location of its snapshots, if it takes any.
    pub(super) directory: Option<LogLocation>,
    pub(super) process: StoreProcess,
    pub(super) settings: Vec<Setting>,
    /// The connections of other clients.
    others: u64,
    /// How many more connections it accepts; `None` if not reported.
    pub(super) free: Option<usize>,
}

const CONFIG: [&str; 8] = [
    "appendonly",
    "appendfsync",
    "no-appendfsync-on-rewrite",
    "save",
    "dir",
    "appenddirname",
    "maxclients",
    "maxmemory-policy",
];

/// Reads all facts about a server.
pub(super) fn ask(connection: &mut Connection, settings: &Settings) -> io::Result<ServerInfo> {
    let info = Info::ask(connection, b"everything")?;
    let mut reported = Vec::new();
    for name in CONFIG {
        if let Some(value) = config(connection, name) {
            reported.push(Setting {
                name: name.to_owned(),
                value,
                source: format!("CONFIG GET {name}"),
            });
        }
    }
    let value = |name: &str| {
        let setting = reported.iter().find(|setting| setting.name == name);
        setting.map(|setting| setting.value.as_str())
    };
    let (durability, evidence) = durability(
        value("appendonly"),
        value("appendfsync"),
        value("no-appendfsync-on-rewrite"),
        info.get("aof_enabled"),
    );
    let process = process(settings, &info);
    let snapshots = value("save").is_some_and(|save| !save.is_empty());
    let connected = info.number("connected_clients").unwrap_or(1);
    let others = connected.saturating_sub(1);
    let maximum = value("maxclients").and_then(|maximum| maximum.parse::<u64>().ok());
    let product = if info.get("valkey_version").is_some() { "Valkey" } else { "Redis" };
    let version = info.get("valkey_version").or_else(|| info.get("redis_version"));
    Ok(ServerInfo {
        product: product.to_owned(),
        version: version.unwrap_or("not reported").to_owned(),
        durability,
        evidence,
        log_location: place(process, durability, value("dir"), value("appenddirname")),
        directory: value("dir").filter(|_| snapshots).map(|directory| {
            let word = LogSetting { directory: directory.to_owned(), source: "CONFIG GET dir" };
            log_location(process, "Redis", &word)
        }),
        process,
        others,
        free: maximum.map(|maximum| maximum.saturating_sub(connected) as usize),
        settings: reported,
    })
}

/// Refuses a server that others use, and one that does not provide the required durability.
pub(super) fn refuse(server_info: &ServerInfo, settings: &Settings) -> io::Result<()> {
    if server_info.others > 0 && !settings.live {
        let what = format!(
            "{} of other clients, which a run would disturb and which would distort its results; {LIVE}",
            pluralized(server_info.others, "open connection")
        );
        return Err(io::Error::new(ErrorKind::InvalidInput, what));
    }
    refuse_word(server_info, settings)
}

/// Refuses a server that does not provide the required durability.
pub(super) fn refuse_word(server_info: &ServerInfo, settings: &Settings) -> io::Result<()> {
    match settings.durability {
        Some(word) if word != server_info.durability => {
            let what = format!(
                "the URL sets durability={}, but {}; this target does not change a server's settings",
                word.word(),
                server_info.evidence
            );
            Err(io::Error::new(ErrorKind::InvalidInput, what))
        }
        _ => Ok(()),
    }
}

/// The durability that the settings provide, and why.
fn durability(
    appendonly: Option<&str>,
    appendfsync: Option<&str>,
    unsynced_rewrite: Option<&str>,
    enabled: Option<&str>,
) -> (Durability, String) {
    match (appendonly, appendfsync, enabled) {
        (Some("yes"), Some("always"), Some("1")) if unsynced_rewrite == Some("yes") => (
            Durability::Os,
            "appendonly=yes, appendfsync=always and no-appendfsync-on-rewrite=yes read back by CONFIG GET: \
             while the server rewrites or saves its file, it answers commits that are not synced; CONFIG SET \
             no-appendfsync-on-rewrite no makes it data"
                .to_owned(),
        ),
        (Some("yes"), Some("always"), Some("1")) => (
            Durability::Data,
            "appendonly=yes and appendfsync=always read back by CONFIG GET, aof_enabled:1 by INFO: the \
             file is written and synced before a commit is answered"
                .to_owned(),
        ),
        (Some("yes"), Some(sync @ ("everysec" | "no")), Some("1")) => {
            let window = if sync == "everysec" {
                "the file is synced each second, so that a power loss loses up to two seconds of commits"
            } else {
                "the operating system decides when to sync the file, usually within half a minute"
            };
            let what = format!("appendonly=yes and appendfsync={sync} read back by CONFIG GET: {window}");
            (Durability::Os, what)
        }
        (_, _, Some("0")) => (
            Durability::None,
            "aof_enabled:0 read back by INFO: there is no append-only file".to_owned(),
        ),
        _ => (
            Durability::None,
            "not known: the server does not allow CONFIG GET for appendonly and appendfsync; nothing \
             is claimed"
                .to_owned(),
        ),
    }
}

fn process(settings: &Settings, info: &Info) -> StoreProcess {
    let reported = info.number("process_id").and_then(|id| u32::try_from(id).ok());
    match (&settings.address.host, reported) {
        // A process id from a server in a container is not valid on this machine.
        (Host::Tcp(_, port), Some(process))
            if settings.address.names_this_machine() && listener(*port) == Some(process) =>
        {
            StoreProcess::Other(process)
        }
        (Host::Tcp(..), _) if settings.address.names_this_machine() => {
            StoreProcess::Unknown(FORWARDER)
        }
        (Host::Socket(_), Some(process)) => verified_process(process, &PROGRAMS),
        _ => StoreProcess::REMOTE,
    }
}

/// The names of the server's executable.
const PROGRAMS: [&str; 3] = ["redis-server", "valkey-server", "keydb-server"];

fn place(
    process: StoreProcess,
    durability: Durability,
    directory: Option<&str>,
    below: Option<&str>,
) -> LogLocation {
    if durability == Durability::None {
        return LogLocation::Nowhere(
            "the server has no append-only file, or does not report it".to_owned(),
        );
    }
    let Some(directory) = directory else {
        return LogLocation::Nowhere(
            "the server does not report the directory of its file".to_owned(),
        );
    };
    // Before version 7 the file was in the directory itself.
    let below = below.map_or(directory.into(), |below| Path::new(directory).join(below));
    let word = LogSetting {
        directory: below.display().to_string(),
        source: "CONFIG GET dir, appenddirname",
    };
    log_location(process, "Redis", &word)
}

/// A setting of the server; `None` if it does not have it or does not allow reading it.
fn config(connection: &mut Connection, name: &str) -> Option<String> {
    let answer = connection.ask(&[b"CONFIG", b"GET", name.as_bytes()]).ok()?;
    let Reply::Several(Some(pair)) = answer else {
        return None;
    };
    match pair.into_iter().nth(1)? {
        Reply::Bytes(value) => Some(String::from_utf8_lossy(&value?).into_owned()),
        _ => None,
    }
}

/// The answer of INFO.
#[derive(Debug)]
pub(super) struct Info(String);

impl Info {
    /// Requests a section.
    pub(super) fn ask(connection: &mut Connection, section: &[u8]) -> io::Result<Info> {
        match connection.ask(&[b"INFO", section])? {
            Reply::Bytes(Some(text)) => Ok(Info(String::from_utf8_lossy(&text).into_owned())),
            other => Err(unexpected(&other)),
        }
    }

    /// Names and values.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.lines().filter_map(|line| line.split_once(':'))
    }

    /// A value by its name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.fields().find(|(field, _)| *field == name);
        found.map(|(_, value)| value.trim())
    }

    /// As [`Info::get`], for a whole number.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{Info, durability};
    use syncline_contract::Durability;

    #[test]
    fn each_setting_has_its_durability() {
        let word = |only, sync, enabled| durability(only, sync, Some("no"), enabled).0;
        let (yes, one) = (Some("yes"), Some("1"));
        assert_eq!(word(yes, Some("always"), one), Durability::Data);
        assert_eq!(word(yes, Some("everysec"), one), Durability::Os);
        assert_eq!(word(yes, Some("no"), one), Durability::Os);
        assert_eq!(word(Some("no"), Some("always"), Some("0")), Durability::None);
        // Set, but not in force.
        assert_eq!(word(yes, Some("always"), Some("0")), Durability::None);
        let (lax, why) = durability(yes, Some("always"), yes, one);
        assert!(lax == Durability::Os && why.contains("no-appendfsync-on-rewrite=yes"), "{why}");
        let (unknown, why) = durability(None, None, None, one);
        assert!(unknown == Durability::None && why.starts_with("not known"), "{why}");
    }

    #[test]
    fn info_is_parsed() {
        let info = Info("# Server\r\nredis_version:7.0.15\r\nprocess_id:42\r\n".to_owned());
        assert_eq!(info.get("redis_version"), Some("7.0.15"));
        assert_eq!(info.number("process_id"), Some(42));
        assert_eq!(info.get("Server"), None);
    }
}
