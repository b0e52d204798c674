//! Is everything that was acknowledged still there?
//!
//! A store is made in a scratch folder and loaded by clients whose every row is known. An acknowledgement is
//! the success of COMMIT itself. The load is then tested at each level of evidence that this machine permits:
//! processes are killed; the power is cut, on Syncline's own file system ([`power`](crate::power)); faults
//! strike while the store runs. Afterwards the rows are read back through ordinary sessions and judged.
//! Controls, one setting that must lose data and one that must hold, are tested too: they reveal a test that
//! is too weak to detect a loss.
//!
//! The store runs in child processes of this program, which can be killed, crash or hang.
//!
//! | file | what it holds |
//! |---|---|
//! | `transaction_load.rs` | the load, and the check of its rows |
//! | `child_protocol.rs`, `child_main.rs`, `child_process.rs` | tasks and answers; the child's side; the parent's side |
//! | `adapter.rs`, `adapters/` | the differences between stores, one file per store |
//! | `test_store.rs` | makes, loads, kills and reopens a store |
//! | `outcome.rs` | judges one crash image or kill |
//! | `process_kills.rs`, `crash_images.rs`, `fault_injection.rs` | the levels: kills, power losses, faults |
//! | `power_cuts.rs`, `cut_points.rs`, `header_writes.rs` | where a recording is cut, and what each cut loses |
//! | `independent_trials.rs` | the number of independent trials |
//! | `live_fault.rs` | a fault armed and waited for |
//! | `crash_history.rs`, `recovered_history.rs`, `list_tasks.rs` | histories of lists that continue after a crash |
//! | `failing_images.rs` | failing images, kept and rechecked |
//! | `replica.rs` | a replica of a server that others use |
//! | `check.rs` | the whole verification, with its controls |
//! | `finding.rs`, `sentences.rs` | the record and the verdict; both as text |

mod adapter;
mod adapters;
mod check;
mod child_main;
mod child_process;
mod child_protocol;
mod crash_history;
mod crash_images;
mod cut_points;
mod failing_images;
mod fault_injection;
mod finding;
mod header_writes;
mod independent_trials;
mod list_tasks;
mod live_fault;
mod outcome;
mod power_cuts;
mod process_kills;
mod recovered_history;
mod replica;
mod sentences;
mod test_store;
mod transaction_load;

pub use adapter::{Adapter, Expected, Running, Setting};
pub use check::{Request, VERB, parse, place, stores, verify};
pub use child_main::child;
pub use child_process::ChildProgram;
pub use child_protocol::Settings;
pub use crash_history::{CrashHistory, CrashHistoryVerdict, check_crash_histories};
pub use crash_images::{Images, LossCounts};
pub use failing_images::{Case, read_case, recheck_images};
pub use fault_injection::{FaultVerdict, InjectedFault};
pub use finding::{Control, FORMAT, Finding, Verdict};
pub use independent_trials::IndependentTrials;
pub use outcome::{Acknowledged, Class, Outcome};
pub use power_cuts::Cut;
pub use process_kills::KillResults;
pub use recovered_history::RecoveredHistory;
pub use replica::{Replica, ReplicaConfig, like};
pub use test_store::RECORDED_BYTES_MAX;
pub use transaction_load::ClientState;
