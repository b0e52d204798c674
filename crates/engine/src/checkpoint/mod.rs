//! The data file: the pages of the store as they were at one commit, replaced as a whole by checkpoints.
//!
//! It is one file. Its first 32 KiB hold three root blocks (`root`), followed by slots of 4 KiB, or of one
//! page if pages are smaller. A slot holds images of pages (`image_writer`), a map page (`map_page`), or a
//! part of the directory, or it is free. The root names the directory, the directory names the map pages, and
//! the map pages hold the position of every page's image:
//!
//! ```text
//!  0     8 KiB   16 KiB   32 KiB
//!  | root | root | copy |   | slot | slot | slot | ...      root -> directory -> map page -> image
//!                           |image|image|image|   |         in one piece, over the borders of slots
//! ```
//!
//! An image is as long as the used part of its page, and an extent's up to 1 MiB, so that two images of
//! every page, which a checkpoint of all pages needs, are not much more than twice the stored data.
//!
//! A checkpoint (`state_machine`) never overwrites anything that a root names. It goes through these states,
//! one I/O per step, that is a sync or a batch of writes; the caller of [`Checkpoint::step`] drives it:
//!
//! | state | does | fails with |
//! |---|---|---|
//! | room | grows the file until there are enough slots | Full: step again, or abandon it |
//! | pages | writes images of dirty pages into runs of free slots, urgent pages first; returns to room if they are longer than expected | for good |
//! | map | writes the changed map pages into free slots | for good |
//! | directory | writes the directory and the metadata into free slots | for good |
//! | sync | syncs all of that | for good |
//! | durable LSN | waits until the log is stable up to the checkpoint's commit | for good, if the log has failed |
//! | root | writes the root into the block that does not hold the last one | for good |
//! | root sync | syncs it; then the slots that only the last root named are free | for good |
//! | abandoned | from any state before root: the slots that it has taken are free again | |
//!
//! On a full disk: the file keeps free slots in addition to the next checkpoint's need: a quarter of an
//! extent, but no more than 1/64 of the file or 4 MiB, whichever is more (`file_growth`). A checkpoint that
//! finds no space for growth uses these; if they do not suffice, it is abandoned. A later one has a later
//! snapshot: rows that were deleted in the meantime leave fewer pages to write. Once it is in force the slots
//! that it supersedes are free, and the log's files are reused. The log has a reserve of its own for these
//! deletes (`log::segments`). So a full store can be emptied by alternating deletes and checkpoints.
//!
//! Invariants:
//! 1. The last root known to be stable, its directory, its map pages and its images are never overwritten. So
//!    a crash at any moment leaves the state of the last checkpoint or, if its root was being written, of the
//!    running one.
//! 2. A slot is free only if neither the last stable root, the running checkpoint nor a held root names it or
//!    any image that lies in it, in part or as a whole. So no slot is written while another image in it is
//!    needed: all that a slot holds comes with one write, although an image may continue in the next one.
//! 3. A root is written only when everything it names is stable and the log is stable up to its commit.
//! 4. Roots alternate between two blocks. Opening first secures the root that it chose: it writes it to the
//!    third block and syncs, then writes it to its own block and syncs. A root whose sync had failed may be
//!    readable and yet not be on the disk; without this step the next checkpoint would overwrite the last one
//!    that is.
//! 5. Every part is checked when it is read: root and directory by their checksums, map pages and images by
//!    their own checksum and by that in the entry that names them. So an image that was lost, misplaced or
//!    overwritten later is detected even if it is intact in itself.
//! 6. The map of free slots grows with the file's allocated length: a slot is used only after its block was
//!    allocated and the file synced, so that a full disk shows only in the state `room`.
//! 7. A new file is created under another name and gets its own name when it is complete and stable.
//!
//! The data file does not know what an image holds, nor when a checkpoint is due, and it does not sleep. It
//! does not check whether the log still reaches back to the root's commit: the caller
//! does.
//!
//! | file | contents |
//! |---|---|
//! | `data_file`, `create`, `open`, `options` | the open file; making and opening one; its options |
//! | `root`, `map_page` | the formats of roots, map pages and their entries |
//! | `slot_allocator`, `file_growth` | free slots; growing the file |
//! | `compaction` | moving images and cutting the file |
//! | `held_root` | a root whose images stay while a backup reads them |
//! | `plan`, `state_machine`, `image_writer` | what a checkpoint writes, in which states, and how |
//! | `load`, `damage`, `inspect` | reading and checking pages; errors; a printable summary |
//! | `simulation`, `fuzzing`, `tests` | crash simulation, fuzzing, tests |

mod compaction;
mod create;
mod damage;
mod data_file;
mod file_growth;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod held_root;
mod image_writer;
mod inspect;
mod load;
mod map_page;
mod open;
mod options;
mod plan;
mod root;
mod slot_allocator;
mod state_machine;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

#[allow(unused_imports, reason = "the layers above use it")]
pub(crate) use {
    compaction::Moves,
    data_file::DataFile,
    held_root::HeldPages,
    inspect::Inspection,
    load::ImageReader,
    options::{FileOptions, check_extent},
    plan::Work,
    root::{FORMAT_OF_EXTENTS, Root},
    state_machine::{Checkpoint, DirtyPages, Progress},
};
