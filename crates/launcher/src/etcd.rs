//! etcd as a cluster of one member, only on Unix sockets, because etcd requires no password for messages
//! between peers.

use crate::launch_command::{LaunchCommand, ListenAddress, program, words};
use crate::launch_spec::LaunchSpec;
use crate::launcher::Launcher;
use crate::server_directory::ServerDirectory;
use rustix::process::Signal;
use std::ffi::OsString;
use syncline_contract::{Durability, encoded};

pub(crate) const LAUNCHER: Launcher = Launcher {
    word: "etcd",
    user: "etcd",
    check_supported,
    placeholder_url: |spec| url(spec, "/nowhere"),
    private,
    attached: None,
    in_order: Signal::TERM,
    at_once: Signal::KILL,
};

/// The names of the sockets for clients and for peers. etcd requires the form of a host and a port, and uses
/// the name as the path of a file in its current directory.
const CLIENTS: &str = "localhost:1";
const PEERS: &str = "localhost:2";

/// A shell script that executes a command in a directory.
const STARTS_IN: &str = "cd \"$1\" && shift && exec \"$@\"";

/// The longest path that a Unix socket can have.
const SOCKET_MAX: usize = 107;

/// The URL of a server that listens on that socket.
fn url(spec: &LaunchSpec, socket: &str) -> String {
    format!("etcd://{}&socket={}", spec.options("?"), encoded(socket))
}

/// Refuses a request for which etcd has no settings.
fn check_supported(spec: &LaunchSpec) -> Result<(), String> {
    if spec.cache_bytes.is_some() {
        return Err("cache: etcd maps its file and has no cache to size".to_owned());
    }
    if spec.durability != Durability::Data {
        return Err(spec.refused("etcd syncs the data of its log before it answers, and only that"));
    }
    Ok(())
}

fn private(spec: &LaunchSpec, directory: &ServerDirectory) -> Result<LaunchCommand, String> {
    check_supported(spec)?;
    let server = program(&["etcd"], "etcd-server")?;
    let (clients, peers) = (format!("unix://{CLIENTS}"), format!("unix://{PEERS}"));
    // A client cannot connect to a longer path, so the sockets get a directory with a short path.
    let is_long = directory.text(CLIENTS).len() > SOCKET_MAX;
    let sockets = is_long.then(|| directory.sockets()).transpose()?;
    let folder = sockets.as_deref().unwrap_or(directory.path());
    let socket = folder.join(CLIENTS);
    let mut serve: Vec<OsString> = ["/bin/sh", "-c", STARTS_IN, "sh"].map(OsString::from).into();
    serve.push(folder.into());
    serve.extend(words(
        &server,
        [
            "--name=private".to_owned(),
            format!("--data-dir={}", directory.text("data")),
            format!("--listen-client-urls={clients}"),
            format!("--advertise-client-urls={clients}"),
            format!("--listen-peer-urls={peers}"),
            format!("--initial-advertise-peer-urls={peers}"),
            format!("--initial-cluster=private={peers}"),
        ],
    ));
    Ok(LaunchCommand {
        prepare: Vec::new(),
        serve,
        stop: "KILL",
        urls: vec![url(spec, &socket.display().to_string())],
        listens_at: ListenAddress::Socket(socket),
        sockets,
        ready: None,
    })
}
