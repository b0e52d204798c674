//! The PostgreSQL server named by pgbench's options, a connection string or libpq's environment.
//!
//! As in libpq, a connection string takes precedence over options, then a service, then the environment.
//! Without a host it is the Unix socket of this machine, if there is one. A variable that libpq reads is
//! used, refused by name, or ignored with a warning.

use super::libpq_environment::{LibpqEnvironment, environment, last, of_session, roots};
use crate::pgbench_args::ServerFlags;
use std::path::Path;
use syncline_console::CannotRun;
use syncline_stores::libpq;

/// The variables that are sufficient to name a server.
const NAMING: [&str; 6] = ["PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE"];

/// The socket directories of this machine: Debian's packages, and PostgreSQL's own default.
const SOCKETS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// A server's URL, and warnings for settings without effect.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) url: String,
    pub(super) warnings: Vec<String>,
}

/// True if options name a server.
pub(super) fn by_flags(flags: &ServerFlags) -> bool {
    let ServerFlags { host, port, username, dbname, database } = flags;
    [host, port, username, dbname, database].iter().any(|one| one.is_some())
}

/// The server of the options and the environment; none if nothing names one. Tables that -i creates stay
/// there in Syncline's own schema.
pub(super) fn server<V, E>(
    flags: &ServerFlags,
    outside: &LibpqEnvironment<V, E>,
) -> Result<Option<Named>, CannotRun>
where
    V: Fn(&str) -> Option<String>,
    E: Fn(&Path) -> bool,
{
    let variable = |name: &str| (outside.variable)(name).filter(|value| !value.is_empty());
    if !by_flags(flags) && NAMING.iter().all(|name| variable(name).is_none()) {
        return Ok(None);
    }
    let mut pairs = of_flags(flags, &variable)?;
    let service = last(&pairs, "service").map(str::to_owned);
    if let Some(name) = service.or_else(|| variable("PGSERVICE")) {
        let service_pairs = libpq::service(&name, &outside.variable).map_err(CannotRun::because)?;
        add(&mut pairs, service_pairs);
    }
    pairs.retain(|(name, _)| name != "service");
    let mut warnings = environment(&mut pairs, &variable)?;
    of_session(&mut pairs, &variable);
    if let Some(path) = socket(&pairs, outside) {
        pairs.push(("host".to_owned(), path.to_owned()));
    }
    if let Some(roots) = roots(&pairs, outside) {
        pairs.push(("sslrootcert".to_owned(), roots));
    }
    let url = libpq::url(&pairs, &[("schema", "pgbench")]);
    warnings.extend(libpq::warnings(&url));
    Ok(Some(Named { url, warnings }))
}

/// The parameters of the options; a database name may be a connection string.
fn of_flags(
    flags: &ServerFlags,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, CannotRun> {
    let mut pairs = Vec::new();
    for (name, value) in [("host", &flags.host), ("port", &flags.port), ("user", &flags.username)] {
        if let Some(value) = value.as_ref().filter(|value| !value.is_empty()) {
            pairs.push((name.to_owned(), value.clone()));
        }
    }
    let database = flags.database.as_ref().or(flags.dbname.as_ref()).cloned();
    match database.or_else(|| variable("PGDATABASE")) {
        Some(text) if libpq::is_conninfo(&text) => {
            pairs.extend(libpq::pairs(&text).map_err(CannotRun::because)?);
        }
        Some(name) => pairs.push(("dbname".to_owned(), name)),
        None => {}
    }
    Ok(pairs)
}

/// Adds parameters that are not set yet.
fn add(pairs: &mut Vec<(String, String)>, more: Vec<(String, String)>) {
    for (name, value) in more {
        if last(pairs, &name).is_none() {
            pairs.push((name, value));
        }
    }
}

/// The directory of this machine's socket, if no host is named and a socket exists.
fn socket<V, E: Fn(&Path) -> bool>(
    pairs: &[(String, String)],
    outside: &LibpqEnvironment<V, E>,
) -> Option<&'static str> {
    let named = ["host", "hostaddr"].iter().any(|name| last(pairs, name).is_some());
    let port = last(pairs, "port").unwrap_or("5432");
    let file = format!(".s.PGSQL.{port}");
    let mut directories = SOCKETS.into_iter().filter(|_| !named);
    directories.find(|directory| (outside.exists)(&Path::new(directory).join(&file)))
}

#[cfg(test)]
mod tests {
    use super::{LibpqEnvironment, Named, server};
    use crate::libpq_environment::unread;
    use crate::pgbench_args::ServerFlags;
    use std::path::Path;
    use syncline_stores::AnyTarget;

    fn of(
        flags: &ServerFlags,
        variables: &[(&str, &str)],
        files: &[&str],
    ) -> Result<Option<Named>, String> {
        let outside = LibpqEnvironment {
            variable: |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            },
            exists: |path: &Path| files.iter().any(|file| Path::new(file) == path),
        };
        server(flags, &outside).map_err(|why| why.0)
    }

    fn url(flags: &ServerFlags, variables: &[(&str, &str)]) -> String {
        let named = of(flags, variables, &[]).unwrap().unwrap();
        assert_eq!(named.warnings, Vec::<String>::new());
        if let Err(why) = AnyTarget::open(&named.url) {
            panic!("{}: {why}", named.url);
        }
        named.url
    }

    fn database(name: &str) -> ServerFlags {
        ServerFlags { database: Some(name.to_owned()), ..ServerFlags::default() }
    }

    /// f05: each of the variables alone names a server.
    #[test]
    fn flags_and_variables_of_a_server_become_its_url() {
        let none = ServerFlags::default();
        assert_eq!(of(&none, &[], &[]), Ok(None));
        assert_eq!(of(&none, &[("PGOPTIONS", "-c x=y"), ("PGHOST", "")], &[]), Ok(None));
        for (variable, value, expected) in [
            ("PGHOST", "db", "postgres://db?schema=pgbench"),
            ("PGHOSTADDR", "::1", "postgres://?hostaddr=%3A%3A1&schema=pgbench"),
            ("PGPORT", "7", "postgres://:7?schema=pgbench"),
            ("PGUSER", "me", "postgres://me@?schema=pgbench"),
            ("PGDATABASE", "t", "postgres:///t?schema=pgbench"),
        ] {
            assert_eq!(url(&none, &[(variable, value)]), expected);
        }
        let variables = [("PGHOST", "/run/pg"), ("PGUSER", "me"), ("PGPORT", "7")];
        assert_eq!(
            url(&database("bench"), &variables),
            "postgres://me@:7/bench?socket=/run/pg&schema=pgbench"
        );
        let whole = ServerFlags {
            host: Some("db.example".to_owned()),
            port: Some("5433".to_owned()),
            username: Some("you".to_owned()),
            ..ServerFlags::default()
        };
        assert_eq!(url(&whole, &variables), "postgres://you@db.example:5433?schema=pgbench");
    }

    /// f06: a connection string takes precedence over options, as in libpq.
    #[test]
    fn a_connection_string_as_a_database_s_name_is_taken_apart() {
        let flags = |text: &str| ServerFlags {
            host: Some("flag".to_owned()),
            port: Some("1".to_owned()),
            ..database(text)
        };
        for text in
            ["host=db port=7 user=app dbname=t", "postgresql://app@db:7/t", "postgres://app@db:7/t"]
        {
            assert_eq!(url(&flags(text), &[]), "postgres://app@db:7/t?schema=pgbench", "{text}");
        }
        assert_eq!(url(&flags("dbname=t"), &[]), "postgres://flag:1/t?schema=pgbench");
        let by_variable = [("PGDATABASE", "host=db dbname=t")];
        assert_eq!(url(&ServerFlags::default(), &by_variable), "postgres://db/t?schema=pgbench");
    }

    /// A.E8: a password is never part of a database name or a message.
    #[test]
    fn a_password_in_a_connection_string_stays_hidden() {
        let named = of(&database("host=db user=u password=p@w dbname=t"), &[], &[]);
        let named = named.unwrap().unwrap();
        let shown = syncline_stores::server::redacted_url(&named.url);
        assert_eq!(shown, "postgres://u@db/t?schema=pgbench");
        let why = of(&database("host=db pasword=secret"), &[], &[]).unwrap_err();
        assert!(!why.contains("secret"), "{why}");
    }

    /// f03, f04: libpq's connection variables.
    #[test]
    fn variables_of_libpq_are_used_refused_or_warned_of() {
        let t = database("t");
        for (variables, expected) in [
            (
                &[("PGOPTIONS", "-c synchronous_commit=off")][..],
                "postgres:///t?options=-c%20synchronous_commit%3Doff&schema=pgbench",
            ),
            (&[("PGSSLMODE", "require")], "postgres:///t?sslmode=require&schema=pgbench"),
            (
                &[("PGTZ", "UTC"), ("PGDATESTYLE", "ISO, DMY"), ("PGOPTIONS", "-c a=b")],
                "postgres:///t?options=-c%20datestyle%3DISO%2C%5C%20DMY%20-c%20timezone%3DUTC%20-c%20a%3Db\
                 &schema=pgbench",
            ),
            (
                &[("PGCONNECT_TIMEOUT", "3"), ("PGSSLSNI", "1")],
                "postgres:///t?connect_timeout=3&schema=pgbench",
            ),
        ] {
            assert_eq!(url(&t, variables), expected);
        }
        for (name, value, expected) in [
            ("PGSSLCERT", "/c", "PGSSLCERT is set, and client certificates"),
            ("PGREQUIREPEER", "root", "PGREQUIREPEER is set"),
            (
                "PGTARGETSESSIONATTRS",
                "primary",
                "PGTARGETSESSIONATTRS=primary: a run has one server",
            ),
            ("PGCLIENTENCODING", "LATIN1", "UTF-8"),
            ("PGSERVICE", "nowhere", "\"nowhere\" was not found in"),
        ] {
            let why = of(&t, &[(name, value), ("PGSYSCONFDIR", "/none")], &[]).unwrap_err();
            assert!(why.contains(expected), "{name}: {why}");
        }
        let named = of(&t, &[("PGAPPNAME", "shop"), ("PGLOCALEDIR", "/l")], &[]).unwrap().unwrap();
        assert_eq!(named.warnings.len(), 2, "{named:?}");
        assert!(named.warnings[0].starts_with("PGAPPNAME has no effect here"), "{named:?}");
        let ignored =
            unread("postgres://h/t", |name| (name == "PGOPTIONS").then(|| "x".to_owned()));
        assert_eq!(ignored.len(), 1, "{ignored:?}");
        assert!(unread("sqlite:x", |_| Some("x".to_owned())).is_empty());
    }

    #[test]
    fn without_a_host_the_existing_socket_is_used() {
        let socket = ["/var/run/postgresql/.s.PGSQL.5432"];
        let named =
            |flags, variables: &[(&str, &str)]| of(flags, variables, &socket).unwrap().unwrap().url;
        let t = database("t");
        assert_eq!(named(&t, &[]), "postgres:///t?socket=/var/run/postgresql&schema=pgbench");
        assert_eq!(named(&t, &[("PGPORT", "7")]), "postgres://:7/t?schema=pgbench");
        assert_eq!(named(&t, &[("PGHOST", "db")]), "postgres://db/t?schema=pgbench");
        let home = ["/home/me/.postgresql/root.crt"];
        let variables = [("HOME", "/home/me"), ("PGSSLMODE", "require")];
        assert_eq!(
            of(&t, &variables, &home).unwrap().unwrap().url,
            "postgres:///t?sslmode=require&sslrootcert=/home/me/.postgresql/root.crt&schema=pgbench"
        );
    }

    /// PGSERVICE: below the command line, above the environment.
    #[test]
    fn a_service_completes_the_flags_and_overrides_the_environment() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("services");
        std::fs::write(&file, "[shop]\nhost=db\nport=7\nuser=app\n").unwrap();
        let file = file.display().to_string();
        let variables =
            [("PGSERVICEFILE", file.as_str()), ("PGSERVICE", "shop"), ("PGHOST", "env")];
        assert_eq!(
            of(&ServerFlags::default(), &variables, &[]).unwrap().unwrap().url,
            "postgres://app@db:7?schema=pgbench"
        );
        let flags = database("service=shop host=said dbname=t");
        assert_eq!(
            of(&flags, &variables[..1], &[]).unwrap().unwrap().url,
            "postgres://app@said:7/t?schema=pgbench"
        );
    }
}
