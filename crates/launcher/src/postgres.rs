//! PostgreSQL, from Debian's packages: `initdb`, then the server.

use crate::launch_command::{CONNECTIONS, LaunchCommand, ListenAddress, as_host, words};
use crate::launch_spec::LaunchSpec;
use crate::launcher::{Launcher, NO_PORT};
use crate::secret::Secret;
use crate::server_directory::ServerDirectory;
use rustix::process::Signal;
use std::path::{Path, PathBuf};
use syncline_contract::{Durability, encoded};

pub(crate) const LAUNCHER: Launcher = Launcher {
    word: "postgres",
    user: "postgres",
    check_supported: |_spec| Ok(()),
    placeholder_url: |spec| url(spec, NO_PORT, ""),
    private,
    attached: Some(attached),
    in_order: Signal::INT,
    // On SIGQUIT the postmaster frees its shared memory; the other processes own none.
    at_once: Signal::QUIT,
};

/// The directory that has one folder for each installed version.
const VERSIONS: &str = "/usr/lib/postgresql";
/// The product's default port, which is part of the name of a socket in its own directory.
const PORT: u16 = 5432;
/// The longest path that a Unix socket can have, minus the socket's name.
const SOCKET_DIRECTORY_MAX: usize = 107 - "/.s.PGSQL.65535".len();

/// The URL of a server on that port; `login` is the option for the password.
fn url(spec: &LaunchSpec, port: u16, login: &str) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/postgres{}{login}", spec.options("?"))
}

fn private(spec: &LaunchSpec, directory: &ServerDirectory) -> Result<LaunchCommand, String> {
    let programs = programs(Path::new(VERSIONS))?;
    let data = directory.text("data");
    let port = directory.port;
    let secret = Secret::new(directory)?;
    let prepare = words(
        &programs.join("initdb"),
        [
            "--pgdata".to_owned(),
            data.clone(),
            // Only users who may enter the socket's directory can connect.
            "--auth-local=trust".to_owned(),
            "--auth-host=scram-sha-256".to_owned(),
            format!("--pwfile={}", secret.file().display()),
            "--username=postgres".to_owned(),
            "--no-locale".to_owned(),
            "--encoding=UTF8".to_owned(),
            // The files that initdb writes need not survive a crash.
            "--no-sync".to_owned(),
        ],
    );
    let sockets = directory.text("");
    let sockets = sockets.trim_end_matches('/');
    let has_socket = sockets.len() <= SOCKET_DIRECTORY_MAX;
    let mut settings = vec![
        "listen_addresses=127.0.0.1".to_owned(),
        format!("port={port}"),
        format!("unix_socket_directories={}", if has_socket { sockets } else { "" }),
        format!("max_connections={CONNECTIONS}"),
        // The sync times that an observation reads; the measured cost is 20 to 30 ns per call.
        "track_wal_io_timing=on".to_owned(),
    ];
    settings.extend(durability_settings(spec.durability).iter().map(|&setting| setting.to_owned()));
    if let Some(bytes) = spec.cache_bytes {
        settings.push(format!("shared_buffers={}kB", (bytes / 1_024).max(128)));
    }
    let mut serve = words(&programs.join("postgres"), ["-D".to_owned(), data]);
    for setting in settings {
        serve.extend(["-c".into(), setting.into()]);
    }
    let login = secret.option();
    let mut urls = vec![url(spec, port, &login)];
    if has_socket {
        urls.push(format!(
            "postgres://postgres@:{port}/postgres{}&socket={}",
            spec.options("?"),
            encoded(sockets)
        ));
    }
    Ok(LaunchCommand {
        prepare: vec![prepare],
        serve,
        stop: "QUIT",
        urls,
        listens_at: ListenAddress::Port(port),
        sockets: None,
        ready: Some((directory.at("data").join("postmaster.pid"), "ready")),
    })
}

/// The statements that drop the two unused databases and create the extension that checks tables and indexes.
/// The server stops at the first error.
const REDUCE: &str = "CREATE EXTENSION amcheck;\nUPDATE pg_database SET datistemplate = false WHERE \
     datname = 'template0';\nDROP DATABASE template0;\nDROP DATABASE postgres;\n";

/// A small data directory with checksums in the caller's directory, and a server on it, with additional
/// settings.
fn attached(
    directory: &ServerDirectory,
    sockets: &Path,
    settings: &[(String, String)],
) -> Result<LaunchCommand, String> {
    let programs = programs(Path::new(VERSIONS))?;
    let (data, server) = (directory.text("data"), programs.join("postgres"));
    let init = [
        format!("--pgdata={data}"),
        // Only users who may enter the socket's directory can connect.
        "--auth-local=trust".to_owned(),
        "--auth-host=reject".to_owned(),
        "--username=postgres".to_owned(),
        "--no-locale".to_owned(),
        "--encoding=UTF8".to_owned(),
        "--wal-segsize=1".to_owned(),
        "--data-checksums".to_owned(),
        "--no-sync".to_owned(),
    ];
    let script = "printf %s \"$1\" | \"$2\" --single -D \"$3\" -c exit_on_error=on template1";
    let reduce = [
        "-c".to_owned(),
        script.to_owned(),
        "sh".to_owned(),
        REDUCE.to_owned(),
        server.display().to_string(),
        data.clone(),
    ];
    let own = [
        "listen_addresses=".to_owned(),
        format!("port={PORT}"),
        format!("unix_socket_directories={}", sockets.display()),
    ];
    let additional = settings.iter().map(|(name, value)| format!("{name}={value}"));
    let mut serve = words(&server, ["-D".to_owned(), data]);
    // PostgreSQL uses the last value of a setting, so additional settings cannot change where it listens.
    for setting in additional.chain(own) {
        serve.extend(["-c".into(), setting.into()]);
    }
    Ok(LaunchCommand {
        prepare: vec![words(&programs.join("initdb"), init), words(Path::new("/bin/sh"), reduce)],
        serve,
        stop: "QUIT",
        urls: vec![format!("postgres://postgres@{}/template1", as_host(sockets))],
        listens_at: ListenAddress::Socket(sockets.join(format!(".s.PGSQL.{PORT}"))),
        sockets: None,
        ready: Some((directory.at("data").join("postmaster.pid"), "ready")),
    })
}

/// The settings for a durability.
fn durability_settings(durability: Durability) -> &'static [&'static str] {
    match durability {
        Durability::None => &["fsync=off", "synchronous_commit=off", "full_page_writes=off"],
        Durability::Os => &["fsync=off", "synchronous_commit=on", "full_page_writes=off"],
        Durability::Data => &["fsync=on", "synchronous_commit=on", "full_page_writes=on"],
        Durability::Full => {
            &["fsync=on", "synchronous_commit=on", "full_page_writes=on", "wal_sync_method=fsync"]
        }
    }
}

/// The directory of the programs of the newest installed version.
fn programs(versions: &Path) -> Result<PathBuf, String> {
    let found = std::fs::read_dir(versions).into_iter().flatten().flatten();
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let mut found: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
    found.retain(|path| path.join("bin/initdb").is_file() && path.join("bin/postgres").is_file());
    found.sort_by_key(|path| version(path));
    found.pop().map(|path| path.join("bin")).ok_or_else(|| {
        format!(
            "no version of PostgreSQL is installed in {}: apt-get install postgresql",
            versions.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::programs;
    use std::fs;

    #[test]
    fn the_newest_version_with_all_programs_is_used() {
        let folder = tempfile::tempdir().unwrap();
        assert!(programs(folder.path()).unwrap_err().contains("apt-get install"));
        for (version, is_complete) in [("9", true), ("15", true), ("18", false)] {
            let programs = folder.path().join(version).join("bin");
            fs::create_dir_all(&programs).unwrap();
            fs::write(programs.join("initdb"), "").unwrap();
            if is_complete {
                fs::write(programs.join("postgres"), "").unwrap();
            }
        }
        assert_eq!(programs(folder.path()).unwrap(), folder.path().join("15/bin"));
    }
}
