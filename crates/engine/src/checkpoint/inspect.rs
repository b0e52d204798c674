//! A printable summary of a data file.

use crate::checkpoint::data_file::DataFile;
use crate::checkpoint::open::read_blocks;
use crate::checkpoint::root::{BlockRead, COPY_BLOCK, Root, slot_bytes};
use crate::error::Result;
use std::fmt;
use std::path::PathBuf;
use syncline_vfs::Disk;

/// The summary of a data file. Prints as lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inspection {
    pub(crate) path: PathBuf,
    pub(crate) root: Root,
    /// The contents of each root block, in words.
    pub(crate) blocks: Vec<String>,
    pub(crate) slots: u64,
    pub(crate) free_slots: u64,
    /// Map pages with entries, each in a slot.
    pub(crate) map_pages: u64,
    pub(crate) directory_slots: u64,
    pub(crate) is_direct: bool,
}

impl<D: Disk> DataFile<D> {
    /// Summarizes the file as it is now.
    pub(crate) fn inspect(&self) -> Result<Inspection> {
        let blocks = read_blocks(&self.lock)?;
        let named = self.map_pages.iter().filter(|entry| !entry.is_absent());
        Ok(Inspection {
            path: self.path.clone(),
            root: self.root.clone(),
            blocks: blocks.iter().map(describe).collect(),
            slots: self.slots.count(),
            free_slots: self.slots.free(),
            map_pages: named.count() as u64,
            directory_slots: self.root.directory.slots(self.slot_bytes()),
            is_direct: self.is_direct,
        })
    }
}

fn describe(block: &BlockRead) -> String {
    match block {
        BlockRead::Blank => "blank".to_owned(),
        BlockRead::Bad { .. } => "unreadable".to_owned(),
        BlockRead::Newer(format) | BlockRead::Older(format) => format!("a root of format {format}"),
        BlockRead::Sound(root) => format!("root {} at {}", root.number, root.csn),
    }
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = &self.root;
        let slot = slot_bytes(root.page_bytes);
        let (bytes, free) = (self.slots * slot, self.free_slots * slot);
        writeln!(f, "data file {}: {bytes} bytes, {free} of them free", self.path.display())?;
        writeln!(f, "database {}", root.database)?;
        writeln!(f, "checkpoint {} at {}", root.number, root.csn)?;
        for (block, what) in self.blocks.iter().enumerate() {
            let name = if block == usize::from(COPY_BLOCK) { "copy" } else { "root" };
            writeln!(f, "{name} block {block}: {what}")?;
        }
        let access = if self.is_direct { "direct" } else { "buffered" };
        writeln!(
            f,
            "pages {} of {} bytes, images {} bytes, {access}",
            root.pages, root.page_bytes, root.image_bytes
        )?;
        writeln!(f, "next page id {}", root.next_page.0)?;
        let directory =
            format!("{} slots, {} bytes of meta", self.directory_slots, root.meta.len());
        writeln!(f, "map pages {}, directory {directory}", self.map_pages)?;
        write!(f, "slots {}, free {}", self.slots, self.free_slots)
    }
}
