//! Redis with its append-only file. The server reads a configuration file written here, which contains the
//! password.

use crate::launch_command::{CONNECTIONS, LaunchCommand, ListenAddress, program, words};
use crate::launch_spec::LaunchSpec;
use crate::launcher::{Launcher, NO_PORT};
use crate::secret::Secret;
use crate::server_directory::ServerDirectory;
use rustix::process::Signal;
use syncline_contract::{Durability, encoded};

pub(crate) const LAUNCHER: Launcher = Launcher {
    word: "redis",
    user: "redis",
    check_supported: |spec| append_settings(spec).map(drop),
    placeholder_url: |spec| url(spec, NO_PORT, ""),
    private,
    attached: None,
    in_order: Signal::TERM,
    at_once: Signal::KILL,
};

/// The longest path that a Unix socket can have.
const SOCKET_MAX: usize = 107;

/// The URL of a server on that port; `login` is the option for the password.
fn url(spec: &LaunchSpec, port: u16, login: &str) -> String {
    format!("redis://127.0.0.1:{port}/{}{login}", spec.options("?"))
}

/// `appendonly` and `appendfsync` for the request; refuses one for which Redis has no settings.
fn append_settings(spec: &LaunchSpec) -> Result<(&'static str, &'static str), String> {
    if spec.cache_bytes.is_some() {
        return Err("cache: Redis keeps everything in memory and has no cache to size".to_owned());
    }
    match spec.durability {
        Durability::None => Ok(("no", "no")),
        Durability::Os => Ok(("yes", "no")),
        Durability::Data => Ok(("yes", "always")),
        Durability::Full => {
            Err(spec.refused("Redis syncs only data; its strongest durability is data"))
        }
    }
}

fn private(spec: &LaunchSpec, directory: &ServerDirectory) -> Result<LaunchCommand, String> {
    let (append, sync) = append_settings(spec)?;
    let server = program(&["redis-server"], "redis-server")?;
    let secret = Secret::new(directory)?;
    // Not on the command line, which every user can read.
    let file = directory.write("redis.conf", &format!("requirepass {}\n", secret.reveal()))?;
    let mut serve = words(&server, [file.display().to_string()]);
    let (port, socket) = (directory.port.to_string(), directory.text("redis.sock"));
    let has_socket = socket.len() <= SOCKET_MAX;
    let settings = [
        ("--port", port.as_str()),
        ("--unixsocket", if has_socket { &socket } else { "" }),
        ("--bind", "127.0.0.1"),
        ("--dir", &directory.text("")),
        ("--save", ""),
        ("--appendonly", append),
        ("--appendfsync", sync),
        ("--maxclients", &CONNECTIONS.to_string()),
        ("--daemonize", "no"),
    ];
    for (name, value) in settings {
        serve.extend([name.into(), value.into()]);
    }
    let login = secret.option();
    let mut urls = vec![url(spec, directory.port, &login)];
    if has_socket {
        let options = spec.options("?");
        urls.push(format!("redis:///{options}{login}&socket={}", encoded(&socket)));
    }
    Ok(LaunchCommand {
        prepare: Vec::new(),
        serve,
        stop: "KILL",
        urls,
        listens_at: ListenAddress::Port(directory.port),
        sockets: None,
        ready: None,
    })
}
