//! Starts the program in its own directory and reads what it left there.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// A new directory on the disk of the build, not in a memory file system.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// The program, to be started in that directory.
pub(crate) fn program(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_syncline"));
    command.current_dir(folder).args(line.split_whitespace());
    command.stdin(Stdio::null()).env("NO_COLOR", "1").env_remove("RUST_BACKTRACE");
    command
}

/// Starts the program in that directory with both outputs captured.
pub(crate) fn start(folder: &Path, line: &str) -> Child {
    program(folder, line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Interrupts the program like Ctrl-C.
pub(crate) fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

/// The program's output and exit code.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl ProgramOutput {
    pub(crate) fn of(output: Output) -> ProgramOutput {
        ProgramOutput {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The output of a started program, once it has ended.
    pub(crate) fn after(child: Child) -> ProgramOutput {
        ProgramOutput::of(child.wait_with_output().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Runs the program to its end, and checks its records.
pub(crate) fn syncline(folder: &Path, line: &str) -> ProgramOutput {
    let result = ProgramOutput::of(program(folder, line).output().unwrap());
    check_records(folder);
    result
}

/// Checks that the figures of every record in the directory agree with each other. Unreadable records
/// are checked by other tests.
pub(crate) fn check_records(folder: &Path) {
    for path in records(folder) {
        let Ok(syncline_record::Record::Run(run)) = syncline_record::read(&path) else {
            continue;
        };
        let found = syncline_record::violations(&run);
        assert!(found.is_empty(), "{}: {found:?}", path.display());
    }
}

/// A run that is as short as possible.
#[allow(dead_code, reason = "the tests of servers share this file and need no such run")]
pub(crate) fn quick_run(folder: &Path, line: &str) -> ProgramOutput {
    syncline(folder, &format!("run insert --warm-up 0 --line none {line}"))
}

/// The record files in the directory, oldest first.
pub(crate) fn records(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder.join("syncline-runs")) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    // Names only have a resolution of a second, which two short runs may share.
    paths.sort_by_cached_key(|path| {
        (path.metadata().and_then(|file| file.modified()).ok(), path.clone())
    });
    paths
}

/// All names in the directory except the records, which a run should have removed.
pub(crate) fn left_behind(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name != "syncline-runs").collect()
}

/// The figure at a path like `outcomes.committed`.
pub(crate) fn figure(record: &Value, path: &str) -> f64 {
    let found = path.split('.').fold(record, |value, name| &value[name]);
    found.as_f64().unwrap_or_else(|| panic!("{path} is {found}"))
}
