//! Processes that this program starts: servers, their supervisors and other programs.
//!
//! A child process gets only the environment variables that it needs. The environment of this program may
//! contain passwords of other servers (`PGPASSWORD`, `MYSQL_PWD`, the `SYNCLINE_PASSWORD_n` of a URL), and
//! everyone who may run a program or a function in a database server can read that server's environment.

use std::ffi::OsStr;
use std::process::Command;

/// The variables that a child process inherits: paths of programs and directories, language, time zone.
const INHERITED: [&str; 8] =
    ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "JAVA_HOME", "LD_LIBRARY_PATH"];

/// A command whose environment contains only the variables in `INHERITED`.
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
        // The test runner sets CARGO variables, which the child must not inherit.
        assert!(std::env::vars_os().count() > names.len());
        for name in names {
            assert!(INHERITED.contains(&name), "{name} was inherited");
        }
    }
}
