//! Measures a directory's disk: its device, its sync methods, its sync line.
//!
//! [`probe`] runs a [`Plan`] in one or several directories and returns a [`ProbeResult`] for each: facts
//! about the layers below with their sources, a cell for each way to sync, `line_1` and `line_max`, reads and
//! transfers, and a verdict with its reason. [`mod@record`] makes the saved record of it. The crate also has
//! the classic log writer ([`WriteTest`]).
//!
//! The crate prints nothing, changes no setting, and touches only its own files. A caller that ends the
//! process itself calls [`remove_all`] first.
//!
//! | file | what it holds |
//! |---|---|
//! | `plan`, `plan_tests`, `estimate` | the steps of a probe, and their cost in time, bytes and space |
//! | `probe`, `probe_tests`, `directory_probe` | the probe of several directories, and of one; its steps for products and loads in `directory_probe_products` |
//! | `fitness` | whether a directory is good enough for a product |
//! | `load` | loads beside which a probe measures |
//! | `over_time` | syncs at a low rate over hours, and their stalls |
//! | `device` | facts about the layers below a directory |
//! | `measure` | files, workers, histograms and windows of a cell |
//! | `disk_counters` | the kernel's counters per sync |
//! | `sync_line`, `verdict`, `verdict_tests`, `notes` | the sync line, verdicts and notes of a result |
//! | `result`, `error` | results and errors |
//! | `fio` | equivalent fio commands |
//! | `scratch` | temporary files, removed in every case |
//! | `record` | the saved record of a result |
//! | `writetest` | the classic log writer |
//! | `test_support` | cells with given figures, and a folder for tests |

mod device;
mod directory_probe;
mod disk_counters;
mod error;
mod estimate;
mod fio;
mod fitness;
mod load;
mod measure;
mod notes;
mod over_time;
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
pub use fitness::{
    Deadline, FITNESS_BUDGET_NS, Position, Product, Shape, Threshold, WriteStep, product, products,
};
pub use load::Load;
pub use over_time::{BESIDE_NS, Phase};
pub use plan::{MethodChoice, Plan, PlanKind, Span, Step, SyncStep};
pub use probe::{Observer, Progress, Silent, probe};
pub use result::*;
pub use scratch::remove_all;
pub use verdict::{VerdictInput, verdicts};
pub use writetest::{MAX_BYTES, WriteTest, WriteTestResult};

#[cfg(test)]
pub(crate) use test_support::test_folder;
