//! The URL of the store that sysbench's driver options name. `--pgsql-sslmode` is libpq's. Tables stay there
//! in Syncline's own schema (in MySQL a database), as sysbench's stay in its database.

use super::libpq_environment::{LibpqEnvironment, environment, of_session, roots};
use super::server_url::Server;
use std::collections::BTreeMap;
use std::path::Path;
use syncline_console::CannotRun;
use syncline_stores::libpq;

/// The driver options: the name after `--`, with underscores, and its value.
pub(super) type SysbenchOptions = BTreeMap<String, String>;

/// True for an option that names a server.
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

/// The URL of the options, with warnings; none if no option was given. sysbench's PostgreSQL driver connects
/// with libpq, whose environment completes the options.
pub(super) fn url<V, E>(
    options_given: &SysbenchOptions,
    outside: &LibpqEnvironment<V, E>,
) -> Result<Option<(String, Vec<String>)>, CannotRun>
where
    V: Fn(&str) -> Option<String>,
    E: Fn(&Path) -> bool,
{
    if options_given.is_empty() {
        return Ok(None);
    }
    let names = |prefix: &str| options_given.keys().any(|option| option.starts_with(prefix));
    let driver = match options_given.get("db_driver").map(String::as_str) {
        Some(driver @ ("mysql" | "pgsql")) => driver,
        Some(other) => {
            return Err(CannotRun(format!(
                "--db-driver={other}: must be mysql or pgsql; --on names any other store"
            )));
        }
        // sysbench's default is its first driver.
        None if names("pgsql_") && !names("mysql_") => "pgsql",
        None => "mysql",
    };
    let of = |option: &str| options_given.get(&format!("{driver}_{option}")).map(String::as_str);
    let host = of("host").unwrap_or("localhost");
    if host.contains(',') || of("port").is_some_and(|port| port.contains(',')) {
        return Err(CannotRun(format!("--{driver}-host={host}: a run has one server; name one")));
    }
    let default = if driver == "mysql" { "3306" } else { "5432" };
    let port = of("port").unwrap_or(default);
    if port.parse::<u16>().is_err() {
        return Err(CannotRun(format!(
            "--{driver}-port={port}: a port is a number from 0 to 65535"
        )));
    }
    if driver == "pgsql" {
        let mut pairs = Vec::new();
        let password = of("password").map(from_environment).transpose()?;
        let default = Some("sbtest");
        for (name, value) in [
            ("host", Some(host)),
            ("port", Some(port)),
            ("user", of("user").or(default)),
            ("password", password.as_deref()),
            ("dbname", of("db").or(default)),
            ("sslmode", of("sslmode")),
        ] {
            pairs.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        }
        if let Some(mode) = of("sslmode").filter(|mode| !SSL_MODES.contains(mode)) {
            return Err(CannotRun(format!(
                "--pgsql-sslmode={mode}: must be one of {}",
                SSL_MODES.join(", ")
            )));
        }
        let variable = |name: &str| (outside.variable)(name).filter(|value| !value.is_empty());
        let mut warnings = environment(&mut pairs, &variable)?;
        of_session(&mut pairs, &variable);
        if let Some(roots) = roots(&pairs, outside) {
            pairs.push(("sslrootcert".to_owned(), roots));
        }
        let url = libpq::url(&pairs, &[("schema", "sysbench")]);
        warnings.extend(libpq::warnings(&url));
        return Ok(Some((url, warnings)));
    }
    let password = of("password").map(from_environment).transpose()?;
    let server = Server {
        scheme: "mysql",
        user: of("user").or(Some("sbtest")),
        password: password.as_deref(),
        host: Some(host),
        socket: of("socket"),
        port: Some(port),
        database: of("db").or(Some("sbtest")),
        options: vec![("schema", "sysbench")],
    };
    Ok(Some((server.url(), Vec::new())))
}

/// The values of libpq's sslmode.
const SSL_MODES: [&str; 6] = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

/// A password as typed. The program moves a password from its command line into one of its own variables
/// before anything else; any other `${NAME}` is a password, as it is to sysbench.
fn from_environment(typed: &str) -> Result<String, CannotRun> {
    let name = typed
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'))
        .filter(|name| name.starts_with("SYNCLINE_PASSWORD_"));
    let Some(name) = name else {
        return Ok(typed.to_owned());
    };
    std::env::var(name).map_err(|_error| {
        CannotRun(format!(
            "the environment variable {name}, which should hold the password, is not set"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::{LibpqEnvironment, url};
    use std::path::Path;

    fn of(options: &[(&str, &str)]) -> Result<Option<String>, String> {
        let owned = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let outside = LibpqEnvironment { variable: |_: &str| None, exists: |_: &Path| false };
        let url = url(&owned.collect(), &outside).map_err(|why| why.0)?;
        Ok(url.map(|(url, _)| url))
    }

    /// f03, f04: libpq's environment completes sysbench's options.
    #[test]
    fn libpq_s_environment_applies_to_its_driver() {
        let options_given = [("db_driver".to_owned(), "pgsql".to_owned())].into_iter().collect();
        let variables = [
            ("PGOPTIONS", "-c a=b"),
            ("PGSSLMODE", "require"),
            ("PGHOST", "no"),
            ("PGAPPNAME", "x"),
        ];
        let outside = LibpqEnvironment {
            variable: |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            },
            exists: |_: &Path| false,
        };
        let (url, warnings) = url(&options_given, &outside).map_err(|why| why.0).unwrap().unwrap();
        assert_eq!(
            url,
            "postgres://sbtest@localhost:5432/sbtest?options=-c%20a%3Db&sslmode=require&schema=sysbench"
        );
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }

    #[test]
    fn options_become_the_url_of_their_server() {
        for (options, expected) in [
            (&[("db_driver", "mysql")][..], "mysql://sbtest@localhost:3306/sbtest?schema=sysbench"),
            (
                &[("mysql_user", "a b"), ("mysql_password", "p@:w"), ("mysql_port", "7")],
                "mysql://a%20b:p%40%3Aw@localhost:7/sbtest?schema=sysbench",
            ),
            // A.E10
            (
                &[("pgsql_user", "a/b"), ("pgsql_password", "p/q?${HOME}%")],
                "postgres://a%2Fb:p%2Fq%3F%24%7BHOME%7D%25@localhost:5432/sbtest?schema=sysbench",
            ),
            (
                &[("pgsql_password", "${HOME}")],
                "postgres://sbtest:%24%7BHOME%7D@localhost:5432/sbtest?schema=sysbench",
            ),
            (
                &[("mysql_socket", "/run/my.sock"), ("mysql_db", "x")],
                "mysql://sbtest@:3306/x?socket=/run/my.sock&schema=sysbench",
            ),
            (
                &[("pgsql_host", "db.example"), ("pgsql_sslmode", "require")],
                "postgres://sbtest@db.example:5432/sbtest?sslmode=require&schema=sysbench",
            ),
            (
                &[("db_driver", "pgsql"), ("pgsql_host", "/tmp/pg")],
                "postgres://sbtest@:5432/sbtest?socket=/tmp/pg&schema=sysbench",
            ),
        ] {
            assert_eq!(of(options), Ok(Some(expected.to_owned())), "{options:?}");
            if let Err(why) = syncline_stores::AnyTarget::open(expected) {
                panic!("{expected}: {why}");
            }
        }
        assert_eq!(of(&[]), Ok(None));
    }

    #[test]
    fn options_that_do_not_name_a_single_server_are_refused() {
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
