//! How many clients there may be: looked at before a door keeps anything a client.

use syncline_console::CannotRun;
use syncline_runner::CLIENTS_MAX;

/// That many clients, if a run may have them; `flag` is where the number was typed.
pub(super) fn clients(flag: &str, typed: u64) -> Result<usize, CannotRun> {
    let count = usize::try_from(typed).ok();
    let count = count.filter(|count| *count <= CLIENTS_MAX);
    count.ok_or_else(|| CannotRun(format!("{flag}: a run has at most {CLIENTS_MAX} clients")))
}
