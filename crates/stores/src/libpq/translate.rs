//! Translates libpq's parameters into options of our URLs, so that a pasted connection string works
//! unchanged.

use super::conninfo::pairs;
use super::parameters::{Effect, parameter};
use super::service::service;
use crate::error::Error;
use crate::server::{Address, Host, percent_encoded_path};
use crate::url::Url;
use std::borrow::Cow;
use std::path::PathBuf;

/// The target of these URLs.
const TARGET: &str = "postgres";

/// The prefix of the variable that replaces a password which the program has moved out of the command
/// line.
const MOVED: &str = "${SYNCLINE_PASSWORD_";

/// Converts a connection string, or a URI with libpq's longer scheme, to one of our URLs; returns other
/// texts unchanged.
pub(crate) fn as_url(text: &str) -> Result<Cow<'_, str>, Error> {
    if let Some(rest) = text.strip_prefix("postgresql:") {
        return Ok(Cow::Owned(format!("{TARGET}:{rest}")));
    }
    let first = text.split_once('=').map_or("", |(name, _)| name.trim());
    if parameter(first).is_none() {
        return Ok(Cow::Borrowed(text));
    }
    Ok(Cow::Owned(url(&pairs(text)?, &[])))
}

/// The URL for libpq's parameters, with the last value of each; `more` are our own options.
pub fn url(pairs: &[(String, String)], more: &[(&str, &str)]) -> String {
    let value = |wanted: &str| {
        let found = pairs.iter().rev().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    };
    let part = |before: &str, wanted: &str| {
        value(wanted).map_or(String::new(), |value| format!("{before}{}", escaped(value)))
    };
    // A slash would end a login.
    let user = (part("", "user") + &part(":", "password")).replace('/', "%2F");
    let at = if user.is_empty() { "" } else { "@" };
    let mut options = Vec::new();
    let host = match value("host") {
        Some(path) if path.starts_with('/') => {
            options.push(format!("socket={}", escaped(path)));
            String::new()
        }
        _ => part("", "host"),
    };
    let placed = ["user", "password", "host", "port", "dbname"];
    for (index, (name, value)) in pairs.iter().enumerate() {
        let again = pairs[index + 1..].iter().any(|(later, _)| later == name);
        if !again && !placed.contains(&name.as_str()) {
            options.push(format!("{name}={}", escaped(value)));
        }
    }
    options.extend(more.iter().map(|(name, value)| format!("{name}={}", escaped(value))));
    let ask = if options.is_empty() { "" } else { "?" };
    format!(
        "{TARGET}://{user}{at}{host}{}{}{ask}{}",
        part(":", "port"),
        part("/", "dbname"),
        options.join("&")
    )
}

/// Percent-encodes everything with a meaning in a URL, except the placeholder of a password.
fn escaped(text: &str) -> String {
    if text.starts_with(MOVED) && text.ends_with('}') {
        return text.to_owned();
    }
    percent_encoded_path(text)
}

/// Sentences about the libpq parameters in a URL that have no effect here.
pub fn warnings(url: &str) -> Vec<String> {
    let Ok(text) = as_url(url) else {
        return Vec::new();
    };
    let parsed = Url::parse(&text).ok().filter(|url| url.name == TARGET);
    let pairs = parsed.map_or_else(Vec::new, |url| url.pairs);
    let ignored = pairs.iter().filter_map(|(name, _)| match parameter(name)?.effect {
        Effect::Ignored(why) => Some(format!("{name} has no effect here: {why}")),
        _ => None,
    });
    ignored.collect()
}

/// A URL's options, with libpq's parameters translated into our own; `variable` reads the environment.
pub(crate) fn translated(
    given: &[(String, String)],
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, Error> {
    let mut given: Vec<_> = given.to_vec();
    // JDBC's form, which libpq accepts too.
    for (name, value) in &mut given {
        if name == "ssl" && value == "true" {
            "sslmode".clone_into(name);
            "require".clone_into(value);
        }
    }
    if let Some(name) = last(&given, "service") {
        for (name, value) in service(name, variable)? {
            if last(&given, &name).is_none() {
                given.push((name, value));
            }
        }
    }
    let mut translated = Vec::new();
    for (index, (name, value)) in given.iter().enumerate() {
        let Some(parameter) = parameter(name) else {
            translated.push((name.clone(), value.clone()));
            continue;
        };
        if given[index + 1..].iter().any(|(later, _)| later == name) {
            continue;
        }
        match parameter.effect {
            Effect::Used(_) => {
                translated.extend(used(name, value, &given)?);
            }
            Effect::Only(values, why) => {
                if !values.iter().any(|taken| taken.eq_ignore_ascii_case(value)) {
                    return Err(not_honoured(format!("{name}={value}: {why}")));
                }
            }
            Effect::Refused(why) => return Err(not_honoured(format!("{name}: {why}"))),
            Effect::Ignored(_) => {}
        }
    }
    if last(&translated, "tls").is_some()
        && last(&given, "tls").is_some()
        && last(&given, "sslmode").is_some()
    {
        let what = "tls= and sslmode= together: both set how the connection is encrypted; use one";
        return Err(not_honoured(what.to_owned()));
    }
    Ok(translated)
}

/// Translates a parameter that is used.
fn used(
    name: &str,
    value: &str,
    given: &[(String, String)],
) -> Result<Option<(String, String)>, Error> {
    let pair = |name: &str, value: &str| Ok(Some((name.to_owned(), value.to_owned())));
    let roots = last(given, "sslrootcert").filter(|roots| !roots.is_empty());
    match name {
        "service" => Ok(None),
        "sslmode" => match value {
            // As in libpq, naming roots enables verification.
            "require" if roots.is_some_and(|roots| roots != "system") => pair("tls", "verify-ca"),
            "disable" | "prefer" | "require" | "verify-ca" | "verify-full" => pair("tls", value),
            // libpq tries without encryption first; here encryption is tried first, and omitted if not
            // available.
            "allow" => pair("tls", "prefer"),
            other => Err(not_honoured(format!(
                "sslmode={other}: the values are disable, allow, prefer, require, verify-ca and verify-full"
            ))),
        },
        "sslrootcert" => match value {
            "system" if last(given, "sslmode").is_none() => pair("tls", "verify-full"),
            "system" | "" => Ok(None),
            path => pair("root", path),
        },
        "connect_timeout" => {
            let seconds: i64 = value.trim().parse().map_err(|_error| {
                not_honoured(format!(
                    "connect_timeout={value}: the value must be a whole number of seconds"
                ))
            })?;
            let ms = match seconds {
                ..=0 => 3_600_000,
                // libpq waits for at least two seconds.
                seconds => seconds.clamp(2, 3_600) * 1_000,
            };
            pair("connect_timeout_ms", &ms.to_string())
        }
        "channel_binding" => match value {
            "require" => pair(name, value),
            "prefer" | "disable" => Ok(None),
            other => Err(not_honoured(format!(
                "channel_binding={other}: the values are require, prefer and disable"
            ))),
        },
        // An empty value counts as unset, as in libpq.
        _ if value.is_empty() => Ok(None),
        _ => pair(name, value),
    }
}

fn last<'p>(pairs: &'p [(String, String)], wanted: &str) -> Option<&'p str> {
    let found = pairs.iter().rev().find(|(name, _)| name == wanted);
    found.map(|(_, value)| value.as_str())
}

fn not_honoured(what: String) -> Error {
    Error::NotHonoured { target: TARGET, what }
}

/// Applies options that are named like libpq's parameters to an address; refuses several hosts.
pub(crate) fn readdress(address: &mut Address, pairs: &[(String, String)]) -> Result<(), Error> {
    let of = |name: &str| last(pairs, name).map(str::to_owned);
    let port = of("port").map(|port| {
        port.parse()
            .map_err(|_error| not_honoured(format!("port={port}: a port is a number up to 65535")))
    });
    let port: Option<u16> = port.transpose()?;
    match (of("host"), port, &mut address.host) {
        (Some(path), port, host) if path.starts_with('/') => {
            let port = port.unwrap_or(match host {
                Host::Tcp(_, port) => *port,
                Host::Socket(_) => 5432,
            });
            *host = Host::Socket(PathBuf::from(path).join(format!(".s.PGSQL.{port}")));
        }
        (Some(name), port, Host::Tcp(host, old)) => {
            *host = name;
            *old = port.unwrap_or(*old);
        }
        (Some(name), port, host) => *host = Host::Tcp(name, port.unwrap_or(5432)),
        (None, Some(port), Host::Tcp(_, old)) => *old = port,
        (None, Some(port), Host::Socket(path)) => path.set_file_name(format!(".s.PGSQL.{port}")),
        (None, None, _) => {}
    }
    address.user = of("user").or(address.user.take());
    address.database = of("dbname").or(address.database.take());
    match &address.host {
        Host::Tcp(host, _) if host.contains(',') => Err(not_honoured(
            "several hosts are named, but a run has one server; name one".to_owned(),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{as_url, translated, url, warnings};

    fn of(options: &str) -> Result<String, String> {
        let pairs: Vec<_> = options
            .split('&')
            .map(|pair| pair.split_once('=').unwrap())
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let translated = translated(&pairs, |_| None).map_err(|error| error.to_string())?;
        let pairs = translated.iter().map(|(name, value)| format!("{name}={value}"));
        Ok(pairs.collect::<Vec<_>>().join("&"))
    }

    /// f04, D14.
    #[test]
    fn libpq_parameters_are_translated_or_refused_by_name() {
        for (given, wanted) in [
            ("sslmode=require", "tls=require"),
            ("sslmode=allow", "tls=prefer"),
            ("sslmode=disable&sslmode=verify-full", "tls=verify-full"),
            ("ssl=true", "tls=require"),
            ("sslmode=require&sslrootcert=/r.pem", "tls=verify-ca&root=/r.pem"),
            ("sslrootcert=system", "tls=verify-full"),
            ("connect_timeout=3", "connect_timeout_ms=3000"),
            ("connect_timeout=1", "connect_timeout_ms=2000"),
            ("connect_timeout=0", "connect_timeout_ms=3600000"),
            ("channel_binding=prefer&sslsni=1&gssencmode=disable", ""),
            ("sslmode=require&channel_binding=require", "tls=require&channel_binding=require"),
            ("options=-c search_path=x&durability=os", "options=-c search_path=x&durability=os"),
            ("application_name=shop&keepalives=1", ""),
            ("host=/run/pg&client_encoding=utf8", "host=/run/pg"),
        ] {
            assert_eq!(of(given).as_deref(), Ok(wanted), "{given}");
        }
        for (given, said) in [
            ("sslmode=always", "the values are disable, allow"),
            ("sslcert=/c.pem", "sslcert: client certificates are not built in"),
            ("sslkey=/k.pem", "sslkey: client certificates"),
            ("gssencmode=require", "GSSAPI is not built in"),
            ("target_session_attrs=read-write", "one server"),
            ("tls=require&sslmode=require", "both set how"),
            ("connect_timeout=soon", "a whole number of seconds"),
            ("requirepeer=postgres", "requirepeer: the owner"),
        ] {
            let why = of(given).unwrap_err();
            assert!(why.contains(said), "{given}: {why}");
        }
    }

    /// f06, A.E8.
    #[test]
    fn a_connection_string_is_converted_to_a_url() {
        for (text, wanted) in [
            ("host=db port=7 user=app dbname=t", "postgres://app@db:7/t"),
            ("host=/run/pg dbname=t", "postgres:///t?socket=/run/pg"),
            ("dbname=t password='p@:w' user=u", "postgres://u:p%40%3Aw@/t"),
            (
                "user=u password=${SYNCLINE_PASSWORD_1} host=h",
                "postgres://u:${SYNCLINE_PASSWORD_1}@h",
            ),
            ("postgresql://app@db/t?sslmode=require", "postgres://app@db/t?sslmode=require"),
            ("host=a host=b sslmode=require", "postgres://b?sslmode=require"),
            ("sqlite:x.db?durability=os", "sqlite:x.db?durability=os"),
        ] {
            assert_eq!(as_url(text).unwrap(), wanted, "{text}");
        }
        let pairs = [("host".to_owned(), "::1".to_owned())];
        assert_eq!(url(&pairs, &[("schema", "a b")]), "postgres://%3A%3A1?schema=a%20b");
    }

    #[test]
    fn ignored_parameters_are_reported() {
        let said = warnings("postgresql://h/t?application_name=x&sslmode=require&keepalives=1");
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("application_name has no effect here"), "{said:?}");
        assert!(warnings("sqlite:x?application_name=x").is_empty());
    }
}
