//! Finds the passwords in a URL.
//!
//! A password that a user typed may contain, unescaped, the very characters that end one. So the end of
//! the login is searched for before the options are split off: options begin at the first `?` (or `;`
//! for JDBC) after which everything parses as options, and before which there is a login with its `@`,
//! or a host with only a number after its colon. Without such a character, the last `@` ends the login.
//!
//! A login without an `@` has no end: the text after a colon, if it is not a port, then counts as a
//! password, and so does everything before the last `@` of a server's URL that lacks its `//`.
//!
//! Invariants:
//! 1. In case of doubt more text counts as a password, never less; a URL that a target accepts is never
//!    in doubt.
//! 2. The ranges are ascending and do not overlap.

use std::ops::Range;

/// A password in a URL, by byte positions.
#[derive(Debug)]
pub(super) struct Secret {
    /// The password.
    pub(super) text: Range<usize>,
    /// The password with its separator and its option's name.
    pub(super) whole: Range<usize>,
}

/// The passwords of a URL, from left to right.
pub(super) fn secrets(url: &str) -> Vec<Secret> {
    let form = Form::of(url);
    let signs = || url.match_indices(form.begins()).map(|(at, _)| at);
    let first = signs().next().unwrap_or(url.len());
    let options = signs().find(|at| reads_as_place(&url[..*at]) && form.reads_as_options(url, *at));
    let login = after_user(&url[..options.unwrap_or(url.len())]);
    let given = form.options(url, options.unwrap_or(first));
    let given = given.into_iter().filter(|option| is_secret(option.name));
    let given = given.map(|option| Secret {
        whole: if url.as_bytes()[option.sign] == b'?' {
            option.sign + 1..option.value.end
        } else {
            option.sign..option.value.end
        },
        text: option.value,
    });
    merged(login.into_iter().chain(given))
}

/// Merges overlapping ranges: where a URL can be parsed in two ways, both results are hidden.
fn merged(secrets: impl Iterator<Item = Secret>) -> Vec<Secret> {
    let mut found: Vec<Secret> = Vec::new();
    for secret in secrets {
        match found.last_mut() {
            Some(last) if secret.whole.start < last.whole.end => {
                let end = last.text.end.max(secret.text.end);
                last.text.end = end;
                last.whole.end = end;
            }
            _ => found.push(secret),
        }
    }
    found
}

/// The syntax of a URL's options.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `?name=value&name=value`, with names that targets list.
    Own,
    /// `?name=value&...` or `;name=value;...`, with names that a driver knows; options of targets may
    /// follow either.
    Jdbc,
}

/// An option, by byte positions.
struct UrlOption<'u> {
    /// The separator before it.
    sign: usize,
    /// Empty if it has none.
    name: &'u str,
    value: Range<usize>,
}

impl Form {
    fn of(url: &str) -> Form {
        let scheme = url.find("://").unwrap_or(url.len());
        if url[..scheme].contains("jdbc:") { Form::Jdbc } else { Form::Own }
    }

    fn begins(self) -> &'static [char] {
        match self {
            Form::Own => &['?'],
            Form::Jdbc => &['?', ';'],
        }
    }

    /// True if everything from a separator on can be options.
    fn reads_as_options(self, url: &str, sign: usize) -> bool {
        self.options(url, sign).iter().all(|option| {
            // If the value contains an @, the name must be a known one.
            let value = &url[option.value.clone()];
            let is_meant = self == Form::Jdbc || !value.contains('@') || is_known(option.name);
            is_name(option.name) && is_meant || option.name.is_empty() && value.is_empty()
        })
    }

    /// The options from a separator on. A part without a valid name belongs to the password before it.
    fn options(self, url: &str, mut sign: usize) -> Vec<UrlOption<'_>> {
        let mut found: Vec<UrlOption<'_>> = Vec::new();
        while sign < url.len() {
            let begin = sign + 1;
            let end = self.end(url, sign);
            let equals = url[begin..end].find('=').map(|length| begin + length);
            let (name, value) = match equals {
                Some(equals) => (&url[begin..equals], equals + 1..end),
                None => ("", begin..end),
            };
            match found.last_mut() {
                Some(last) if is_secret(last.name) && !self.is_option(name) && begin < end => {
                    last.value.end = end;
                }
                _ => found.push(UrlOption { sign, name, value }),
            }
            sign = end;
        }
        found
    }

    /// The end of the option that begins after a separator.
    fn end(self, url: &str, sign: usize) -> usize {
        let begin = sign + 1;
        let rest = &url[begin..];
        let name = rest.split('=').next().unwrap_or_default();
        let plain = |from: usize| {
            let mut places = rest[from..].match_indices(['&', ';', '?']);
            let ends = places.find(|(at, _)| {
                let at = begin + from + at;
                self.ends(url, sign, is_secret(name), at)
            });
            ends.map_or(url.len(), |(length, _)| begin + from + length)
        };
        let end = plain(0);
        match rest.find("={") {
            // A driver's value in braces may contain any character; `}}` is an escaped brace.
            Some(brace) if self == Form::Jdbc && begin + brace < end => {
                let inside = brace + 2;
                closing(&rest[inside..]).map_or(url.len(), |length| plain(inside + length))
            }
            _ => end,
        }
    }

    /// True if a separator ends the option that begins after another one.
    fn ends(self, url: &str, begins: usize, is_secret: bool, at: usize) -> bool {
        let sign = |at: usize| url.as_bytes()[at];
        match (self, is_secret) {
            (Form::Jdbc, false) => true,
            // A driver uses one of the separators, and the others may be part of a password.
            (Form::Jdbc, true) if sign(begins) == b';' => {
                sign(at) == b';' || sign(at) == b'?' && Form::all_known(url, at)
            }
            (Form::Own, _) | (Form::Jdbc, true) => sign(at) == b'&',
        }
    }

    /// True if everything from a separator on is options that targets list.
    fn all_known(url: &str, sign: usize) -> bool {
        let given = Form::Own.options(url, sign);
        given.iter().all(|option| is_known(option.name))
    }

    fn is_option(self, name: &str) -> bool {
        match self {
            Form::Own => is_known(name) || is_secret(name),
            Form::Jdbc => is_name(name),
        }
    }
}

/// True if a text can be everything before the options.
fn reads_as_place(place: &str) -> bool {
    let Some(begin) = authority(place) else {
        return true;
    };
    let authority = place[begin..].split('/').next().unwrap_or_default();
    let port = authority.rsplit_once(':').map_or("", |(_, port)| port);
    place[begin..].contains('@')
        || authority.ends_with(']')
        || port.bytes().all(|byte| byte.is_ascii_digit())
}

/// The position after the brace that ends a text in braces.
fn closing(text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let brace = from + text[from..].find('}')?;
        if !text[brace + 1..].starts_with('}') {
            return Some(brace + 1);
        }
        from = brace + 2;
    }
}

fn is_name(name: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "_-. ".contains(letter);
    !name.trim().is_empty() && name.chars().all(fits)
}

/// True if some target lists an option of that name.
fn is_known(name: &str) -> bool {
    let mut options = crate::listings().flat_map(|listing| listing.options);
    is_secret(name) || options.any(|option| option.name == name)
}

fn is_secret(option: &str) -> bool {
    let option = option.trim().to_ascii_lowercase();
    is_name(&option)
        && (option.ends_with("password") || matches!(option.as_str(), "pwd" | "passwd" | "pass"))
}

/// The start of the login or the host of a URL, if it has any.
fn authority(url: &str) -> Option<usize> {
    let begins = |sign: &str| url.find(sign).map(|at| at + sign.len());
    begins("://").or_else(|| begins(":thin:"))
}

/// Schemes of servers' URLs, in addition to those of the listings.
const SERVERS: [&str; 3] = ["rediss", "etcds", "postgresql"];

/// The position after the scheme of a server's URL; `None` for any other URL.
pub(super) fn after_scheme(url: &str) -> Option<usize> {
    let (name, _) = url.split_once(':')?;
    let mut listed = crate::listings().filter(|listing| listing.form.contains("://"));
    let is_server = SERVERS.contains(&name) || listed.any(|listing| listing.name == name);
    is_server.then_some(name.len() + 1)
}

/// The password between user and host of a URL without options; it ends at the last @.
fn after_user(url: &str) -> Option<Secret> {
    let Some(begin) = authority(url) else {
        // In a malformed URL, user and password cannot be separated.
        let begin = after_scheme(url)?;
        let host = begin + url[begin..].rfind('@')?;
        return Some(Secret { text: begin..host, whole: begin..host });
    };
    let Some(host) = url[begin..].rfind('@').map(|at| begin + at) else {
        return without_host(url, begin);
    };
    let sign = if url[..begin].ends_with("://") { ':' } else { '/' };
    let sign = begin + url[begin..host].find(sign)?;
    Some(Secret { text: sign + 1..host, whole: sign..host })
}

/// The password of a login without an end, at the position of a port.
fn without_host(url: &str, begin: usize) -> Option<Secret> {
    let authority = url[begin..].split('/').next().unwrap_or_default();
    let (host, port) = authority.rsplit_once(':')?;
    if authority.ends_with(']') || port.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let sign = begin + host.find(':').unwrap_or(host.len());
    Some(Secret { text: sign + 1..url.len(), whole: sign..url.len() })
}

/// How the text of a password is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PasswordEncoding {
    /// Percent-encoded, as a login or one of our options.
    Coded,
    /// Literal, in an attribute that a JDBC driver parses itself.
    Attribute,
    /// Literal, in the login of a driver's own form.
    Login,
}

/// How the password at a position is encoded.
pub(super) fn password_encoding(url: &str, at: usize) -> PasswordEncoding {
    let before = &url[..at];
    if Form::of(url) == Form::Own || before.contains('?') || !before.contains([';', '/']) {
        return PasswordEncoding::Coded;
    }
    match (before.rfind(';'), authority(url)) {
        (None, Some(begin)) if url[..begin].ends_with("://") => PasswordEncoding::Coded,
        (None, _) => PasswordEncoding::Login,
        (Some(_), _) => PasswordEncoding::Attribute,
    }
}
