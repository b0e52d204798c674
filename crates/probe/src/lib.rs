//! What a directory can durably complete: its device, its sync methods, its sync line.
//!
//! [`probe`] runs a [`Plan`] in one or several directories and returns a [`ProbeResult`] for each: the
//! facts of what lies below with who says them, a cell for each way to sync, `line_1` and `line_max`,
//! reads and transfers, and a verdict with its reason. [`mod@record`] makes the saved record of it.
//! The classic log writer is [`WriteTest`].
//!
//! Nothing is printed, no setting is changed, and no file of anyone else is touched. A caller that
//! ends the process itself calls [`remove_all`] first.

mod device;
mod directory_probe;
mod disk_counters;
mod error;
mod estimate;
mod fio;
mod measure;
mod notes;
mod plan;
mod probe;
pub mod record;
mod result;
mod scratch;
mod sync_line;
mod verdict;
mod writetest;

#[cfg(test)]
mod test_support;

pub use device::inspect;
pub use error::{Error, Result};
pub use estimate::{ASSUMED_BYTES_PER_S, ASSUMED_SYNCS_PER_S, Estimate};
pub use fio::fio_command;
pub use plan::{MethodChoice, Plan, PlanKind, Span, Step, SyncStep};
pub use probe::{Observer, Progress, Silent, probe};
pub use result::*;
pub use scratch::remove_all;
pub use verdict::{VerdictInput, verdicts};
pub use writetest::{MAX_BYTES, WriteTest, WriteTestResult};

#[cfg(test)]
pub(crate) use test_support::test_folder;
