//! What a directory can durably complete: its device, its sync methods, its sync line.
//!
//! [`probe`] runs a [`Plan`] in one or several directories and returns a [`ProbeResult`] for each: the
//! facts of what lies below with who says them, a cell for each way to sync, `line_1` and `line_max`,
//! reads and transfers, and a verdict with its reason. [`faster_than_line`] is the one rule that
//! judges a store's rate by that line. Beside it stand the classic log writer ([`WriteTest`]), the
//! data sheet's access time ([`DiskModel`]) and a drive's endurance ([`Rating`]).
//!
//! Nothing is printed, no setting is changed, and no file of anyone else is touched. A caller that
//! ends the process itself calls [`remove_all`] first.

mod access_time;
mod device;
mod directory_probe;
mod disk_counters;
mod endurance;
mod error;
mod estimate;
mod fio;
mod measure;
mod notes;
mod plan;
mod probe;
mod rate_rule;
mod result;
mod scratch;
mod sync_line;
mod verdict;
mod writetest;

#[cfg(test)]
mod test_support;

pub use access_time::{AccessTime, DiskModel};
pub use device::inspect;
pub use endurance::Rating;
pub use error::{Error, Result};
pub use estimate::{ASSUMED_BYTES_PER_S, ASSUMED_SYNCS_PER_S, Estimate};
pub use fio::fio_command;
pub use plan::{MethodChoice, Plan, PlanKind, Span, Step, SyncStep};
pub use probe::{Observer, Progress, Silent, probe};
pub use rate_rule::{FasterThanLine, faster_than_line};
pub use result::*;
pub use scratch::remove_all;
pub use verdict::{VerdictInput, verdicts};
pub use writetest::{MAX_BYTES, WriteTest, WriteTestResult};

#[cfg(test)]
pub(crate) use test_support::test_folder;
