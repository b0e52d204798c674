//! MariaDB with InnoDB: `mariadb-install-db`, then the server itself. No configuration file is read.

use crate::launch_command::{CONNECTIONS, LaunchCommand, ListenAddress, as_host, program, words};
use crate::launch_spec::LaunchSpec;
use crate::secret::Secret;
use crate::server_directory::ServerDirectory;
use std::ffi::OsString;
use std::path::Path;
use syncline_contract::{Durability, encoded};

/// The longest path of a Unix socket.
const SOCKET_MAX: usize = 107;

/// The name of a socket that is alone in its directory: the product's own.
const SOCKET: &str = "mysqld.sock";

/// The URL of one that listens there; `login` is an option that says the password.
pub(crate) fn url(wanted: &LaunchSpec, port: u16, login: &str) -> String {
    format!("mariadb://root@127.0.0.1:{port}/{}{login}", wanted.options("?"))
}

/// What a server runs before it takes its first connection: one account, with the password.
fn accounts(secret: &Secret) -> String {
    format!(
        "DELETE FROM mysql.global_priv WHERE User <> 'mariadb.sys';\n\
         FLUSH PRIVILEGES;\n\
         CREATE USER 'root'@'%' IDENTIFIED BY '{}';\n\
         GRANT ALL PRIVILEGES ON *.* TO 'root'@'%' WITH GRANT OPTION;\n",
        secret.reveal()
    )
}

/// Its temporary tables stand with its data: a server that starts removes those that it finds in its folder
/// for them, and would else do so to every other server of this machine.
fn temporary(data: &str) -> String {
    format!("--tmpdir={data}")
}

pub(crate) fn recipe(
    wanted: &LaunchSpec,
    ground: &ServerDirectory,
) -> Result<LaunchCommand, String> {
    let install = program(&["mariadb-install-db"], "mariadb-server")?;
    let server = program(&["mariadbd"], "mariadb-server")?;
    let (data, port) = (ground.text("data"), ground.port);
    let secret = Secret::new(ground)?;
    let accounts = ground.write("accounts.sql", &accounts(&secret))?;
    let mut prepares = words(
        &install,
        [
            "--no-defaults".to_owned(),
            format!("--datadir={data}"),
            "--auth-root-authentication-method=normal".to_owned(),
            "--skip-test-db".to_owned(),
            temporary(&data),
        ],
    );
    let mut serves = words(
        &server,
        [
            "--no-defaults".to_owned(),
            format!("--datadir={data}"),
            format!("--port={port}"),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--init-file={}", accounts.display()),
            // Statements that read and write files reach no other directory.
            format!("--secure-file-priv={data}"),
            temporary(&data),
            format!("--pid-file={}", ground.text("pid")),
            format!("--max-connections={CONNECTIONS}"),
            "--skip-log-bin".to_owned(),
            "--skip-name-resolve".to_owned(),
            "--innodb-doublewrite=1".to_owned(),
            // Else nothing that it counts is the number of its transactions.
            "--innodb-monitor-enable=trx_rw_commits".to_owned(),
        ],
    );
    if let Some(user) = ground.user_name() {
        prepares.push(format!("--user={user}").into());
        serves.push(format!("--user={user}").into());
    }
    let socket = ground.text("s");
    let has_socket = socket.len() <= SOCKET_MAX;
    // Without a name it would take the one of the system's server.
    let named = if has_socket { &socket } else { "/dev/null/none" };
    serves.push(format!("--socket={named}").into());
    serves.extend(durable(wanted)?.iter().map(|set| (*set).into()));
    if let Some(bytes) = wanted.cache_bytes {
        serves.push(format!("--innodb-buffer-pool-size={bytes}").into());
    }
    let login = secret.option();
    let mut urls = vec![url(wanted, port, &login)];
    if has_socket {
        urls.push(format!(
            "mariadb://root@/{}{login}&socket={}",
            wanted.options("?"),
            encoded(&socket)
        ));
    }
    Ok(LaunchCommand {
        prepares: vec![prepares],
        serves,
        stop: "KILL",
        urls,
        meets: ListenAddress::Port(port),
        sockets: None,
        // Written when it takes connections.
        ready: Some((ground.at("pid"), "")),
    })
}

/// A small data directory in a directory that is lent, and its server, with settings beside the product's
/// own. Whoever reaches its socket may enter the directory that it is in.
pub(crate) fn lent(
    ground: &ServerDirectory,
    sockets: &Path,
    settings: &[(String, String)],
) -> Result<LaunchCommand, String> {
    let install = program(&["mariadb-install-db"], "mariadb-server")?;
    let server = program(&["mariadbd"], "mariadb-server")?;
    let data = ground.text("data");
    let given = settings.iter().map(|(name, value)| format!("--{name}={value}"));
    let given: Vec<OsString> = given.map(OsString::from).collect();
    let place = format!("--datadir={data}");
    let user = ground.user_name().map(|user| format!("--user={user}"));
    let mut prepares = words(&install, ["--no-defaults".to_owned()]);
    let mut serves = words(&server, ["--no-defaults".to_owned()]);
    prepares.extend(given.iter().cloned());
    serves.extend(given);
    prepares.extend(
        [place.clone(), temporary(&data), "--auth-root-authentication-method=normal".to_owned()]
            .map(OsString::from),
    );
    prepares.push("--skip-test-db".into());
    serves.extend(
        [
            place,
            "--skip-networking".to_owned(),
            format!("--secure-file-priv={data}"),
            temporary(&data),
            // In the data directory.
            "--pid-file=pid".to_owned(),
            format!("--socket={}", sockets.join(SOCKET).display()),
        ]
        .map(OsString::from),
    );
    for command in [&mut prepares, &mut serves] {
        command.extend(user.clone().map(OsString::from));
    }
    Ok(LaunchCommand {
        prepares: vec![prepares],
        serves,
        stop: "KILL",
        urls: vec![format!("mariadb://root@{}/", as_host(sockets))],
        meets: ListenAddress::Socket(sockets.join(SOCKET)),
        sockets: None,
        ready: Some((ground.at("data").join("pid"), "")),
    })
}

/// The settings for a durability, or that there are none.
pub(crate) fn durable(wanted: &LaunchSpec) -> Result<&'static [&'static str], String> {
    match wanted.durability {
        Durability::None => Ok(&["--innodb-flush-log-at-trx-commit=0"]),
        Durability::Os => Ok(&["--innodb-flush-log-at-trx-commit=2"]),
        Durability::Data => Ok(&["--innodb-flush-log-at-trx-commit=1"]),
        Durability::Full => {
            Err(wanted.refused("MariaDB calls fdatasync on its log, and only that"))
        }
    }
}
