//! Does a disk keep what it reported as stable when its plug is pulled?
//!
//! The test needs two machines. On the machine under test the *writer* writes self-describing blocks and
//! syncs each by one method. After the sync has returned, and before the next block is begun, it sends the
//! *witness* on the other machine a *promise*. The witness keeps promises where the cut cannot reach them. A
//! *cut* ends a run without warning: a process kill, a machine kill or a pulled plug. Afterwards the check
//! reads the blocks and compares them with the promises.
//!
//! ```text
//!  writer                                   witness
//!    write block n, sync  -> stable?
//!    write control block n, no sync
//!    promise n, checksum  ----------------> kept: written and synced, many at once
//!    promise n, checksum  ----------------> appended and synced, many at once
//!    write block n + 1 ...          <------ kept n
//!    ** the plug is pulled **               the connection goes silent
//!    ask                  ----------------> the run and its promises
//!    ask                  ----------------> the run and its promises
//!    judged               ----------------> kept: several cuts add up
//!    judged               ----------------> recorded: several cuts add up
//!
//! Invariants:
//! 1. A block is begun only after the sync of the previous one has returned. So at most one block is in
//!    flight at a cut, and a block that is present proves that all earlier ones were synced.
//! 2. A promise that the witness has acknowledged survives the witness's own power loss. A promise that
//!    it never received makes the test weaker, never wrong.
//! 3. The witness may lag behind the writer by a few promises. Waiting for each one would give the device
//!    time to empty its cache, and hide the losses that the test is for.
//! 4. The kind of cut follows from the evidence: the same boot means a process kill, and a connection that
//!    a running kernel closed means no cut. Only the operator knows that the plug was pulled and not the
//!    reset button.
//!
//! | file | what it holds |
//! |---|---|
//! | `block.rs`, `slot_sequence.rs` | self-describing blocks; where each block goes |
//! | `protocol.rs`, `witness_client.rs` | the messages between writer, checker and witness; the client side |
//! | `test_files.rs`, `writer.rs` | the files in the directory under test; the writer |
//! | `ledger.rs`, `witness.rs` | the witness's files; the witness |
//! | `check.rs`, `judgement.rs`, `cut_kind.rs` | reads the blocks, judges them, derives the kind of cut |
//! | `finding.rs`, `sentences.rs` | the record and the verdict; both as text |
//! | `tests/` | tests with disks that lose data |

mod block;
mod check;
mod cut_kind;
mod finding;
mod judgement;
mod ledger;
mod protocol;
mod sentences;
mod slot_sequence;
mod test_files;
mod witness;
mod witness_client;
mod writer;

#[cfg(test)]
mod tests;

pub use check::{Subject, check};
pub use cut_kind::{Cut, Kind};
pub use finding::{Cuts, FORMAT, Finding, Verdict};
pub use judgement::{Class, Judgement};
pub use witness::Witness;
pub use witness_client::WitnessClient;
pub use writer::{Limit, Method, Plan, WriteResult, write};
