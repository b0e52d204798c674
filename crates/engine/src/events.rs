//! What operators learn while a database runs: events of the `tracing` crate, under the feature `tracing`.
//! Without it the functions are empty.
//!
//! All events have the target `syncline_engine`. Nothing is reported per commit: an event costs more than a
//! commit does, and [`Stats`](crate::Stats) counts them.
//!
//! | event | level | fields |
//! |---|---|---|
//! | `database opened` | info | `directory`, `redone_commits`, `redone_rows` |
//! | `checkpoint finished` | debug | `csn`, `file_bytes`, `ms` |
//! | `checkpoint abandoned` | warn | `because` |
//! | `log segment not archived` | warn | `because`; at the first failure in a row |
//! | `database closed by a failure` | error | `because` |

#![cfg_attr(
    not(feature = "tracing"),
    allow(unused_variables, reason = "without the feature nothing is reported")
)]

use crate::ids::Csn;
use std::path::Path;
use syncline_instrument::clock::Nanos;

/// A database was opened or made.
pub(crate) fn opened(directory: &Path, commits: u64, rows: u64) {
    #[cfg(feature = "tracing")]
    tracing::info!(
        target: "syncline_engine",
        directory = %directory.display(),
        redone_commits = commits,
        redone_rows = rows,
        "database opened"
    );
}

/// A checkpoint came into force, so long after its snapshot.
pub(crate) fn checkpoint_finished(csn: Csn, file_bytes: u64, span: Nanos) {
    #[cfg(feature = "tracing")]
    tracing::debug!(
        target: "syncline_engine",
        csn = csn.0,
        file_bytes,
        ms = span / 1_000_000,
        "checkpoint finished"
    );
}

/// A checkpoint was given up; another one will be tried.
pub(crate) fn checkpoint_abandoned(because: &str) {
    #[cfg(feature = "tracing")]
    tracing::warn!(target: "syncline_engine", because, "checkpoint abandoned");
}

/// A segment of the log could not be archived; it will be tried again.
pub(crate) fn not_archived(because: &str) {
    #[cfg(feature = "tracing")]
    tracing::warn!(target: "syncline_engine", because, "log segment not archived");
}

/// A failure has closed the log, so that nothing can be committed any more.
pub(crate) fn failed(because: &str) {
    #[cfg(feature = "tracing")]
    tracing::error!(target: "syncline_engine", because, "database closed by a failure");
}
