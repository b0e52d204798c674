//! Checks the number of clients before a command allocates anything per client.

use syncline_console::CannotRun;
use syncline_runner::CLIENTS_MAX;

/// The number as given to `flag`, if a run may have that many clients.
pub(super) fn clients(flag: &str, typed: u64) -> Result<usize, CannotRun> {
    let count = usize::try_from(typed).ok();
    let count = count.filter(|count| *count <= CLIENTS_MAX);
    count.ok_or_else(|| CannotRun(format!("{flag}: a run has at most {CLIENTS_MAX} clients")))
}
