//! Large objects: written and read in parts, so that one of a gibibyte is never in memory as a whole.
//!
//! A set of large objects is two ordinary tables, so that recovery, checkpoints, backups, dumps and checks
//! need to know nothing of it:
//!
//! | table | columns | a row is |
//! |---|---|---|
//! | NAME | id, bytes, `part_bytes`, opening | an object; `opening` is null once it is finished |
//! | NAME.parts | id, part, content | a part of it, from 0; all have `part_bytes` bytes except the last |
//!
//! | state of an object | its row | its parts | who sees it |
//! |---|---|---|---|
//! | being written | `opening` is set, `bytes` is 0 | the first ones | nobody |
//! | finished | `opening` is null | all | every later transaction |
//! | deleted, or discarded | none | none | snapshots that began earlier |
//!
//! Each part is a transaction of its own, and no reader sees the object before a last one finishes it, which
//! also runs what the caller has to write beside it, such as a row that names the object. So after a crash
//! every object is finished, or carries the `opening` in which it was being written: then the next
//! [`Database::large_objects`] discards it.
//!
//! # Invariants
//!
//! 1. A finished object has all its parts, as long as nobody changes the two tables in another way.
//! 2. `opening` is the last commit before the database was opened. Whatever an opening has written has a
//!    later commit number, so two openings that have both written objects differ in it.
//! 3. A part is at most a quarter of a log record and of a row, whatever their limits are.
//! 4. Ids ascend: a new one is behind every id in the table, and not before the read point of its
//!    transaction. So the id of a deleted object names no other one, except in a database into which objects
//!    were loaded from another one's dump.
//!
//! | file | what it holds |
//! |---|---|
//! | `handle.rs` | `LargeObjects`: the two tables, deleting and discarding |
//! | `writer.rs`, `reader.rs` | an object that is being written, or read |

mod handle;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use handle::LargeObjects;
pub use reader::LargeObjectReader;
pub use writer::LargeObjectWriter;
