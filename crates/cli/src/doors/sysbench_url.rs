//! The store that sysbench's driver options name, as a URL of ours.
//!
//! ```text
//! mysql://USER:PASSWORD@HOST:PORT/DB          with --mysql-socket: ?socket=PATH
//! postgres://USER:PASSWORD@HOST:PORT/DB       a host that is a path: ?host=PATH; --pgsql-sslmode: ?sslmode=
//! ```

use crate::exit::CannotRun;
use std::collections::BTreeMap;

/// What was said of drivers: the name behind `--`, in underscores, and its value.
pub(super) type Said = BTreeMap<String, String>;

/// True if an option says where a server is.
pub(super) fn is_place(option: &str) -> bool {
    const PLACES: [&str; 12] = [
        "db_driver",
        "mysql_host",
        "mysql_port",
        "mysql_socket",
        "mysql_user",
        "mysql_password",
        "mysql_db",
        "pgsql_host",
        "pgsql_port",
        "pgsql_user",
        "pgsql_password",
        "pgsql_db",
    ];
    PLACES.contains(&option) || option == "pgsql_sslmode"
}

/// The URL of the options; none if none was given.
pub(super) fn url(said: &Said) -> Result<Option<String>, CannotRun> {
    if said.is_empty() {
        return Ok(None);
    }
    let names = |prefix: &str| said.keys().any(|option| option.starts_with(prefix));
    let driver = match said.get("db_driver").map(String::as_str) {
        Some(driver @ ("mysql" | "pgsql")) => driver,
        Some(other) => {
            return Err(CannotRun(format!(
                "--db-driver={other}: there are mysql and pgsql; --on names any other store"
            )));
        }
        // sysbench's default is its first driver.
        None if names("pgsql_") && !names("mysql_") => "pgsql",
        None => "mysql",
    };
    let of = |option: &str| said.get(&format!("{driver}_{option}")).map(String::as_str);
    let host = of("host").unwrap_or("localhost");
    if host.contains(',') || of("port").is_some_and(|port| port.contains(',')) {
        return Err(CannotRun(format!(
            "--{driver}-host={host}: a run has one server; name one"
        )));
    }
    let default = if driver == "mysql" { "3306" } else { "5432" };
    let port = of("port").unwrap_or(default);
    if port.parse::<u16>().is_err() {
        return Err(CannotRun(format!(
            "--{driver}-port={port}: a port is a number from 0 to 65535"
        )));
    }
    let mut more = Vec::new();
    if let Some(socket) = of("socket").filter(|socket| !socket.is_empty()) {
        more.push(format!("socket={}", escaped(socket)));
    }
    let is_path = host.starts_with('/');
    more.extend(is_path.then(|| format!("host={}", escaped(host))));
    more.extend(of("sslmode").map(|mode| format!("sslmode={}", escaped(mode))));
    let user = escaped(of("user").unwrap_or("sbtest"));
    let password = of("password").filter(|password| !password.is_empty());
    let password = password.map_or(String::new(), |password| format!(":{}", escaped(password)));
    let host = if is_path {
        String::new()
    } else {
        escaped(host)
    };
    let database = escaped(of("db").unwrap_or("sbtest"));
    let scheme = if driver == "mysql" {
        "mysql"
    } else {
        "postgres"
    };
    let ask = if more.is_empty() { "" } else { "?" };
    let more = more.join("&");
    Ok(Some(format!(
        "{scheme}://{user}{password}@{host}:{port}/{database}{ask}{more}"
    )))
}

/// Percent signs for all that means something in a URL.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if plain(byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::url;

    fn of(options: &[(&str, &str)]) -> Result<Option<String>, String> {
        let owned = options
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        url(&owned.collect()).map_err(|why| why.0)
    }

    #[test]
    fn options_become_the_url_of_their_server() {
        for (options, wanted) in [
            (
                &[("db_driver", "mysql")][..],
                "mysql://sbtest@localhost:3306/sbtest",
            ),
            (
                &[
                    ("mysql_user", "a b"),
                    ("mysql_password", "p@:w"),
                    ("mysql_port", "7"),
                ],
                "mysql://a%20b:p%40%3Aw@localhost:7/sbtest",
            ),
            (
                &[("mysql_socket", "/run/my.sock"), ("mysql_db", "x")],
                "mysql://sbtest@localhost:3306/x?socket=/run/my.sock",
            ),
            (
                &[("pgsql_host", "db.example"), ("pgsql_sslmode", "require")],
                "postgres://sbtest@db.example:5432/sbtest?sslmode=require",
            ),
            (
                &[("db_driver", "pgsql"), ("pgsql_host", "/tmp/pg")],
                "postgres://sbtest@:5432/sbtest?host=/tmp/pg",
            ),
        ] {
            assert_eq!(of(options), Ok(Some(wanted.to_owned())), "{options:?}");
        }
        assert_eq!(of(&[]), Ok(None));
    }

    #[test]
    fn what_names_no_one_server_is_refused() {
        for (option, value) in [
            ("db_driver", "oracle"),
            ("mysql_host", "a,b"),
            ("mysql_port", "http"),
        ] {
            assert!(of(&[(option, value)]).is_err(), "{option}");
        }
    }
}
