//! Passwords: where they stand in a URL, and how a URL is shown without them.
//!
//! A password stands after the user (`postgres://user:PASSWORD@host/`, `jdbc:oracle:thin:user/PASSWORD@`)
//! or in an option whose name says so (`password=`, `sslpassword=`, `pwd=`). There `${NAME}` stands for
//! the environment variable of that name, so that it need not stand in a script, a history or the
//! process list. [`without_secrets`] puts such names in place of passwords.

use crate::error::Error;
use std::fmt;
use std::ops::Range;

/// A password. It prints as nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Of that text.
    pub fn new(text: impl Into<String>) -> Password {
        Password(text.into())
    }

    /// The text, for whoever sends it to the server.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(not shown)")
    }
}

/// A URL as messages and records show it: every password is gone, with the sign that led to it.
pub fn shown(url: &str) -> String {
    let mut shown = url.to_owned();
    for secret in secrets(url).into_iter().rev() {
        shown.replace_range(secret.whole, "");
    }
    // Of options only what separated them may be left.
    let tidy = shown.replace("?&", "?").replace("&&", "&");
    tidy.trim_end_matches(['?', '&']).to_owned()
}

/// The URL with every password that stands in it written as `${NAME}`, NAME by `name` of the password's
/// number; and the passwords, by name. Those that are written so already stay.
pub fn without_secrets(
    url: &str,
    mut name: impl FnMut() -> String,
) -> (String, Vec<(String, String)>) {
    let (mut text, mut taken) = (url.to_owned(), Vec::new());
    for secret in secrets(url).into_iter().rev() {
        let password = &url[secret.text.clone()];
        if variable(password).is_none() && !password.is_empty() {
            let name = name();
            text.replace_range(secret.text, &format!("${{{name}}}"));
            taken.push((name, password.to_owned()));
        }
    }
    (text, taken)
}

/// The URL with every password that is written `${NAME}` taken from `variables`: the environment, but
/// in tests.
pub fn expanded(url: &str, variables: impl Fn(&str) -> Option<String>) -> Result<String, Error> {
    let mut text = url.to_owned();
    for secret in secrets(url).into_iter().rev() {
        if let Some(name) = variable(&url[secret.text.clone()]) {
            let value = variables(name).ok_or_else(|| Error::NoVariable {
                name: name.to_owned(),
            })?;
            text.replace_range(secret.text, &value);
        }
    }
    Ok(text)
}

fn variable(text: &str) -> Option<&str> {
    text.strip_prefix("${")?.strip_suffix('}')
}

/// A password in a URL, by byte positions.
struct Secret {
    /// Itself.
    text: Range<usize>,
    /// With what goes with it: its sign, its option's name.
    whole: Range<usize>,
}

/// The passwords of a URL, from left to right.
fn secrets(url: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    let options = url.find(['?', ';']).unwrap_or(url.len());
    found.extend(after_user(&url[..options]));
    let mut at = options;
    while at < url.len() {
        // Each option begins with what separates it from the one before.
        let begin = at + 1;
        let end = url[begin..].find(['&', ';']);
        let end = end.map_or(url.len(), |length| begin + length);
        if let Some(equals) = url[begin..end].find('=')
            && is_secret(&url[begin..begin + equals])
        {
            let first = url.as_bytes()[at] == b'?';
            found.push(Secret {
                text: begin + equals + 1..end,
                whole: if first { begin..end } else { at..end },
            });
        }
        at = end;
    }
    found
}

fn is_secret(option: &str) -> bool {
    let option = option.trim().to_ascii_lowercase();
    option.ends_with("password") || matches!(option.as_str(), "pwd" | "passwd" | "pass")
}

/// The password between user and host of a URL without options.
fn after_user(url: &str) -> Option<Secret> {
    if let Some(scheme) = url.find("://") {
        let authority = scheme + 3;
        let end = url[authority..].find('/');
        let end = end.map_or(url.len(), |length| authority + length);
        // A password may hold a slash or an @ by mistake: the last @ of all is the sign, if any.
        let host = url[authority..end]
            .rfind('@')
            .or_else(|| url[authority..].rfind('@'))?;
        let colon = url[authority..authority + host].find(':')?;
        return Some(Secret {
            text: authority + colon + 1..authority + host,
            whole: authority + colon..authority + host,
        });
    }
    let thin = url.find(":thin:")? + ":thin:".len();
    let host = url[thin..].rfind('@')?;
    let slash = url[thin..thin + host].find('/')?;
    Some(Secret {
        text: thin + slash + 1..thin + host,
        whole: thin + slash..thin + host,
    })
}

#[cfg(test)]
mod tests {
    use super::{Password, expanded, shown, without_secrets};

    #[test]
    fn no_url_is_shown_with_a_password() {
        for (url, expected) in [
            (
                "postgres://bob:secret@host:5432/db?durability=data",
                "postgres://bob@host:5432/db?durability=data",
            ),
            ("postgres://bob@host/db", "postgres://bob@host/db"),
            (
                "mysql://host/db?password=secret&durability=os",
                "mysql://host/db?durability=os",
            ),
            (
                "mysql://host/db?durability=os&PASSWORD=secret",
                "mysql://host/db?durability=os",
            ),
            (
                "jdbc:sqlserver://host:1433;user=sa;password=secret;encrypt=true",
                "jdbc:sqlserver://host:1433;user=sa;encrypt=true",
            ),
            (
                "jdbc:postgresql://host/db?user=a&password=secret",
                "jdbc:postgresql://host/db?user=a",
            ),
            (
                "jdbc:oracle:thin:scott/secret@//host:1521/x",
                "jdbc:oracle:thin:scott@//host:1521/x",
            ),
            ("redis://:secret@host", "redis://@host"),
            ("postgres://bob:s/ec@ret@host/db", "postgres://bob@host/db"),
            (
                "sqlite:/data/a@b:c.db?durability=data",
                "sqlite:/data/a@b:c.db?durability=data",
            ),
            ("jdbc:h2:/tmp/x;sslPassword=secret", "jdbc:h2:/tmp/x"),
            ("postgres://h/db?password=secret", "postgres://h/db"),
        ] {
            assert_eq!(shown(url), expected, "{url}");
        }
        assert!(!format!("{:?}", Password::new("secret")).contains("secret"));
    }

    #[test]
    fn passwords_move_out_of_a_url_and_back() {
        let url = "postgres://bob:one@host/db?sslpassword=two";
        let mut count = 0;
        let (text, taken) = without_secrets(url, || {
            count += 1;
            format!("P{count}")
        });
        assert_eq!(text, "postgres://bob:${P2}@host/db?sslpassword=${P1}");
        let value = |name: &str| {
            let found = taken.iter().find(|(taken, _)| taken == name);
            found.map(|(_, password)| password.clone())
        };
        assert_eq!(expanded(&text, value).unwrap(), url);
        let (again, none) = without_secrets(&text, || unreachable!("all are named already"));
        assert_eq!((again.as_str(), none.len()), (text.as_str(), 0));
        let missing = expanded(&text, |_| None).unwrap_err().to_string();
        assert!(
            missing.contains("takes a password by ${P1}") && !missing.contains("postgres:"),
            "{missing}: no URL that nobody typed is shown"
        );
    }

    #[test]
    fn elsewhere_a_dollar_is_a_dollar() {
        let url = "sqlite:/data/${HOME}/x.db";
        assert_eq!(expanded(url, |_| None).unwrap(), url);
    }
}
