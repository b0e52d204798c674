//! Parses connection strings (`host=db password='a b'`) and URIs
//! (`postgresql://app@db/shop?sslmode=require`) into parameters and values.

use super::parameters::parameter;
use crate::error::Error;
use std::ops::Range;
use syncline_contract::decoded;

const SCHEMES: [&str; 2] = ["postgresql://", "postgres://"];

/// True if libpq would not take the text for the plain name of a database.
pub fn is_conninfo(text: &str) -> bool {
    is_uri(text) || text.contains('=')
}

fn is_uri(text: &str) -> bool {
    SCHEMES.iter().any(|scheme| text.starts_with(scheme))
}

/// The parameters of a connection string or a URI, in order. Names that libpq does not have are
/// refused.
pub fn pairs(text: &str) -> Result<Vec<(String, String)>, Error> {
    let pairs = if is_uri(text) { of_uri(text) } else { of_string(text) };
    let pairs = pairs.map_err(|why| Error::Conninfo { why })?;
    match pairs.iter().find(|(name, _)| parameter(name).is_none()) {
        Some((name, _)) => {
            Err(Error::Conninfo { why: format!("\"{name}\" is not a parameter of libpq") })
        }
        None => Ok(pairs),
    }
}

/// The byte ranges of the passwords in a connection string, with their quotes; empty for a URI, whose
/// passwords are found like those of any URL. If the text after a password is malformed, it counts as
/// part of it.
pub fn secrets(text: &str) -> Vec<Range<usize>> {
    if is_uri(text) {
        return Vec::new();
    }
    let (spans, _) = spans(text);
    let secret = spans.into_iter().filter(|span| is_secret(&span.name));
    secret.map(|span| span.range).collect()
}

fn is_secret(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with("password")
}

/// A parameter of a connection string, and the range of its value.
struct Span {
    name: String,
    value: String,
    range: Range<usize>,
}

/// Parses `name = value` pairs separated by white space; quotes enclose blanks, a backslash escapes the
/// next character.
fn of_string(text: &str) -> Result<Vec<(String, String)>, String> {
    let (spans, wrong) = spans(text);
    match wrong {
        Some(why) => Err(why),
        None => Ok(spans.into_iter().map(|span| (span.name, span.value)).collect()),
    }
}

/// The parameters up to the first error, and that error.
fn spans(text: &str) -> (Vec<Span>, Option<String>) {
    let mut spans: Vec<Span> = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|character: char| character == '=' || character.is_whitespace());
        let name = &rest[..end.unwrap_or(rest.len())];
        let after = rest[name.len()..].trim_start();
        let Some(after) = after.strip_prefix('=').filter(|_| !name.is_empty()) else {
            // The word may be a part of a password, so it is not repeated, and it is hidden if a
            // password precedes it.
            let why = format!("an = is missing after word {}", spans.len() + 1);
            if let Some(last) = spans.last_mut() {
                last.range.end = text.len();
            }
            return (spans, Some(why));
        };
        let after = after.trim_start();
        let begin = text.len() - after.len();
        let (found, remainder) = match value(after) {
            Some((found, remainder)) => (Some(found), remainder),
            None => (None, ""),
        };
        let wrong = found.is_none();
        spans.push(Span {
            name: name.to_owned(),
            value: found.unwrap_or_default(),
            range: begin..text.len() - remainder.len(),
        });
        if wrong {
            let why = format!("the quote of the value of {name} does not end");
            return (spans, Some(why));
        }
        rest = remainder.trim_start();
    }
    (spans, None)
}

/// Removes the backslashes of a value or a field: each escapes the next character.
pub fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.extend(if character == '\\' { characters.next() } else { Some(character) });
    }
    plain
}

/// The value at the beginning of a text, and the text after it; `None` if its quote does not end.
fn value(text: &str) -> Option<(String, &str)> {
    let (quoted, text) = match text.strip_prefix('\'') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(|(_, next)| next)),
            '\'' if quoted => return Some((value, &text[at + 1..])),
            _ if !quoted && character.is_whitespace() => return Some((value, &text[at..])),
            _ => value.push(character),
        }
    }
    (!quoted).then_some((value, ""))
}

fn of_uri(text: &str) -> Result<Vec<(String, String)>, String> {
    let decode = |part: &str| decoded(part).ok_or("a % is not followed by a code");
    let (_, rest) = text.split_once("://").unwrap_or_default();
    let (place, query) = match rest.split_once('?') {
        Some((place, query)) => (place, Some(query)),
        None => (rest, None),
    };
    let (authority, database) = place.split_once('/').unwrap_or((place, ""));
    let (login, host) = match authority.rsplit_once('@') {
        Some((login, host)) => (login, host),
        None => ("", authority),
    };
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let (host, port) = host_and_port(host)?;
    let mut pairs = Vec::new();
    for (name, part) in [
        ("user", user),
        ("password", password),
        ("host", host),
        ("port", port),
        ("dbname", database),
    ] {
        if !part.is_empty() {
            pairs.push((name.to_owned(), decode(part)?));
        }
    }
    for option in query.into_iter().flat_map(|query| query.split('&')) {
        let (name, value) = option.split_once('=').ok_or("a parameter has no value")?;
        let (name, value) = (decode(name)?, decode(value)?);
        // JDBC's form, which libpq accepts too.
        if name == "ssl" && value == "true" {
            pairs.push(("sslmode".to_owned(), "require".to_owned()));
        } else {
            pairs.push((name, value));
        }
    }
    Ok(pairs)
}

/// Splits `host`, `host:port`, `[address]:port`; a list of hosts stays one text, which is refused
/// later.
fn host_and_port(text: &str) -> Result<(&str, &str), &'static str> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, port) = rest.split_once(']').ok_or("its [ has no ]")?;
        return Ok((host, port.strip_prefix(':').unwrap_or(port)));
    }
    Ok(text.rsplit_once(':').filter(|_| !text.contains(',')).unwrap_or((text, "")))
}

#[cfg(test)]
mod tests {
    use super::{is_conninfo, pairs, secrets};

    fn of(text: &str) -> Result<String, String> {
        let pairs = pairs(text).map_err(|error| error.to_string())?;
        let pairs = pairs.iter().map(|(name, value)| format!("{name}=<{value}>"));
        Ok(pairs.collect::<Vec<_>>().join(" "))
    }

    /// f06.
    #[test]
    fn connection_strings_and_uris_are_recognized_and_parsed() {
        for (text, expected) in [
            ("host=db port=7 dbname=t", "host=<db> port=<7> dbname=<t>"),
            ("user = 'a b'  password='it\\'s \\\\'", "user=<a b> password=<it's \\>"),
            ("options='-c search_path=x'", "options=<-c search_path=x>"),
            ("password=a\\ b dbname=''", "password=<a b> dbname=<>"),
            ("postgresql://", ""),
            ("postgres:///t?host=/run/pg", "dbname=<t> host=</run/pg>"),
            (
                "postgresql://app:s%40c@db.example:6000/shop?sslmode=require&connect_timeout=3",
                "user=<app> password=<s@c> host=<db.example> port=<6000> dbname=<shop> \
                 sslmode=<require> connect_timeout=<3>",
            ),
            ("postgresql://[::1]:7/t?ssl=true", "host=<::1> port=<7> dbname=<t> sslmode=<require>"),
            ("postgresql://a:1,b:2/t", "host=<a:1,b:2> dbname=<t>"),
        ] {
            assert!(is_conninfo(text), "{text}");
            assert_eq!(of(text).as_deref(), Ok(expected), "{text}");
        }
        assert!(!is_conninfo("bench") && !is_conninfo("a-b c"));
    }

    /// A.E8.
    #[test]
    fn errors_of_connection_strings_do_not_contain_values() {
        for (text, expected) in [
            ("host=db secret", "an = is missing after word 2"),
            ("password='secret", "the quote of the value of password"),
            ("colour=secret", "\"colour\" is not a parameter of libpq"),
            ("postgresql://a:secret@[::1/t", "its [ has no ]"),
            ("postgresql://h/t?password", "has no value"),
            ("postgresql://h/t?password=%zzsecret", "not followed by a code"),
            ("=secret", "an = is missing"),
        ] {
            let why = of(text).unwrap_err();
            assert!(why.contains(expected) && !why.contains("secret"), "{text}: {why}");
        }
    }

    /// A.E8.
    #[test]
    fn passwords_of_connection_strings_are_found_completely() {
        for (text, expected) in [
            ("host=db password=secret dbname=t", "secret"),
            ("password = 'sec ret'", "'sec ret'"),
            ("sslpassword=secret\\ x y=z", "secret\\ x"),
            ("password='secret", "'secret"),
            ("password=secret more", "secret more"),
        ] {
            let found = secrets(text);
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(&text[found[0].clone()], expected, "{text}");
        }
        assert!(secrets("postgresql://u:p@h/t").is_empty() && secrets("host=a").is_empty());
    }
}
