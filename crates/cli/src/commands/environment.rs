//! Facts about the machine and the program that every measuring command records.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use syncline_console::CannotRun;
use syncline_instrument::clock;
use syncline_record::{Identity, Machine};
use syncline_runner::record::machine_from;

/// The machine, for a record.
pub(super) fn machine() -> Machine {
    let facts = syncline_host::Machine::read(Path::new("/"));
    Machine { host: host(), ..machine_from(&facts) }
}

/// The host's name.
pub(super) fn host() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let name = name.trim().to_owned();
    (!name.is_empty()).then_some(name)
}

/// The tag of this command's records, if one was typed.
static TAG: OnceLock<String> = OnceLock::new();

/// Sets the tag of all records that this command writes.
pub(crate) fn set_tag(tag: &str) {
    // The command line is parsed once.
    drop(TAG.set(tag.to_owned()));
}

/// The identity of a new record; `number` distinguishes the records of one command.
pub(super) fn identity(kind: &str, number: u64) -> Identity {
    let salt = u64::from(std::process::id()) << 16 | number;
    let mut identity = Identity::new(kind, clock::wall(), salt);
    identity.command = Some(crate::secrets::command_line());
    identity.tag = TAG.get().cloned();
    identity
}

/// The absolute path without links, which is valid from any working directory.
pub(super) fn real(path: &Path) -> Result<PathBuf, CannotRun> {
    path.canonicalize()
        .map_err(|error| CannotRun(format!("cannot find {}: {error}", path.display())))
}

/// Refuses a path that is not a directory, before anything is written.
pub(super) fn must_be_directory(path: &Path) -> Result<(), CannotRun> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(CannotRun(format!("{} is not a directory", path.display()))),
        Err(error) => Err(CannotRun(format!("cannot read {}: {error}", path.display()))),
    }
}
