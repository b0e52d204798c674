//! PostgreSQL, of Debian's packages: `initdb`, then the server itself.

use super::ground::Ground;
use super::recipe::{CONNECTIONS, Recipe, words};
use super::wanted::Wanted;
use std::path::{Path, PathBuf};
use syncline_contract::Durability;

/// Where Debian keeps a folder a version.
const VERSIONS: &str = "/usr/lib/postgresql";
/// The longest path of a Unix socket, less the socket's name.
const SOCKET_DIRECTORY_MAX: usize = 107 - "/.s.PGSQL.65535".len();

/// The URL of one that listens there.
pub(super) fn url(wanted: &Wanted, port: u16) -> String {
    format!(
        "postgres://postgres@127.0.0.1:{port}/postgres{}",
        wanted.options("?")
    )
}

pub(super) fn recipe(wanted: &Wanted, ground: &Ground) -> Result<Recipe, String> {
    let programs = programs(Path::new(VERSIONS))?;
    let data = ground.text("data");
    let port = ground.port;
    let prepares = words(
        &programs.join("initdb"),
        [
            "--pgdata".to_owned(),
            data.clone(),
            "--auth=trust".to_owned(),
            "--username=postgres".to_owned(),
            "--no-locale".to_owned(),
            "--encoding=UTF8".to_owned(),
            // Nothing of what initdb writes is to survive anything.
            "--no-sync".to_owned(),
        ],
    );
    let sockets = ground.text("");
    let sockets = sockets.trim_end_matches('/');
    let has_socket = sockets.len() <= SOCKET_DIRECTORY_MAX;
    let mut settings = vec![
        "listen_addresses=127.0.0.1".to_owned(),
        format!("port={port}"),
        format!(
            "unix_socket_directories={}",
            if has_socket { sockets } else { "" }
        ),
        format!("max_connections={CONNECTIONS}"),
        // Times of syncs, which observing reads; measured at 20 to 30 ns a call.
        "track_wal_io_timing=on".to_owned(),
    ];
    settings.extend(durable(wanted.durability).iter().map(|&set| set.to_owned()));
    if let Some(bytes) = wanted.cache_bytes {
        settings.push(format!("shared_buffers={}kB", (bytes / 1_024).max(128)));
    }
    let mut serves = words(&programs.join("postgres"), ["-D".to_owned(), data]);
    for setting in settings {
        serves.extend(["-c".into(), setting.into()]);
    }
    let mut urls = vec![url(wanted, port)];
    if has_socket {
        urls.push(format!(
            "postgres://postgres@:{port}/postgres{}&socket={sockets}",
            wanted.options("?")
        ));
    }
    Ok(Recipe {
        prepares: vec![prepares],
        serves,
        stop: "QUIT",
        urls,
        ready: Some((ground.at("data").join("postmaster.pid"), "ready")),
    })
}

/// The settings for a durability.
fn durable(durability: Durability) -> &'static [&'static str] {
    match durability {
        Durability::None => &[
            "fsync=off",
            "synchronous_commit=off",
            "full_page_writes=off",
        ],
        Durability::Os => &["fsync=off", "synchronous_commit=on", "full_page_writes=off"],
        Durability::Data => &["fsync=on", "synchronous_commit=on", "full_page_writes=on"],
        Durability::Full => &[
            "fsync=on",
            "synchronous_commit=on",
            "full_page_writes=on",
            "wal_sync_method=fsync",
        ],
    }
}

/// The programs of the newest version that is installed.
fn programs(versions: &Path) -> Result<PathBuf, String> {
    let found = std::fs::read_dir(versions).into_iter().flatten().flatten();
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let mut found: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
    found.retain(|path| path.join("bin/initdb").is_file() && path.join("bin/postgres").is_file());
    found.sort_by_key(|path| version(path));
    found.pop().map(|path| path.join("bin")).ok_or_else(|| {
        format!(
            "no version of PostgreSQL stands in {}: apt-get install postgresql",
            versions.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::programs;
    use std::fs;

    #[test]
    fn the_newest_whole_version_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        assert!(
            programs(folder.path())
                .unwrap_err()
                .contains("apt-get install")
        );
        for (version, whole) in [("9", true), ("15", true), ("18", false)] {
            let programs = folder.path().join(version).join("bin");
            fs::create_dir_all(&programs).unwrap();
            fs::write(programs.join("initdb"), "").unwrap();
            if whole {
                fs::write(programs.join("postgres"), "").unwrap();
            }
        }
        assert_eq!(
            programs(folder.path()).unwrap(),
            folder.path().join("15/bin")
        );
    }
}
