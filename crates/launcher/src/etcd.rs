//! etcd with one member, on Unix sockets only, because the traffic between peers needs no password.

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
    fits,
    url_of_none: |spec| url(spec, "/nowhere"),
    private,
    attached: None,
    in_order: Signal::TERM,
    at_once: Signal::KILL,
};

/// The sockets for clients and for peers. etcd requires a name with host and port, and uses it as a file name
/// in its working directory.
const CLIENTS: &str = "localhost:1";
const PEERS: &str = "localhost:2";

/// Executes a command in a directory.
const STARTS_IN: &str = "cd \"$1\" && shift && exec \"$@\"";

/// The longest path of a Unix socket.
const SOCKET_MAX: usize = 107;

/// The URL of a server that listens on this socket.
fn url(spec: &LaunchSpec, socket: &str) -> String {
    format!("etcd://{}&socket={}", spec.options("?"), encoded(socket))
}

/// Refuses requirements for which etcd has no setting.
fn fits(spec: &LaunchSpec) -> Result<(), String> {
    if spec.cache_bytes.is_some() {
        return Err("cache: etcd maps its file and has no cache to size".to_owned());
    }
    if spec.durability != Durability::Data {
        return Err(spec.refused("etcd always syncs the data of its log before it answers"));
    }
    Ok(())
}

fn private(spec: &LaunchSpec, directory: &ServerDirectory) -> Result<LaunchCommand, String> {
    fits(spec)?;
    let server = program(&["etcd"], "etcd-server")?;
    let (clients, peers) = (format!("unix://{CLIENTS}"), format!("unix://{PEERS}"));
    // Clients cannot connect to a longer path, so the sockets go elsewhere then.
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
