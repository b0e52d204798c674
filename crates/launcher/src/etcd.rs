//! etcd, one member that is its own cluster, on Unix sockets alone: what its peers send each other asks
//! for no password.

use crate::launch_command::{LaunchCommand, ListenAddress, program, words};
use crate::launch_spec::LaunchSpec;
use crate::server_directory::ServerDirectory;
use std::ffi::OsString;
use syncline_contract::{Durability, encoded};

/// The sockets of clients and of peers. etcd wants a host and a port in a name, and takes it as the path of
/// a file in the directory that it was started in.
const CLIENTS: &str = "localhost:1";
const PEERS: &str = "localhost:2";

/// Becomes a command in a directory.
const STARTS_IN: &str = "cd \"$1\" && shift && exec \"$@\"";

/// The longest path of a Unix socket.
const SOCKET_MAX: usize = 107;

/// The URL of one that listens on that socket.
pub(crate) fn url(wanted: &LaunchSpec, socket: &str) -> String {
    format!("etcd://{}&socket={}", wanted.options("?"), encoded(socket))
}

/// Refuses what it has no settings for.
pub(crate) fn fits(wanted: &LaunchSpec) -> Result<(), String> {
    if wanted.cache_bytes.is_some() {
        return Err("cache: etcd maps its file and has no cache to size".to_owned());
    }
    if wanted.durability != Durability::Data {
        return Err(
            wanted.refused("etcd syncs the data of its log before it answers, and only that")
        );
    }
    Ok(())
}

pub(crate) fn recipe(
    wanted: &LaunchSpec,
    ground: &ServerDirectory,
) -> Result<LaunchCommand, String> {
    fits(wanted)?;
    let server = program(&["etcd"], "etcd-server")?;
    let (clients, peers) = (format!("unix://{CLIENTS}"), format!("unix://{PEERS}"));
    // A longer path cannot be connected to: its sockets go elsewhere.
    let is_long = ground.text(CLIENTS).len() > SOCKET_MAX;
    let sockets = is_long.then(|| ground.sockets()).transpose()?;
    let folder = sockets.as_deref().unwrap_or(ground.directory());
    let socket = folder.join(CLIENTS);
    let mut serves: Vec<OsString> = ["/bin/sh", "-c", STARTS_IN, "sh"].map(OsString::from).into();
    serves.push(folder.into());
    serves.extend(words(
        &server,
        [
            "--name=private".to_owned(),
            format!("--data-dir={}", ground.text("data")),
            format!("--listen-client-urls={clients}"),
            format!("--advertise-client-urls={clients}"),
            format!("--listen-peer-urls={peers}"),
            format!("--initial-advertise-peer-urls={peers}"),
            format!("--initial-cluster=private={peers}"),
        ],
    ));
    Ok(LaunchCommand {
        prepares: Vec::new(),
        serves,
        stop: "KILL",
        urls: vec![url(wanted, &socket.display().to_string())],
        meets: ListenAddress::Socket(socket),
        sockets,
        ready: None,
    })
}
