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
//! | `work.rs` | the rows by which loss shows |
//! | `task.rs`, `child.rs`, `program.rs` | what a child is told, does and answers |
//! | `adapter.rs`, `adapters/` | what differs between stores, a file each |
//! | `ground.rs` | a store made, loaded, cut off, looked at |
//! | `outcome.rs` | one image or kill, judged |
//! | `kill.rs`, `images.rs`, `live.rs` | the rungs: kills, losses of power, faults |
//! | `cuts.rs`, `places.rs`, `heads.rs` | where a recording is cut, and what each cut takes |
//! | `independent.rs` | what of it is independent of the rest |
//! | `meddling.rs` | a fault armed and waited for |
//! | `across.rs`, `behind.rs`, `lists.rs` | histories of lists that go on behind a crash |
//! | `kept.rs` | failing images, kept and looked at again |
//! | `like.rs` | a twin of a server that others use |
//! | `check.rs` | the whole, and its controls |
//! | `finding.rs`, `sentences.rs` | the record, the verdict, and both in words |

mod across;
mod adapter;
mod adapters;
mod behind;
mod check;
mod child;
mod cuts;
mod finding;
mod ground;
mod heads;
mod images;
mod independent;
mod kept;
mod kill;
mod like;
mod lists;
mod live;
mod meddling;
mod outcome;
mod places;
mod program;
mod sentences;
mod task;
mod work;

pub use across::{Across, AcrossVerdict, across};
pub use adapter::{Adapter, Expected, Running, Setting};
pub use behind::Behind;
pub use check::{Request, VERB, parse, place, stores, verify};
pub use child::child;
pub use cuts::Cut;
pub use finding::{Control, FORMAT, Finding, Verdict};
pub use ground::RECORDED_BYTES_MAX;
pub use images::{Exercised, Images};
pub use independent::Independent;
pub use kept::{Case, kept, look_again};
pub use kill::Kills;
pub use like::{Like, Twin, like};
pub use live::{FaultVerdict, Struck};
pub use outcome::{Acknowledged, Class, Outcome};
pub use program::Program;
pub use task::Settings;
pub use work::ClientState;
