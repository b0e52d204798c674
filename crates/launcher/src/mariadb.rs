//! MariaDB with InnoDB: `mariadb-install-db`, then the server. No configuration file is read.

use crate::launch_command::{CONNECTIONS, LaunchCommand, ListenAddress, as_host, program, words};
use crate::launch_spec::LaunchSpec;
use crate::launcher::{Launcher, NO_PORT};
use crate::secret::Secret;
use crate::server_directory::ServerDirectory;
use rustix::process::Signal;
use std::ffi::OsString;
use std::path::Path;
use syncline_contract::{Durability, encoded};

pub(crate) const LAUNCHER: Launcher = Launcher {
    word: "mariadb",
    user: "mysql",
    check_supported: |spec| durability_options(spec).map(drop),
    placeholder_url: |spec| url(spec, NO_PORT, ""),
    private,
    attached: Some(attached),
    in_order: Signal::TERM,
    at_once: Signal::KILL,
};

/// The longest path that a Unix socket can have.
const SOCKET_MAX: usize = 107;

/// The product's default name for a socket, for a socket in its own directory.
const SOCKET: &str = "mysqld.sock";

/// The URL of a server on that port; `login` is the option for the password.
fn url(spec: &LaunchSpec, port: u16, login: &str) -> String {
    format!("mariadb://root@127.0.0.1:{port}/{}{login}", spec.options("?"))
}

/// The statements that the server runs before it accepts its first connection: they leave one account, with
/// the password.
fn accounts(secret: &Secret) -> String {
    format!(
        "DELETE FROM mysql.global_priv WHERE User <> 'mariadb.sys';\n\
         FLUSH PRIVILEGES;\n\
         CREATE USER 'root'@'%' IDENTIFIED BY '{}';\n\
         GRANT ALL PRIVILEGES ON *.* TO 'root'@'%' WITH GRANT OPTION;\n",
        secret.reveal()
    )
}

/// The option that puts temporary tables into the data directory. A starting server removes all temporary
/// tables in their directory; in the default one these could belong to other servers of this machine.
fn temporary_directory(data: &str) -> String {
    format!("--tmpdir={data}")
}

fn private(spec: &LaunchSpec, directory: &ServerDirectory) -> Result<LaunchCommand, String> {
    let install = program(&["mariadb-install-db"], "mariadb-server")?;
    let server = program(&["mariadbd"], "mariadb-server")?;
    let (data, port) = (directory.text("data"), directory.port);
    let secret = Secret::new(directory)?;
    let accounts = directory.write("accounts.sql", &accounts(&secret))?;
    let mut prepare = words(
        &install,
        [
            "--no-defaults".to_owned(),
            format!("--datadir={data}"),
            "--auth-root-authentication-method=normal".to_owned(),
            "--skip-test-db".to_owned(),
            temporary_directory(&data),
        ],
    );
    let mut serve = words(
        &server,
        [
            "--no-defaults".to_owned(),
            format!("--datadir={data}"),
            format!("--port={port}"),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--init-file={}", accounts.display()),
            // Statements that read and write files can do so only in this directory.
            format!("--secure-file-priv={data}"),
            temporary_directory(&data),
            format!("--pid-file={}", directory.text("pid")),
            format!("--max-connections={CONNECTIONS}"),
            "--skip-log-bin".to_owned(),
            "--skip-name-resolve".to_owned(),
            "--innodb-doublewrite=1".to_owned(),
            // Without this counter, none of the server's counters is the number of its transactions.
            "--innodb-monitor-enable=trx_rw_commits".to_owned(),
        ],
    );
    if let Some(user) = directory.user_name() {
        prepare.push(format!("--user={user}").into());
        serve.push(format!("--user={user}").into());
    }
    let socket = directory.text("s");
    let has_socket = socket.len() <= SOCKET_MAX;
    // Without this option it would use the path of the system's server.
    let socket_path = if has_socket { &socket } else { "/dev/null/none" };
    serve.push(format!("--socket={socket_path}").into());
    serve.extend(durability_options(spec)?.iter().map(|option| (*option).into()));
    if let Some(bytes) = spec.cache_bytes {
        serve.push(format!("--innodb-buffer-pool-size={bytes}").into());
    }
    let login = secret.option();
    let mut urls = vec![url(spec, port, &login)];
    if has_socket {
        urls.push(format!(
            "mariadb://root@/{}{login}&socket={}",
            spec.options("?"),
            encoded(&socket)
        ));
    }
    Ok(LaunchCommand {
        prepare: vec![prepare],
        serve,
        stop: "KILL",
        urls,
        listens_at: ListenAddress::Port(port),
        sockets: None,
        // Written when the server accepts connections.
        ready: Some((directory.at("pid"), "")),
    })
}

/// A small data directory in the caller's directory, and a server on it, with additional settings. The
/// socket requires no password, because only users that may enter its directory can connect to it.
fn attached(
    directory: &ServerDirectory,
    sockets: &Path,
    settings: &[(String, String)],
) -> Result<LaunchCommand, String> {
    let install = program(&["mariadb-install-db"], "mariadb-server")?;
    let server = program(&["mariadbd"], "mariadb-server")?;
    let data = directory.text("data");
    let additional = settings.iter().map(|(name, value)| format!("--{name}={value}"));
    let additional: Vec<OsString> = additional.map(OsString::from).collect();
    let data_directory = format!("--datadir={data}");
    let user = directory.user_name().map(|user| format!("--user={user}"));
    let mut prepare = words(&install, ["--no-defaults".to_owned()]);
    let mut serve = words(&server, ["--no-defaults".to_owned()]);
    prepare.extend(additional.iter().cloned());
    serve.extend(additional);
    prepare.extend(
        [
            data_directory.clone(),
            temporary_directory(&data),
            "--auth-root-authentication-method=normal".to_owned(),
        ]
        .map(OsString::from),
    );
    prepare.push("--skip-test-db".into());
    serve.extend(
        [
            data_directory,
            "--skip-networking".to_owned(),
            format!("--secure-file-priv={data}"),
            temporary_directory(&data),
            // The path is relative to the data directory.
            "--pid-file=pid".to_owned(),
            format!("--socket={}", sockets.join(SOCKET).display()),
        ]
        .map(OsString::from),
    );
    for command in [&mut prepare, &mut serve] {
        command.extend(user.clone().map(OsString::from));
    }
    Ok(LaunchCommand {
        prepare: vec![prepare],
        serve,
        stop: "KILL",
        urls: vec![format!("mariadb://root@{}/", as_host(sockets))],
        listens_at: ListenAddress::Socket(sockets.join(SOCKET)),
        sockets: None,
        ready: Some((directory.at("data").join("pid"), "")),
    })
}

/// The options for a durability; refuses one that MariaDB does not offer.
fn durability_options(spec: &LaunchSpec) -> Result<&'static [&'static str], String> {
    match spec.durability {
        Durability::None => Ok(&["--innodb-flush-log-at-trx-commit=0"]),
        Durability::Os => Ok(&["--innodb-flush-log-at-trx-commit=2"]),
        Durability::Data => Ok(&["--innodb-flush-log-at-trx-commit=1"]),
        Durability::Full => Err(spec.refused("MariaDB calls fdatasync on its log, and only that")),
    }
}
