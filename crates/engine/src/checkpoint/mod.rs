//! The data file: the pages of the store as they were at one commit, replaced whole by checkpoints.
//!
//! One file. Its first 32 KiB hold three root blocks (`root`); behind them lie slots of 4 KiB, or of a page
//! where pages are smaller. A slot holds images of pages (`stream`), a map page (`map`), or a part of the
//! directory, or it is free. The root names the directory, the directory names the map pages, the map pages
//! say where the image of every page lies:
//!
//! ```text
//!  0     8 KiB   16 KiB   32 KiB
//!  | root | root | copy |   | slot | slot | slot | ...      root -> directory -> map page -> image
//!                           |image|image|image|   |         in one piece, over the borders of slots
//! ```
//!
//! An image is as long as what is in its page, so that two of each, which a checkpoint of all pages needs,
//! are not much more than twice what is stored.
//!
//! A checkpoint (`machine`) never overwrites what a root names. It goes through these states, one I/O
//! a step, and whoever calls [`Checkpoint::step`] moves it on:
//!
//! | state | does | fails with |
//! |---|---|---|
//! | room | grows the file by zeros until slots suffice, if they do not yet | Full: step again, or abandon it |
//! | pages | writes images of dirty pages into runs of free slots, first of those that ask for it; back to room if they turn out longer than was thought | for good |
//! | map | writes the changed map pages into free slots | for good |
//! | directory | writes the directory and the meta blob into free slots | for good |
//! | sync | syncs all of that | for good |
//! | durable LSN | waits until the log is stable up to the checkpoint's commit | for good, if the log has failed |
//! | root | writes the root into the block that does not hold the last one | for good |
//! | root sync | syncs it; then the slots that only the last root named are free | for good |
//! | abandoned | from any state before root: the slots that it has taken are free again | |
//!
//! On a full disk. The file keeps free slots beside what the next checkpoint needs: a quarter of an extent,
//! but no more than one part in 64 of the file or 4 MiB, whichever is more (`room`). A checkpoint that finds
//! no space for more takes of these what it needs; if they do not suffice, it is abandoned. A later one is of
//! a later cut: rows that were deleted meanwhile leave fewer pages to write. Once it is in force the slots
//! that it supersedes are free, and the log's files are used again. The log has a reserve of its own for
//! these deletes (`log::segments`). So a full store is emptied by deletes and checkpoints in turn.
//!
//! Invariants:
//! 1. The last root known to be stable, its directory, its map pages and its pages are never
//!    overwritten. Hence a crash at any moment leaves the state of the last checkpoint or, if its root
//!    was being written, of the running one.
//! 2. A slot is free only if neither the last stable root nor the running checkpoint names it or any image
//!    that lies in it, in part or as a whole. So no slot is written while another image in it is needed: all
//!    images of a slot come with one write.
//! 3. A root is written only when what it names is stable and the log is stable up to its commit.
//! 4. Roots alternate between two blocks. Opening first makes sure of the root that it chose: it writes
//!    it to the third block and syncs, then writes it to its own block and syncs. A root whose sync had
//!    failed may be readable and yet not be on the disk; without this the next checkpoint would
//!    overwrite the last one that is.
//! 5. Every piece is checked when it is read: root and directory by their checksums, map pages and
//!    images by their own checksum and by that in the entry that names them. So an image that was
//!    lost, misplaced or overwritten later is noticed even if it is whole in itself.
//! 6. The map of free slots grows with the file's preallocated length: a slot is used only after a sync of
//!    the zeros written over it, so that a full disk shows only in the state `room`.
//! 7. A new file is made under another name and gets its own name when it is whole and stable.
//!
//! What it does not do: it does not know what an image holds, nor when a checkpoint is due; it does not
//! sleep. It does not shrink the file. It does not tell whether the log still reaches back to the
//! root's commit: that is the caller's check.

mod create;
mod damage;
mod data_file;
mod file_growth;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod image_writer;
mod inspect;
mod load;
mod open;
mod options;
mod page_map;
mod plan;
mod root;
mod slot_allocator;
mod state_machine;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

#[allow(unused_imports, reason = "what stands on it comes next")]
pub(crate) use {
    data_file::DataFile,
    inspect::Inspection,
    options::{FileOptions, check_extent},
    plan::Work,
    root::Root,
    state_machine::{Checkpoint, DirtyPages, Progress},
};
