//! Processes that this program starts: servers, their supervisors, helpers.
//!
//! A child inherits only the environment variables that it needs. The environment of this program may hold
//! passwords of other servers (`PGPASSWORD`, `MYSQL_PWD`, the `SYNCLINE_PASSWORD_n` of a URL), and a database
//! server shows its environment to every user who may run a program or a function in it.

use std::ffi::OsStr;
use std::process::Command;

/// Variables that a child inherits: the locations of programs and homes, the language and the time zone.
const INHERITED: [&str; 8] =
    ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "JAVA_HOME", "LD_LIBRARY_PATH"];

/// A command that inherits only the variables in `INHERITED` from this program's environment.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    for name in INHERITED {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::{INHERITED, command};

    // A.E2
    #[test]
    fn a_child_inherits_only_the_listed_variables() {
        let output = command("env").output().unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        let names: Vec<&str> =
            output.lines().filter_map(|line| line.split_once('=').map(|(name, _)| name)).collect();
        assert!(names.contains(&"PATH"), "{output}");
        // The test runner sets CARGO variables, which must not be inherited.
        assert!(std::env::vars_os().count() > names.len());
        for name in names {
            assert!(INHERITED.contains(&name), "{name} was inherited");
        }
    }
}
