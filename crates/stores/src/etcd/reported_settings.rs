//! The settings that etcd reports: version, process, location; and whether it syncs, which its own
//! count of syncs shows.

use super::gateway::Gateway;
use super::metrics::{Metrics, SYNCS, settings as settings_said};
use super::settings::Settings;
use crate::open_files::open_files;
use crate::server::{Host, LIVE, LogSetting, listener, log_location, pluralized, verified_process};
use serde_json::json;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::thread;
use std::time::Duration;
use syncline_contract::{Durability, LogLocation, Setting, StoreProcess};

/// The facts about a server.
#[derive(Clone, Debug)]
pub(super) struct ServerInfo {
    pub(super) version: String,
    pub(super) log_location: LogLocation,
    /// The location of its data file, which `--wal-dir` may separate from the log.
    pub(super) data_location: LogLocation,
    pub(super) process: StoreProcess,
    pub(super) settings: Vec<Setting>,
}

/// How long to check whether others use the server.
const CHECK_DURATION: Duration = Duration::from_millis(300);
/// The metric that counts the requests of all clients.
const REQUESTS: &str = "grpc_server_started_total";

/// Reads all facts about a server.
pub(super) fn ask(gateway: &Gateway, settings: &Settings) -> io::Result<ServerInfo> {
    let status = gateway.ask("/v3/maintenance/status", &json!({}))?;
    let version = status["version"].as_str().unwrap_or("not reported").to_owned();
    let process = match &settings.address.host {
        Host::Tcp(_, port) if settings.address.names_this_machine() => listener(*port),
        Host::Tcp(..) => None,
        Host::Socket(_) => gateway.peer(),
    };
    let process = process.map_or(StoreProcess::REMOTE, |id| verified_process(id, &["etcd"]));
    Ok(ServerInfo {
        version,
        log_location: place(process, |path| path.extension().is_some_and(|end| end == "wal")),
        data_location: place(process, |path| path.ends_with("snap/db")),
        process,
        settings: settings_said(&status),
    })
}

/// Refuses a server that others use: one that receives more requests than this target sends.
pub(super) fn refuse_others(gateway: &Gateway, settings: &Settings) -> io::Result<()> {
    if settings.live {
        return Ok(());
    }
    let before = Metrics::ask(gateway)?.sum(REQUESTS);
    thread::sleep(CHECK_DURATION);
    let others = Metrics::ask(gateway)?.sum(REQUESTS) - before;
    if others < 1.0 {
        return Ok(());
    }
    let what = format!(
        "other clients sent {} within {CHECK_DURATION:?}: a run would disturb them, and they would distort its \
         results; {LIVE}",
        pluralized(others as u64, "request")
    );
    Err(io::Error::new(ErrorKind::InvalidInput, what))
}

/// The durability of a commit, determined by whether etcd counts a sync of its log for each of a few
/// trial commits.
pub(super) fn durability(
    gateway: &Gateway,
    mut commits: impl FnMut() -> io::Result<()>,
) -> io::Result<(Durability, String)> {
    const TRIED: u32 = 3;
    let before = Metrics::ask(gateway)?.get(SYNCS);
    for _ in 0..TRIED {
        commits()?;
    }
    let after = Metrics::ask(gateway)?.get(SYNCS);
    let (Some(before), Some(after)) = (before, after) else {
        let what = format!("not known: the server has no metric {SYNCS}; nothing is claimed");
        return Ok((Durability::None, what));
    };
    let syncs = after - before;
    let counted = format!("{TRIED} consecutive commits, {syncs} syncs by {SYNCS}");
    Ok(if syncs >= f64::from(TRIED) {
        let what = format!("its log is synced before a commit is answered: {counted}");
        (Durability::Data, what)
    } else {
        let what = format!("its log is written and not synced (--unsafe-no-fsync): {counted}");
        (Durability::Os, what)
    })
}

/// The location of its log or its data: the directory of a file of that kind that its process holds
/// open.
fn place(process: StoreProcess, is: fn(&Path) -> bool) -> LogLocation {
    let StoreProcess::Other(id) = process else {
        let what = "the server is not known to run on this machine; --line RECORD names a probe made \
                    there";
        return LogLocation::Nowhere(what.to_owned());
    };
    let log = open_files(id)
        .into_iter()
        .find(|(_, path)| is(path))
        .and_then(|(_, path)| Some(path.parent()?.to_owned()));
    let Some(log) = log else {
        let what = format!("the open files of etcd's process {id} are not visible to this user");
        return LogLocation::Nowhere(what);
    };
    let word = LogSetting {
        directory: log.display().to_string(),
        source: "the files that its process holds",
    };
    log_location(process, "etcd", &word)
}
