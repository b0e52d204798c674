//! The password file: lines of `hostname:port:database:username:password`, of which the first match
//! applies. `*` matches everything; a backslash escapes the next character.
//!
//! As in libpq, only a regular file without access for group and others is read. The reason for not
//! reading it is kept, so that a log-in that fails for lack of a password can report it.

use super::conninfo::unescaped;
use crate::server::{Address, Host};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The maximum size of a file, in bytes.
const BYTES_MAX: u64 = 1 << 20;

/// The result of a search in a password file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Passwords {
    /// The password.
    Found(String),
    /// No password was found, with the reason if a file exists.
    None(Option<String>),
}

/// The password for that address and user; `named` is the file, or else the one of the environment or
/// in the user's home directory.
pub(crate) fn lookup(
    address: &Address,
    user: &str,
    named: Option<&Path>,
    variable: impl Fn(&str) -> Option<String>,
) -> Passwords {
    let file = named.map(Path::to_owned);
    let file = file.or_else(|| variable("PGPASSFILE").map(PathBuf::from));
    let file = file.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".pgpass")));
    let Some(file) = file else {
        return Passwords::None(None);
    };
    let Ok(about) = std::fs::metadata(&file) else {
        return Passwords::None(None);
    };
    let shown = file.display();
    let mode = about.permissions().mode();
    let why = if !about.is_file() {
        format!("{shown} is not a plain file")
    } else if mode & 0o077 != 0 {
        format!(
            "{shown} is ignored, since other users have access ({:04o}); run chmod 0600 {shown}",
            mode & 0o7777
        )
    } else if about.size() > BYTES_MAX {
        format!("{shown} is longer than {BYTES_MAX} bytes")
    } else {
        match std::fs::read_to_string(&file) {
            Ok(text) => match password(&text, address, user) {
                Some(password) => return Passwords::Found(password),
                None => format!("no line of {shown} matches"),
            },
            Err(error) => format!("{shown} cannot be read: {error}"),
        }
    };
    Passwords::None(Some(why))
}

fn password(text: &str, address: &Address, user: &str) -> Option<String> {
    let (host, port) = match &address.host {
        Host::Tcp(host, port) => (host.clone(), port.to_string()),
        Host::Socket(path) => of_socket(path),
    };
    let database = address.database.as_deref().unwrap_or(user);
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut rest = line;
        for expected in [host.as_str(), &port, database, user] {
            let (field, after) = field(rest)?;
            if field != "*" && unescaped(field) != expected {
                return None;
            }
            rest = after;
        }
        Some(unescaped(rest))
    })
}

/// A socket in a default directory matches `localhost`, any other its directory.
fn of_socket(path: &Path) -> (String, String) {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let port = name.rsplit('.').next().unwrap_or("5432").to_owned();
    let directory = directory.display().to_string();
    if matches!(directory.as_str(), "/tmp" | "/var/run/postgresql" | "/run/postgresql") {
        ("localhost".to_owned(), port)
    } else {
        (directory, port)
    }
}

/// The text up to the first unescaped colon, and the text after it.
fn field(text: &str) -> Option<(&str, &str)> {
    let mut escaped = false;
    let end = text.find(|character| {
        let ends = character == ':' && !escaped;
        escaped = character == '\\' && !escaped;
        ends
    })?;
    Some((&text[..end], &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::{Passwords, lookup};
    use crate::server::{Address, Host};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    const TEXT: &str = "# a comment\nother:5432:shop:app:no\ndb:5432:shop:app:s\\:e\\\\c\n\
                        *:*:*:back\\:up:any\nlocalhost:7:*:app:by socket\n/srv/pg:7:*:app:elsewhere\n";

    fn found(mode: u32, host: Host, user: &str) -> Passwords {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pass");
        std::fs::write(&file, TEXT).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let address = Address {
            scheme: "postgres".to_owned(),
            host,
            user: Some(user.to_owned()),
            password: None,
            database: Some("shop".to_owned()),
        };
        lookup(&address, user, Some(&file), |_| None)
    }

    /// As libpq's documentation describes .pgpass.
    #[test]
    fn the_first_matching_line_provides_the_password() {
        let tcp = |host: &str| Host::Tcp(host.to_owned(), 5432);
        let socket = |path: &str| Host::Socket(Path::new(path).to_owned());
        for (host, user, expected) in [
            (tcp("db"), "app", Some("s:e\\c")),
            (tcp("third"), "back:up", Some("any")),
            (tcp("third"), "app", None),
            (socket("/tmp/.s.PGSQL.7"), "app", Some("by socket")),
            (socket("/srv/pg/.s.PGSQL.7"), "app", Some("elsewhere")),
            (socket("/srv/pg/.s.PGSQL.8"), "app", None),
        ] {
            let expected = expected.map(|text| Passwords::Found(text.to_owned()));
            let found = found(0o600, host.clone(), user);
            match expected {
                Some(expected) => assert_eq!(found, expected, "{host:?}"),
                None => assert!(matches!(found, Passwords::None(Some(_))), "{host:?}"),
            }
        }
    }

    #[test]
    fn a_file_with_access_for_others_is_ignored_with_a_reason() {
        for mode in [0o640, 0o604, 0o644, 0o610] {
            let found = found(mode, Host::Tcp("db".to_owned(), 5432), "app");
            let Passwords::None(Some(why)) = found else {
                panic!("{mode:o}: {found:?}");
            };
            assert!(why.contains("chmod 0600") && !why.contains("s:e"), "{why}");
        }
    }
}
