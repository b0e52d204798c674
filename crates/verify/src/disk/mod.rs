//! Does a disk keep what it said was stable, when its plug is pulled?
//!
//! Two machines. On the one under test the *writer* writes blocks that say what they are, makes each
//! stable by one method, and tells the *witness* on the other machine once the sync has returned and
//! before the next block is begun: a promise. The witness keeps promises where the cut cannot reach them.
//! When power is back, the blocks are read and held against what was promised.
//!
//! ```text
//!  writer                                   witness
//!    write block n, sync  -> stable?
//!    write control block n, no sync
//!    promise n, checksum  ----------------> kept: written and synced, many at once
//!    write block n + 1 ...          <------ kept n
//!    ** the plug is pulled **               the connection goes silent
//!  check
//!    ask                  ----------------> the run and its promises
//!    read, judge
//!    judged               ----------------> kept: several cuts add up
//! ```
//!
//! Invariants:
//! 1. A block is begun only when the sync of the one before it has returned. So at most one block is
//!    under way at a cut, and a block that is there says that all before it had been synced.
//! 2. What the witness has answered as kept survives its own loss of power. A promise that it never got
//!    makes the test weaker, never wrong.
//! 3. The witness may lag behind the writer by a few promises: waiting for each would give the device
//!    time to empty its cache, and hide what is looked for.
//! 4. The kind of cut is what the evidence allows: the same boot is a process kill; a connection that a
//!    living kernel closed is no cut; that the plug was pulled, and not the reset button, only the
//!    operator knows.
//!
//! | file | what stands in it |
//! |---|---|
//! | `block.rs`, `slot_sequence.rs` | a block that says what it is; where each block goes |
//! | `protocol.rs`, `witness_client.rs` | what writer, checker and witness say to one another, a line each |
//! | `test_files.rs`, `writer.rs` | the files in the directory under test; the writer |
//! | `ledger.rs`, `witness.rs` | what a witness keeps; the witness |
//! | `check.rs`, `judgement.rs`, `cut_kind.rs` | the blocks read, judged, and what kind of cut it was |
//! | `finding.rs`, `sentences.rs` | the record, the verdict, and both in words |

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
pub use writer::{Limit, Method, Plan, Written, write};
