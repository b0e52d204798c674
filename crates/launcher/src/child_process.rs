//! Processes that this program starts: servers, their supervisors, helpers.
//!
//! A child sees only the variables that it needs. The environment of this program may hold passwords of
//! other servers (`PGPASSWORD`, `MYSQL_PWD`, the `SYNCLINE_PASSWORD_n` of a URL), and a database server
//! shows its environment to everyone who may run a program or a function in it.

use std::ffi::OsStr;
use std::process::Command;

/// Variables that a child inherits: where programs and homes are, which language and time zone.
const INHERITED: [&str; 8] =
    ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "JAVA_HOME", "LD_LIBRARY_PATH"];

/// A command that runs with nothing of this program's environment but the variables in `INHERITED`.
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
    fn a_child_inherits_named_variables_alone() {
        let output = command("env").output().unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        let names: Vec<&str> =
            output.lines().filter_map(|line| line.split_once('=').map(|(name, _)| name)).collect();
        assert!(names.contains(&"PATH"), "{output}");
        // The test runner itself sets CARGO variables, which are the ones that must not get through.
        assert!(std::env::vars_os().count() > names.len());
        for name in names {
            assert!(INHERITED.contains(&name), "{name} was inherited");
        }
    }
}
