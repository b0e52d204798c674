//! Is what was acknowledged still there?
//!
//! A store is made in a folder of our own and loaded by clients whose every row is known. An
//! acknowledgement is the success of COMMIT itself. Then the ladder of evidence is climbed as far as
//! this machine lets it: processes are killed; the power goes, on a file system of our own
//! ([`power`](crate::power)); faults strike while the store runs. What is there afterwards is read back
//! through the same sessions and judged. A setting of the store that must lose, and one that must hold,
//! are tested beside it: a test that cannot see a loss says so.
//!
//! The store runs in child processes of this very program, which can be killed, can crash and can hang.
//!
//! | file | what stands in it |
//! |---|---|
//! | `transaction_load.rs` | the rows by which loss shows |
//! | `child_protocol.rs`, `child_main.rs`, `child_process.rs` | what a child is told, does and answers |
//! | `adapter.rs`, `adapters/` | what differs between stores, a file each |
//! | `test_store.rs` | a store made, loaded, cut off, looked at |
//! | `outcome.rs` | one image or kill, judged |
//! | `process_kills.rs`, `crash_images.rs`, `fault_injection.rs` | the rungs: kills, losses of power, faults |
//! | `power_cuts.rs`, `cut_points.rs`, `header_writes.rs` | where a recording is cut, and what each cut takes |
//! | `independent_trials.rs` | what of it is independent of the rest |
//! | `live_fault.rs` | a fault armed and waited for |
//! | `crash_history.rs`, `recovered_history.rs`, `list_tasks.rs` | histories of lists that go on behind a crash |
//! | `failing_images.rs` | failing images, kept and looked at again |
//! | `replica.rs` | a replica of a server that others use |
//! | `check.rs` | the whole, and its controls |
//! | `finding.rs`, `sentences.rs` | the record, the verdict, and both in words |

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
pub use crash_history::{CrashHistory, CrashHistoryVerdict, across};
pub use crash_images::{Exercised, Images};
pub use failing_images::{Case, kept, recheck_images};
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
