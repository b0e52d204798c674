//! Recovery: loads the pages of the last checkpoint, then redoes every later commit, in order.
//!
//! 1. The data file supplies the root: the commit `c` up to which its pages are exact, and the tree
//!    directory.
//! 2. All pages are read and verified. Pages of trees that the tree directory does not name are freed: such
//!    trees were being built aside, or freed after a drop, at the time of the checkpoint's snapshot. Long
//!    values of a file of format 2 become extents (`upgrade`).
//! 3. The log delivers every commit after `c`, and refuses if it begins later or is damaged; each commit is
//!    redone on the trees (`redo`). Commits that the log has delivered stay committed.
//! 4. Ghosts captured by the checkpoint are removed: there are no readers of older versions.
//! 5. The catalogue is read. Trees that it does not name are freed, and tables and indexes that an earlier
//!    program left in the states `building` or `dropping` are dropped.
//!
//! There is no analysis and no undo: pages never hold uncommitted rows. A redo record names the state
//! afterwards, never a difference. For a row it may name only a part (a splice): the rest is then as all
//! earlier commits have left it, which redo in order from the exact image of one commit guarantees. A crash
//! during recovery is handled in the same way: recovery overwrites nothing that it reads, except the root,
//! which it rewrites unchanged after writing a copy.
//!
//! Recovery runs on one thread and in csn order: partitioning by key would misorder unique indexes
//! (store-corrections 19).

mod redo;
mod upgrade;

pub(crate) use redo::{Redo, Redone};
pub(crate) use upgrade::Upgrade;
