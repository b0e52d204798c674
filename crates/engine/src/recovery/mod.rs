//! Recovery: the pages of the last checkpoint, and then every commit behind it, in order.
//!
//! 1. The data file gives the root: the commit `c` up to which its pages are exact, and the tree directory.
//! 2. All pages are read and verified. Those of trees that the tree directory does not name are freed: trees
//!    that were being built aside, or freed after a drop, when the checkpoint was cut.
//! 3. The log hands out every commit after `c`, and refuses if it begins later or is damaged; each is
//!    redone on the trees (`redo`). What the log has handed out stays committed.
//! 4. Ghosts that the checkpoint has caught go: nobody reads behind any more.
//! 5. The catalogue is read. Trees that it does not name are freed, and what an earlier program left in the
//!    states `building` or `dropping` is dropped.
//!
//! There is no analysis and no undo: pages never hold what was not committed. Redo names what holds
//! afterwards, never a difference. Of a row it may name a part only (a splice): then the rest is as all
//! commits before have left it, which redo in order gives, from the exact image of one commit on. A crash
//! during recovery is recovered from in the same way: recovery overwrites nothing that it reads, but for
//! the root, which it writes again as it is, behind a copy.
//!
//! It runs on one thread and in csn order: partitioned by key, unique indexes would be misordered
//! (store-corrections 19).

mod redo;

pub(crate) use redo::{Redo, Redone};
