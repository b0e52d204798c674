//! Copies the pages of a held checkpoint into a new data file, a part after the other, each by a checkpoint
//! of that file. The images lie one after the other there.
//!
//! Entries and images of one part are in memory at a time, in addition to what the held checkpoint keeps.
//! Every image is verified when it is read, and gets a new checksum in the copy.

use crate::checkpoint::{Checkpoint, DataFile, HeldPages, ImageReader, Progress, Root, Work};
use crate::database::checkpoints::Checkpoints;
use crate::database::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::PageId;
use std::sync::Arc;
use syncline_vfs::Disk;

/// Pages that are copied by one checkpoint of the new data file.
pub(super) const PAGES_AT_ONCE: usize = 1 << 16;

/// A copy that is being made.
pub(super) struct PageCopy<D: Disk> {
    hold: Hold<D>,
    root: Root,
    reader: ImageReader<D>,
    file: DataFile<D>,
    /// Where the next part begins; none after the last one.
    next: Option<PageId>,
    running: Option<(Checkpoint, HeldPages<D>)>,
    pages_at_once: usize,
    bytes: u64,
}

/// Holds the checkpoint until it is dropped.
struct Hold<D: Disk>(Arc<Engine<D>>);

impl<D: Disk> Hold<D> {
    fn checkpoints(&self) -> &Checkpoints<D> {
        self.0.checkpoints.as_ref().expect("a root of it is held")
    }
}

impl<D: Disk> Drop for Hold<D> {
    fn drop(&mut self) {
        self.checkpoints().release();
    }
}

impl<D: Disk> PageCopy<D> {
    /// Begins a copy of the engine's last checkpoint in the data file that `create` makes.
    pub(super) fn begin(
        engine: &Arc<Engine<D>>,
        pages_at_once: usize,
        create: impl FnOnce(&Root) -> Result<DataFile<D>>,
    ) -> Result<PageCopy<D>> {
        let Some(checkpoints) = &engine.checkpoints else {
            let what = "the database exists only in memory; dump it instead";
            return Err(Error::Backup { what });
        };
        let Some((root, reader)) = checkpoints.hold() else {
            return Err(Error::Backup { what: "another one is being made; wait for its end" });
        };
        let hold = Hold(Arc::clone(engine));
        let file = create(&root)?;
        let next = Some(PageId(1));
        Ok(PageCopy { hold, root, reader, file, next, running: None, pages_at_once, bytes: 0 })
    }

    /// Does one I/O of the new data file, or begins a part. Returns false when all pages are copied and
    /// stable.
    pub(super) fn step(&mut self) -> Result<bool> {
        let (mut checkpoint, mut pages) = match (self.running.take(), self.next) {
            (Some(running), _) => running,
            (None, Some(from)) => self.begin_part(from),
            (None, None) => return Ok(false),
        };
        match checkpoint.step(&mut self.file, &mut pages, self.root.csn)? {
            Progress::Worked { bytes } => {
                self.bytes += bytes;
                self.running = Some((checkpoint, pages));
            }
            Progress::Done => {}
            Progress::AwaitDurable(csn) => panic!("{csn} is in the held root, so it is stable"),
        }
        Ok(true)
    }

    fn begin_part(&mut self, from: PageId) -> (Checkpoint, HeldPages<D>) {
        let (pages, next) = self.hold.checkpoints().held_pages(from, self.pages_at_once);
        self.next = next;
        let page_bytes = self.root.page_bytes;
        let is_long = |(_, bytes): &(PageId, u32)| *bytes > page_bytes;
        let work = Work {
            csn: self.root.csn,
            dirty: pages.iter().map(|(page, _)| *page).collect(),
            long: pages.iter().map(|(page, entry)| (*page, entry.bytes)).filter(is_long).collect(),
            freed: Vec::new(),
            next_page: self.root.next_page,
            // What the whole names is not there before its last part.
            meta: if next.is_none() { self.root.meta.clone() } else { Vec::new() },
        };
        (self.file.begin(work), HeldPages::new(self.reader.clone(), pages))
    }

    /// The root of the held checkpoint.
    pub(super) fn root(&self) -> &Root {
        &self.root
    }

    /// Bytes that were written, with the zeros by which the data file grew.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}
