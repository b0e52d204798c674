//! Redis with its append-only file. Its configuration file is one of our own, which holds the password.

use crate::launch_command::{CONNECTIONS, LaunchCommand, ListenAddress, program, words};
use crate::launch_spec::LaunchSpec;
use crate::secret::Secret;
use crate::server_directory::ServerDirectory;
use syncline_contract::{Durability, encoded};

/// The longest path of a Unix socket.
const SOCKET_MAX: usize = 107;

/// The URL of one that listens there; `login` is an option that says the password.
pub(crate) fn url(wanted: &LaunchSpec, port: u16, login: &str) -> String {
    format!("redis://127.0.0.1:{port}/{}{login}", wanted.options("?"))
}

/// `appendonly` and `appendfsync` for what is wanted, or why it cannot be.
pub(crate) fn appends(wanted: &LaunchSpec) -> Result<(&'static str, &'static str), String> {
    if wanted.cache_bytes.is_some() {
        return Err("cache: Redis keeps everything in memory and has no cache to size".to_owned());
    }
    match wanted.durability {
        Durability::None => Ok(("no", "no")),
        Durability::Os => Ok(("yes", "no")),
        Durability::Data => Ok(("yes", "always")),
        Durability::Full => Err(wanted.refused("Redis syncs data only; the most is data")),
    }
}

pub(crate) fn recipe(
    wanted: &LaunchSpec,
    ground: &ServerDirectory,
) -> Result<LaunchCommand, String> {
    let (append, sync) = appends(wanted)?;
    let server = program(&["redis-server"], "redis-server")?;
    let secret = Secret::new(ground)?;
    // Not on the command line, which every user can read.
    let file = ground.write("redis.conf", &format!("requirepass {}\n", secret.reveal()))?;
    let mut serves = words(&server, [file.display().to_string()]);
    let (port, socket) = (ground.port.to_string(), ground.text("redis.sock"));
    let has_socket = socket.len() <= SOCKET_MAX;
    let settings = [
        ("--port", port.as_str()),
        ("--unixsocket", if has_socket { &socket } else { "" }),
        ("--bind", "127.0.0.1"),
        ("--dir", &ground.text("")),
        ("--save", ""),
        ("--appendonly", append),
        ("--appendfsync", sync),
        ("--maxclients", &CONNECTIONS.to_string()),
        ("--daemonize", "no"),
    ];
    for (name, value) in settings {
        serves.extend([name.into(), value.into()]);
    }
    let login = secret.option();
    let mut urls = vec![url(wanted, ground.port, &login)];
    if has_socket {
        let options = wanted.options("?");
        urls.push(format!("redis:///{options}{login}&socket={}", encoded(&socket)));
    }
    Ok(LaunchCommand {
        prepares: Vec::new(),
        serves,
        stop: "KILL",
        urls,
        meets: ListenAddress::Port(ground.port),
        sockets: None,
        ready: None,
    })
}
