//! The store that sysbench's driver options name, as a URL of ours. `--pgsql-sslmode` becomes `tls=`. Tables
//! stay there in a schema of ours (of MySQL a database), as sysbench's stay in its database.

use super::server_url::Server;
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
    let tls = of("sslmode").map(tls_word).transpose()?;
    let password = of("password").map(from_environment).transpose()?;
    let server = Server {
        scheme: if driver == "mysql" {
            "mysql"
        } else {
            "postgres"
        },
        user: of("user").or(Some("sbtest")),
        password: password.as_deref(),
        host: Some(host),
        socket: of("socket"),
        port: Some(port),
        database: of("db").or(Some("sbtest")),
        options: tls
            .map(|word| ("tls", word))
            .into_iter()
            .chain([("schema", "sysbench")])
            .collect(),
    };
    Ok(Some(server.url()))
}

/// A password as typed, or where `${NAME}` stands that of the environment: the program moves a typed one
/// there before anything else.
fn from_environment(typed: &str) -> Result<String, CannotRun> {
    let name = typed
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'));
    let Some(name) = name else {
        return Ok(typed.to_owned());
    };
    std::env::var(name).map_err(|_error| {
        CannotRun(format!(
            "the environment has no {name}, which is to hold the password"
        ))
    })
}

/// How a connection is encrypted, in the words of our URLs.
fn tls_word(mode: &str) -> Result<&str, CannotRun> {
    match mode {
        "disable" | "prefer" | "require" | "verify-ca" | "verify-full" => Ok(mode),
        // It asks for no encryption first; here encryption is asked for first, and done without.
        "allow" => Ok("prefer"),
        other => Err(CannotRun(format!(
            "--pgsql-sslmode={other}: there are disable, allow, prefer, require, verify-ca and verify-full"
        ))),
    }
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
                "mysql://sbtest@localhost:3306/sbtest?schema=sysbench",
            ),
            (
                &[
                    ("mysql_user", "a b"),
                    ("mysql_password", "p@:w"),
                    ("mysql_port", "7"),
                ],
                "mysql://a%20b:p%40%3Aw@localhost:7/sbtest?schema=sysbench",
            ),
            (
                &[("mysql_socket", "/run/my.sock"), ("mysql_db", "x")],
                "mysql://sbtest@:3306/x?socket=/run/my.sock&schema=sysbench",
            ),
            (
                &[("pgsql_host", "db.example"), ("pgsql_sslmode", "require")],
                "postgres://sbtest@db.example:5432/sbtest?tls=require&schema=sysbench",
            ),
            (
                &[("db_driver", "pgsql"), ("pgsql_host", "/tmp/pg")],
                "postgres://sbtest@:5432/sbtest?socket=/tmp/pg&schema=sysbench",
            ),
        ] {
            assert_eq!(of(options), Ok(Some(wanted.to_owned())), "{options:?}");
            if let Err(why) = syncline_targets::AnyTarget::open(wanted) {
                panic!("{wanted}: {why}");
            }
        }
        assert_eq!(of(&[]), Ok(None));
    }

    #[test]
    fn what_names_no_one_server_is_refused() {
        for (option, value) in [
            ("db_driver", "oracle"),
            ("mysql_host", "a,b"),
            ("mysql_port", "http"),
            ("pgsql_sslmode", "always"),
        ] {
            assert!(of(&[(option, value)]).is_err(), "{option}");
        }
    }
}
