//! A server's address, user, password and database, parsed from a URL:
//! `NAME://[user[:password]@]host[:port][/database][?options]`, or a Unix socket with `?socket=PATH`.
//!
//! The password comes from the URL, from the file that `password-file=` names, or from the product's
//! own environment variable, in this order. An address is printed without it.

use super::secret::Password;
use crate::error::Error;
use crate::url::Url;
use crate::wire::Endpoint;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use syncline_contract::{OptionListing, read_named_text};

/// The option that names a Unix socket, for a target's listing.
pub const SOCKET: OptionListing = OptionListing {
    name: "socket",
    takes: "the path of a Unix socket, or of its directory",
    default: "none: TCP",
    meaning: "connects to a server on this machine through its socket",
};

/// The option that holds the password, for a target's listing.
pub const PASSWORD: OptionListing = OptionListing {
    name: "password",
    takes: "a password, or ${NAME} from the environment",
    default: "none",
    meaning: "the password, which is never shown",
};

/// The option that names a file with the password, for a target's listing.
pub const PASSWORD_FILE: OptionListing = OptionListing {
    name: "password-file",
    takes: "the path of a file",
    default: "none",
    meaning: "the password is the first line of that file; ${NAME} instead of a password takes it \
              from the environment",
};

/// The option that names the schema (or database) of permanent rows, for a target's listing.
pub const SCHEMA: OptionListing = OptionListing {
    name: "schema",
    takes: "lower case letters, digits and underscores",
    default: "a new one for each run",
    meaning: "syncline_NAME, for rows that are kept for --reuse",
};

/// The option that limits the wait for a connection, for a target's listing.
pub const CONNECT_TIMEOUT: OptionListing = OptionListing {
    name: "connect_timeout_ms",
    takes: "a whole number from 1 to 3600000",
    default: "10000",
    meaning: "maximum wait for a connection",
};

/// The maximum size of a password file, in bytes.
const PASSWORD_FILE_MAX: u64 = 64 << 10;

/// The form of a product's addresses.
#[derive(Clone, Copy, Debug)]
pub struct AddressForm {
    /// The form of its URL, for messages.
    pub form: &'static str,
    /// The port if none is named.
    pub port: u16,
    /// The environment variable that holds a password, such as `PGPASSWORD`.
    pub password_variable: &'static str,
    /// The file name of the socket in a directory, by port, such as `.s.PGSQL.5432`.
    pub socket_file: fn(u16) -> String,
}

/// The endpoint of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A name or address, and a port.
    Tcp(String, u16),
    /// A Unix socket's file.
    Socket(PathBuf),
}

impl Host {
    /// The endpoint to connect to.
    pub(crate) fn endpoint(&self) -> Endpoint {
        match self {
            Host::Tcp(host, port) => Endpoint::Tcp { host: host.clone(), port: *port },
            Host::Socket(path) => Endpoint::Unix(path.clone()),
        }
    }
}

/// A server's address, and the user to log in as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The first word of the URL.
    pub scheme: String,
    /// Where it listens.
    pub host: Host,
    /// The user; `None` leaves it to the product's default.
    pub user: Option<String>,
    /// The password, if one was found.
    pub password: Option<Password>,
    /// The database; `None` leaves it to the product's default.
    pub database: Option<String>,
}

impl Address {
    /// Parses a URL; reads the password file or the environment if the URL has no password.
    pub fn parse(url: &str, form: &AddressForm) -> Result<Address, Error> {
        Address::of(&Url::parse(url)?, form)
    }

    /// As [`Address::parse`], for a URL that is parsed already.
    pub(crate) fn of(url: &Url, form: &AddressForm) -> Result<Address, Error> {
        Address::with(url, form, |name| std::env::var(name).ok())
    }

    fn with(
        url: &Url,
        form: &AddressForm,
        variables: impl Fn(&str) -> Option<String>,
    ) -> Result<Address, Error> {
        let malformed = |why| Error::Malformed { url: url.text.clone(), why, form: form.form };
        let decoded = |part: &str| {
            syncline_contract::decoded(part)
                .ok_or_else(|| malformed("a % is not followed by a code"))
        };
        let path = url.raw_path.as_deref().unwrap_or_default();
        let rest = match path.strip_prefix("//") {
            Some(rest) => rest,
            None if path.is_empty() => "",
            None => return Err(malformed("a server's address begins with //")),
        };
        let (authority, database) = match rest.split_once('/') {
            Some((authority, database)) => (authority, Some(database)),
            None => (rest, None),
        };
        let (login, host) = match authority.rsplit_once('@') {
            Some((login, host)) => (Some(login), host),
            None => (None, authority),
        };
        let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, "")))
        {
            Some((user, password)) => (filled(decoded(user)?), filled(decoded(password)?)),
            None => (None, None),
        };
        let (host, port) = host_and_port(host, form.port).map_err(|why| {
            // The text after the colon may be a password that has no @ after it.
            let url = url.text.split_once("://").map_or("", |(scheme, _)| scheme);
            Error::Malformed { url: format!("{url}://..."), why, form: form.form }
        })?;
        let host = match url.option("socket") {
            Some(_) if !host.is_empty() => {
                return Err(malformed("it names a host and a socket; name one of them"));
            }
            Some(path) => Host::Socket(socket(PathBuf::from(path), port, form)),
            None if host.is_empty() => Host::Tcp("127.0.0.1".to_owned(), port),
            None => match decoded(&host)? {
                path if path.starts_with('/') => {
                    Host::Socket(socket(PathBuf::from(path), port, form))
                }
                name => Host::Tcp(name, port),
            },
        };
        let password = match (password, url.option("password"), url.option("password-file")) {
            (Some(password), ..) => Some(password),
            (None, Some(password), _) => Some(password.to_owned()),
            (None, None, Some(file)) => Some(first_line(file)?),
            (None, None, None) => variables(form.password_variable),
        };
        Ok(Address {
            scheme: url.name.clone(),
            host,
            user,
            password: password.map(Password::new),
            database: filled(decoded(database.unwrap_or_default())?),
        })
    }

    /// Adds the address to an error.
    pub(crate) fn named_in(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{self}: {error}"))
    }

    /// True if it is reached without a network: through a socket, or by a name of this machine.
    pub fn names_this_machine(&self) -> bool {
        match &self.host {
            Host::Socket(_) => true,
            Host::Tcp(host, _) => super::server_location::is_this_machine(host),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme)?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        if let Host::Tcp(host, port) = &self.host {
            if host.contains(':') {
                write!(f, "[{host}]:{port}")?;
            } else {
                write!(f, "{host}:{port}")?;
            }
        }
        if let Some(database) = &self.database {
            write!(f, "/{database}")?;
        }
        if let Host::Socket(path) = &self.host {
            write!(f, "?socket={}", path.display())?;
        }
        Ok(())
    }
}

/// How long connecting may take, set by the option [`CONNECT_TIMEOUT`].
pub fn connect_timeout(given: &syncline_contract::OptionArgs<'_>) -> Result<Duration, Error> {
    let ms = given.number(CONNECT_TIMEOUT.name, 1..=3_600_000)?;
    Ok(Duration::from_millis(ms.unwrap_or(10_000)))
}

fn filled(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// Splits `host`, `host:port`, `[address]:port`.
fn host_and_port(text: &str, default_port: u16) -> Result<(String, u16), &'static str> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or("its [ has no ]")?;
            (host, port.strip_prefix(':'))
        }
        None => match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = match port {
        Some(port) => port.parse().map_err(|_error| "its port is not a number up to 65535")?,
        None => default_port,
    };
    Ok((host.to_owned(), port))
}

/// The file of a socket; appended if the path is a directory.
fn socket(path: PathBuf, port: u16, form: &AddressForm) -> PathBuf {
    if path.is_dir() { path.join((form.socket_file)(port)) } else { path }
}

fn first_line(file: &str) -> Result<String, Error> {
    let text = read_named_text(Path::new(file), PASSWORD_FILE_MAX);
    let text = text.map_err(|error| Error::PasswordFile {
        path: PathBuf::from(file),
        why: error.to_string(),
    })?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Address, AddressForm, Host};
    use crate::error::Error;
    use crate::url::Url;

    const FORM: AddressForm = AddressForm {
        form: "postgres://user@host:port/database?options",
        port: 5432,
        password_variable: "PGPASSWORD",
        socket_file: |port| format!(".s.PGSQL.{port}"),
    };

    fn address(url: &str) -> Result<Address, Error> {
        let variable = |name: &str| (name == "PGPASSWORD").then(|| "from outside".to_owned());
        Address::with(&Url::parse(url)?, &FORM, variable)
    }

    #[test]
    fn an_address_is_parsed_and_printed_without_password() {
        let full = address("postgres://bob:s%40c@db.example:6000/app?durability=data").unwrap();
        assert_eq!(full.host, Host::Tcp("db.example".to_owned(), 6000));
        assert_eq!(full.password.as_ref().unwrap().reveal(), "s@c");
        assert_eq!(full.to_string(), "postgres://bob@db.example:6000/app");
        assert!(!format!("{full:?}").contains("s@c"));
        let bare = address("postgres://").unwrap();
        assert_eq!(bare.to_string(), "postgres://127.0.0.1:5432");
        assert_eq!(bare.password.unwrap().reveal(), "from outside");
        assert_eq!(address("postgres://[::1]:7/x").unwrap().to_string(), "postgres://[::1]:7/x");
    }

    #[test]
    fn a_socket_is_named_by_its_directory_its_file_or_as_the_host() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().display().to_string();
        let file = Host::Socket(folder.path().join(".s.PGSQL.5432"));
        let encoded = directory.replace('/', "%2F");
        for url in [
            format!("postgres:///app?socket={directory}"),
            format!("postgres:///app?socket={directory}/.s.PGSQL.5432"),
            format!("postgres://{encoded}/app"),
        ] {
            assert_eq!(address(&url).unwrap().host, file, "{url}");
        }
        assert!(address(&format!("postgres://host/?socket={directory}")).is_err());
    }

    #[test]
    fn a_password_is_read_from_a_file_and_a_missing_file_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        std::fs::write(&file, "from the file\n").unwrap();
        let url = format!("postgres://h/?password-file={}", file.display());
        assert_eq!(address(&url).unwrap().password.unwrap().reveal(), "from the file");
        // A.D3
        let why = address("postgres://h/?password-file=/dev/zero").unwrap_err();
        assert!(why.to_string().contains("more than"), "{why}");
        let why = address("postgres://h/?password-file=/nowhere/at/all").unwrap_err();
        assert!(why.to_string().contains("/nowhere/at/all"), "{why}");
    }

    #[test]
    fn errors_of_malformed_addresses_do_not_contain_passwords() {
        for (url, words) in [
            ("postgres:host", "begins with //"),
            ("postgres://b:secret@h:70000/", "not a number up to 65535"),
            ("postgres://b:secret@[::1/", "[ has no ]"),
        ] {
            let why = address(url).unwrap_err().to_string();
            assert!(why.contains(words) && !why.contains("secret"), "{why}");
        }
    }
}
