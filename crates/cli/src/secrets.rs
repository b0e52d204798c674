//! Removes passwords from the command line before anything else happens.
//!
//! Other users can read command lines in the process list, but not the environment. So a password in a URL,
//! or after an option such as `--mysql-password=`, moves into an environment variable,
//! `${SYNCLINE_PASSWORD_1}` replaces it, and the program executes itself again with that command line. Until
//! then the password was visible for a moment; `password-file=`, the product's own variable and `${NAME}`
//! never show it.

use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::process::Command;
use syncline_console::terminal;
use syncline_stores::libpq;
use syncline_stores::server::{names_server, redacted_url, without_secrets};

/// The beginning of the names of our own variables.
const OWN_VARIABLE: &str = "${SYNCLINE_PASSWORD_";

/// Executes the program again without passwords in its command line; returns if there were none.
pub(crate) fn hide() {
    let mut taken = Vec::new();
    let mut arguments = Vec::new();
    for argument in std::env::args_os() {
        let Some(text) = argument.to_str() else {
            arguments.push(argument);
            continue;
        };
        if let Some((before, string)) = conninfo(text) {
            let mut hidden = string.to_owned();
            for secret in libpq::secrets(string).into_iter().rev() {
                let name = format!("SYNCLINE_PASSWORD_{}", taken.len() + 1);
                let password = plain(&string[secret.clone()]);
                hidden.replace_range(secret, &format!("${{{name}}}"));
                taken.push((name, password));
            }
            arguments.push(format!("{before}{hidden}").into());
            continue;
        }
        if let Some((option, password)) = option_password(text) {
            let name = format!("SYNCLINE_PASSWORD_{}", taken.len() + 1);
            arguments.push(format!("{option}=${{{name}}}").into());
            taken.push((name, password.to_owned()));
            continue;
        }
        if !names_server(text) {
            arguments.push(argument);
            continue;
        }
        let numbers = &mut (taken.len() + 1..);
        let (hidden, found) = without_secrets(text, || {
            let number = numbers.next().unwrap_or_default();
            format!("SYNCLINE_PASSWORD_{number}")
        });
        taken.extend(found);
        arguments.push(hidden.into());
    }
    if taken.is_empty() {
        return;
    }
    let mut again = Command::new("/proc/self/exe");
    if let Some(name) = arguments.first() {
        again.arg0(name);
    }
    again.args(arguments.iter().skip(1)).envs(taken);
    let error = again.exec();
    terminal::warn(&format!(
        "the password stays visible in the process list, because the program cannot execute itself again \
         ({error}): use password-file= or an environment variable"
    ));
}

/// The part of an argument that is a libpq connection string with a password, and the text before it.
fn conninfo(argument: &str) -> Option<(&str, &str)> {
    let begin = match argument.strip_prefix("--") {
        Some(long) => argument.len() - long.split_once('=')?.1.len(),
        // `-dhost=...`
        None if argument.starts_with('-') => argument.char_indices().nth(2)?.0,
        None => 0,
    };
    let (before, string) = argument.split_at(begin);
    let secrets = libpq::secrets(string);
    let is_typed = |secret: &Range<usize>| {
        let value = &string[secret.clone()];
        !value.is_empty() && !value.starts_with(OWN_VARIABLE)
    };
    // A property or option of another program may be named like a password; that is a single pair.
    let several = string.split('=').nth(2).is_some() || string.trim_start().starts_with("password");
    (several && !names_server(string) && secrets.iter().any(is_typed)).then_some((before, string))
}

/// The value of a connection string's field, without quotes and backslashes.
fn plain(value: &str) -> String {
    let inner =
        value.strip_prefix('\'').map_or(value, |inner| inner.strip_suffix('\'').unwrap_or(inner));
    libpq::unescaped(inner)
}

/// The option and the password of `--mysql-password=SECRET`, unless one of our variables has replaced it.
fn option_password(argument: &str) -> Option<(&str, &str)> {
    let (option, value) = argument.split_once('=')?;
    let name = option.to_ascii_lowercase();
    let is_secret = ["password", "passwd", "pwd"].iter().any(|word| name.ends_with(word));
    let is_typed = !value.is_empty() && !value.starts_with(OWN_VARIABLE);
    (is_secret && is_typed && !names_server(option)).then_some((option, value))
}

/// The command line as records store it.
pub(crate) fn command_line() -> String {
    // An argument that is not valid text, such as a file name, is shown as closely as possible.
    let arguments = std::env::args_os();
    let shown = arguments.map(|argument| {
        let argument = argument.to_string_lossy().into_owned();
        if let Some((before, string)) = conninfo(&argument) {
            let mut shown = string.to_owned();
            for secret in libpq::secrets(string).into_iter().rev() {
                shown.replace_range(secret, "");
            }
            return format!("{before}{shown}");
        }
        match option_password(&argument) {
            Some((option, _)) => format!("{option}="),
            None if names_server(&argument) => redacted_url(&argument),
            None => argument,
        }
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{conninfo, plain};

    /// A.E8: connection strings are words of the command line, too.
    #[test]
    fn a_password_in_a_connection_string_is_found_in_its_argument() {
        for (word, before) in [
            ("host=db password=secret", ""),
            ("password=secret", ""),
            ("--dbname=host=db password=secret", "--dbname="),
            ("-dhost=db password='se cret'", "-d"),
        ] {
            assert_eq!(conninfo(word).map(|(before, _)| before), Some(before), "{word}");
        }
        for word in [
            "host=db dbname=t",
            "host=db password=${SYNCLINE_PASSWORD_1}",
            "--mysql-password=secret",
            "redis.password=secret",
            "postgres://u:p@h/t?a=b&password=c",
            "-i",
            "-",
        ] {
            assert_eq!(conninfo(word), None, "{word}");
        }
        assert_eq!(plain("'it\\'s'"), "it's");
        assert_eq!(plain("a\\ b"), "a b");
    }
}
