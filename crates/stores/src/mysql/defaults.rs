//! Reads an option file of the products' clients (`.my.cnf`) that a URL names with `defaults-file=`.
//!
//! The sections `[client]`, `[client-server]` and `[client-mariadb]` provide host, port, user,
//! password, socket and database where the URL omits them. As in the clients, a world-writable file is
//! not read.

use crate::error::Error;
use crate::server::{Address, Host, Password};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The maximum size of a file, in bytes.
const BYTES_MAX: u64 = 1 << 20;

/// Fills in an address; `url_names_host` means that the URL names a host or a socket.
pub(super) fn fill(
    address: &mut Address,
    file: &Path,
    url_names_host: bool,
    product: &'static str,
) -> Result<(), Error> {
    let refused = |why: String| Error::NotHonoured {
        target: product,
        what: format!("defaults-file={}: {why}", file.display()),
    };
    let about = std::fs::metadata(file).map_err(|error| refused(error.to_string()))?;
    if !about.is_file() || about.len() > BYTES_MAX {
        return Err(refused("it is not a plain file of up to 1 MiB".to_owned()));
    }
    if about.permissions().mode() & 0o002 != 0 {
        return Err(refused(
            "it is world-writable, so it is not read; run chmod o-w on it".to_owned(),
        ));
    }
    let text = std::fs::read_to_string(file).map_err(|error| refused(error.to_string()))?;
    let options = options(&text);
    let of = |name: &str| {
        let found = options.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
    };
    address.user = address.user.take().or_else(|| of("user"));
    let password = of("password").map(Password::new);
    address.password = address.password.take().or(password);
    address.database = address.database.take().or_else(|| of("database"));
    if url_names_host {
        return Ok(());
    }
    match (of("socket"), of("host")) {
        // As in the clients, localhost means the socket.
        (Some(path), None) => address.host = Host::Socket(PathBuf::from(path)),
        (Some(path), Some(host)) if host == "localhost" => {
            address.host = Host::Socket(PathBuf::from(path));
        }
        (_, host) => {
            if let Host::Tcp(name, port) = &mut address.host {
                *name = host.unwrap_or_else(|| name.clone());
                if let Some(value) = of("port") {
                    *port = value
                        .parse()
                        .map_err(|_error| refused("its port is not a number".to_owned()))?;
                }
            }
        }
    }
    Ok(())
}

/// The options of the clients' sections, in order; `-` and `_` in names are the same.
fn options(text: &str) -> Vec<(String, String)> {
    const SECTIONS: [&str; 3] = ["client", "client-server", "client-mariadb"];
    let (mut options, mut is_client_section) = (Vec::new(), false);
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            is_client_section = SECTIONS.contains(&section);
        } else if is_client_section && !line.starts_with(['#', ';']) {
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            let value = value.trim();
            let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''));
            let value = match quote {
                Some(quote) if value.len() > 1 && value.ends_with(quote) => {
                    &value[1..value.len() - 1]
                }
                _ => value,
            };
            options.push((name.trim().replace('_', "-"), value.to_owned()));
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::fill;
    use crate::server::{Address, Host};
    use std::os::unix::fs::PermissionsExt;

    fn filled(text: &str, mode: u32, named: bool) -> Result<Address, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("my.cnf");
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let mut address = Address {
            scheme: "mysql".to_owned(),
            host: Host::Tcp("127.0.0.1".to_owned(), 3306),
            user: named.then(|| "value".to_owned()),
            password: None,
            database: None,
        };
        fill(&mut address, &file, named, "mysql").map_err(|error| error.to_string())?;
        Ok(address)
    }

    const TEXT: &str = "[mysqld]\nuser=no\nport=1\n[client]\n# a comment\nhost = db\nport=7\nuser=app\n\
                        password=\"s e#c\"\n[mysql]\ndatabase=no\n";

    #[test]
    fn an_option_file_fills_in_what_the_url_omits() {
        let address = filled(TEXT, 0o600, false).unwrap();
        assert_eq!(address.host, Host::Tcp("db".to_owned(), 7));
        assert_eq!(address.user.as_deref(), Some("app"));
        assert_eq!(address.password.unwrap().reveal(), "s e#c");
        assert_eq!(address.database, None);
        let named = filled(TEXT, 0o600, true).unwrap();
        assert_eq!(named.host, Host::Tcp("127.0.0.1".to_owned(), 3306));
        assert_eq!(named.user.as_deref(), Some("value"));
        let socket =
            filled("[client]\nsocket=/run/my.sock\nhost=localhost\n", 0o600, false).unwrap();
        assert_eq!(socket.host, Host::Socket("/run/my.sock".into()));
    }

    #[test]
    fn a_world_writable_option_file_is_refused() {
        let why = filled(TEXT, 0o646, false).unwrap_err();
        assert!(why.contains("it is world-writable") && !why.contains("s e#c"), "{why}");
    }
}
