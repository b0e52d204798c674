//! Passwords, and how a URL is shown without them; `url_secrets.rs` finds them.
//!
//! A password follows the user (`postgres://user:PASSWORD@host/`, `jdbc:oracle:thin:user/PASSWORD@`) or
//! is the value of an option whose name says so (`password=`, `sslpassword=`, `pwd=`). There `${NAME}`
//! is replaced with the environment variable of that name, so that the password need not appear in a
//! script, a history or the process list. [`without_secrets`] replaces passwords with such names.
//!
//! The value of a variable is the literal password, whatever characters it has: it is never parsed as a
//! part of the URL.

use super::url_secrets::{PasswordEncoding, after_scheme, password_encoding, secrets};
use crate::error::Error;
use std::fmt;
use syncline_contract::decoded;

/// A password. Its debug output does not contain it.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Password {
        Password(text.into())
    }

    /// The text, to send it to the server.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(not shown)")
    }
}

/// A URL as messages and records show it: every password is removed, with the separator before it.
pub fn redacted_url(url: &str) -> String {
    let mut shown = url.to_owned();
    for secret in secrets(url).into_iter().rev() {
        shown.replace_range(secret.whole, "");
    }
    // Of options only the separators may be left.
    let tidy = shown.replace("?&", "?").replace("&&", "&");
    tidy.trim_end_matches(['?', '&']).to_owned()
}

/// The URL with every password in it replaced by `${NAME}`, where `name` returns each NAME; and the
/// passwords, by name. Existing `${NAME}` forms stay.
pub fn without_secrets(
    url: &str,
    mut name: impl FnMut() -> String,
) -> (String, Vec<(String, String)>) {
    let (mut text, mut taken) = (url.to_owned(), Vec::new());
    for secret in secrets(url).into_iter().rev() {
        let password = &url[secret.text.clone()];
        if variable(password).is_none() && !password.is_empty() {
            let name = name();
            // A variable holds the decoded password. A malformed encoding is taken literally.
            let meant = match password_encoding(url, secret.text.start) {
                PasswordEncoding::Coded => decoded(password),
                PasswordEncoding::Attribute | PasswordEncoding::Login => None,
            };
            taken.push((name.clone(), meant.unwrap_or_else(|| password.to_owned())));
            text.replace_range(secret.text, &format!("${{{name}}}"));
        }
    }
    (text, taken)
}

/// The URL with every password of the form `${NAME}` replaced by its value in `variables`, which is the
/// environment except in tests.
pub fn expand_variables(
    url: &str,
    variables: impl Fn(&str) -> Option<String>,
) -> Result<String, Error> {
    let (mut text, mut options) = (url.to_owned(), String::new());
    for secret in secrets(url).into_iter().rev() {
        let Some(name) = variable(&url[secret.text.clone()]) else {
            continue;
        };
        let value = variables(name).ok_or_else(|| Error::NoVariable { name: name.to_owned() })?;
        match password_encoding(url, secret.text.start) {
            PasswordEncoding::Coded => text.replace_range(secret.text, &percent_encoded(&value)),
            // The driver gets it as a property, since it would parse the value in the URL.
            PasswordEncoding::Attribute => {
                let option = url[secret.whole.start + 1..secret.text.start].trim_end_matches('=');
                let ours = if option.eq_ignore_ascii_case("password") {
                    "password".to_owned()
                } else {
                    format!("property.{option}")
                };
                options.push_str(&format!("&{ours}={}", percent_encoded(&value)));
                text.replace_range(secret.whole, "");
            }
            PasswordEncoding::Login if value.contains(['@', '/', '?', '%', ';', '&']) => {
                return Err(Error::NotHonoured {
                    target: "jdbc",
                    what: format!(
                        "the value of ${{{name}}} has characters that would end the login in this driver's URL; \
                         use password=${{{name}}}"
                    ),
                });
            }
            PasswordEncoding::Login => text.replace_range(secret.text, &value),
        }
    }
    if !options.is_empty() {
        let sign = if text.contains('?') { "&" } else { "?" };
        text.push_str(sign);
        text.push_str(&options[1..]);
    }
    Ok(text)
}

/// True if a text begins like the URL of a server, so that it may contain a password.
pub fn names_server(text: &str) -> bool {
    text.contains("://") || text.contains("jdbc:") || after_scheme(text).is_some()
}

/// A value as it appears in a URL: every character with a meaning there is percent-encoded.
pub fn percent_encoded(value: &str) -> String {
    percent_encoded_except(value, b"-._~")
}

/// As [`percent_encoded`], for a path, whose slashes stay.
pub fn percent_encoded_path(path: &str) -> String {
    percent_encoded_except(path, b"-._~/")
}

fn percent_encoded_except(value: &str, kept: &[u8]) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

fn variable(text: &str) -> Option<&str> {
    text.strip_prefix("${")?.strip_suffix('}')
}

#[cfg(test)]
mod tests {
    use super::{Password, expand_variables, percent_encoded, redacted_url, without_secrets};
    use crate::url::Url;
    use syncline_contract::decoded;

    #[test]
    fn no_url_is_shown_with_a_password() {
        for (url, expected) in [
            (
                "postgres://bob:secret@host:5432/db?durability=data",
                "postgres://bob@host:5432/db?durability=data",
            ),
            ("postgres://bob@host/db", "postgres://bob@host/db"),
            ("mysql://host/db?password=secret&durability=os", "mysql://host/db?durability=os"),
            ("mysql://host/db?durability=os&PASSWORD=secret", "mysql://host/db?durability=os"),
            (
                "jdbc:sqlserver://host:1433;user=sa;password=secret;encrypt=true",
                "jdbc:sqlserver://host:1433;user=sa;encrypt=true",
            ),
            (
                "jdbc:postgresql://host/db?user=a&password=secret",
                "jdbc:postgresql://host/db?user=a",
            ),
            ("jdbc:oracle:thin:scott/secret@//host:1521/x", "jdbc:oracle:thin:scott@//host:1521/x"),
            (
                "jdbc:sqlserver://host:1433;user=sa;password={secret;se}}cret};encrypt=true",
                "jdbc:sqlserver://host:1433;user=sa;encrypt=true",
            ),
            (
                "jdbc:sqlserver://host:1433;user=me@corp;password=secret;secret",
                "jdbc:sqlserver://host:1433;user=me@corp",
            ),
            ("jdbc:sqlserver://host;password={secret;secret=1", "jdbc:sqlserver://host"),
            (
                "jdbc:mysql://bob:se;cret@host/db?password=secret&useSSL=false",
                "jdbc:mysql://bob@host/db?useSSL=false",
            ),
            (
                "jdbc:oracle:thin:scott/se;cr?et@//host:1521/x",
                "jdbc:oracle:thin:scott@//host:1521/x",
            ),
            (
                "jdbc:derby://host:1527/db;user=bob;password=se&c=ret;create=true",
                "jdbc:derby://host:1527/db;user=bob;create=true",
            ),
            (
                "jdbc:mysql://host/db?user=bob&password=se;c=ret&useSSL=false",
                "jdbc:mysql://host/db?user=bob&useSSL=false",
            ),
            (
                "jdbc:derby:/tmp/x;create=true;password=secret?isolation=serializable&durability=os",
                "jdbc:derby:/tmp/x;create=true?isolation=serializable&durability=os",
            ),
            ("jdbc:derby:/tmp/x;password=se?c=ret", "jdbc:derby:/tmp/x"),
            (
                "jdbc:h2:/tmp/x;A=b?driver=/a.jar&password=secret",
                "jdbc:h2:/tmp/x;A=b?driver=/a.jar",
            ),
            ("jdbc:h2:/tmp/x;A=b?password=secret", "jdbc:h2:/tmp/x;A=b"),
            ("redis://:secret@host", "redis://@host"),
            ("postgres://bob:s/ec@ret@host/db", "postgres://bob@host/db"),
            ("sqlite:/data/a@b:c.db?durability=data", "sqlite:/data/a@b:c.db?durability=data"),
            ("jdbc:h2:/tmp/x;sslPassword=secret", "jdbc:h2:/tmp/x"),
            ("postgres://h/db?password=secret", "postgres://h/db"),
        ] {
            assert_eq!(redacted_url(url), expected, "{url}");
        }
        assert!(!format!("{:?}", Password::new("secret")).contains("secret"));
    }

    /// Passwords with characters that have a meaning in a URL, alone and combined.
    const SIGNED: [&str; 15] = [
        "se;cret",
        "se?cret",
        "se#cret",
        "se&cret",
        "se@cret",
        "se%cret",
        "se/cret",
        "se:cret",
        "se;c=ret",
        "se?c=ret",
        "12?c=ret",
        "se@x?c=ret",
        "se&c=ret",
        "s@e/c@ret",
        "s?e;c#r&e@t%",
    ];

    #[test]
    fn a_password_with_any_characters_is_hidden_completely() {
        for password in SIGNED {
            for rest in ["host", "host:5432/db", "[::1]:7/db?durability=data"] {
                let url = format!("postgres://bob:{password}@{rest}");
                assert_eq!(redacted_url(&url), format!("postgres://bob@{rest}"), "{url}");
                let (hidden, taken) = without_secrets(&url, || "P".to_owned());
                assert_eq!(hidden, format!("postgres://bob:${{P}}@{rest}"), "{url}");
                assert_eq!(taken, [("P".to_owned(), password.to_owned())]);
                // B.F8: it is restored completely, as a value and not as a part of the URL.
                let back = expand_variables(&hidden, |_| Some(password.to_owned())).unwrap();
                assert_eq!(back, format!("postgres://bob:{}@{rest}", percent_encoded(password)));
                assert_eq!(decoded(&percent_encoded(password)).as_deref(), Some(password));
            }
        }
    }

    #[test]
    fn a_password_that_looks_like_an_option_is_hidden() {
        let result = redacted_url("postgres://bob:?password=secret@host");
        assert!(!result.contains("secret") && !result.contains("host"), "{result}");
    }

    #[test]
    fn a_password_among_the_options_is_hidden_completely() {
        for password in ["se;cret", "se?cret", "se#cret", "se&cret", "se@cret", "se&c=ret"] {
            for place in ["mysql://host/db", "mysql://host:3306/db", "mysql://bob@host/db"] {
                let url = format!("{place}?password={password}&durability=os");
                assert_eq!(redacted_url(&url), format!("{place}?durability=os"), "{url}");
                let broken = format!("{place}?novalue&password={password}");
                let result = redacted_url(&broken);
                assert!(!result.contains("ret"), "{broken}: {result}");
            }
        }
    }

    #[test]
    fn parts_that_are_not_passwords_are_shown() {
        for url in [
            "postgres://bob@host:5432/db?socket=/run/a:b@c&durability=data",
            "postgres://host:5432/db?schema=a?b",
            "redis://[::1]/3?tls_roots=/a@b.pem",
            "jdbc:h2:/tmp/a@b:c;DB_CLOSE_DELAY=-1;",
            "jdbc:derby:/tmp/x;create=true",
        ] {
            assert_eq!(redacted_url(url), url);
        }
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
        assert_eq!(expand_variables(&text, value).unwrap(), url);
        let (again, none) =
            without_secrets(&text, || unreachable!("all passwords are replaced already"));
        assert_eq!((again.as_str(), none.len()), (text.as_str(), 0));
        let missing = expand_variables(&text, |_| None).unwrap_err().to_string();
        assert!(
            missing.contains("takes a password by ${P1}") && !missing.contains("postgres:"),
            "{missing}: the error must not show the rewritten URL"
        );
    }

    // B.F8
    #[test]
    fn the_value_of_a_variable_is_never_parsed_as_a_part_of_the_url() {
        let password = "p@ss/w?rd#%41:x y$;&{}=";
        for (url, option) in [
            ("postgres://ops:${P}@127.0.0.1:6502/shop", None),
            ("mysql://h/db?password=${P}&durability=os", Some("password")),
            (
                "jdbc:derby://h:1/db;user=u;password=${P};create=true?driver=/d.jar",
                Some("password"),
            ),
            ("jdbc:sqlserver://h:1;keyStorePassword=${P}", Some("property.keyStorePassword")),
            ("jdbc:postgresql://h/db?user=u&password=${P}", Some("password")),
        ] {
            let text = expand_variables(url, |_| Some(password.to_owned())).unwrap();
            let taken = Url::parse(&text).unwrap();
            let found = if let Some(option) = option {
                taken.option(option).map(str::to_owned)
            } else {
                let raw = taken.raw_path.unwrap();
                let login = raw.trim_start_matches('/').split('@').next().unwrap();
                let password = login.split_once(':').map(|(_, password)| password);
                password.and_then(decoded)
            };
            assert_eq!(found.as_deref(), Some(password), "{url}: {text}");
            assert!(!redacted_url(&text).contains("p%40ss"), "{url}");
        }
        let login = "jdbc:oracle:thin:scott/${P}@//h:1521/x";
        let refused =
            expand_variables(login, |_| Some(password.to_owned())).unwrap_err().to_string();
        assert!(refused.contains("password=${P}") && !refused.contains("w?rd"), "{refused}");
    }

    // A.E8
    #[test]
    fn a_password_typed_without_its_at_or_slashes_is_hidden() {
        for (url, expected) in [
            ("postgres://user:PW", "postgres://user"),
            ("postgres://user:PW/db", "postgres://user"),
            ("postgres://user:P:W", "postgres://user"),
            ("postgres:/u:PW@h", "postgres:@h"),
            ("mysql:u:PW@h/db", "mysql:@h/db"),
            ("rediss:/:P@W@h", "rediss:@h"),
            ("postgres://h:5432/db", "postgres://h:5432/db"),
            ("postgres://[::1]", "postgres://[::1]"),
            ("sqlite:/data/a:b@c.db", "sqlite:/data/a:b@c.db"),
        ] {
            assert_eq!(redacted_url(url), expected, "{url}");
        }
    }

    #[test]
    fn a_dollar_outside_of_a_password_is_literal() {
        let url = "sqlite:/data/${HOME}/x.db";
        assert_eq!(expand_variables(url, |_| None).unwrap(), url);
    }
}
