//! What a loss of power may leave of what was not synced.
//!
//! Bytes. A write changes the page cache; the kernel writes pages back when it likes, and a device may
//! write the sectors of a page one by one. So between two syncs each page (or each sector of it) may be
//! found as it was at any moment since, whatever became of its neighbours; but never with a later write
//! and without an earlier one to the same place. Lengths are changes in order too: a file is as long as
//! it was at one moment.
//!
//! Names, by [`Metadata`], which the simulated disk of `syncline-vfs` has too: `Strict` is what POSIX
//! promises, `OrderedJournal` is like ext4. They differ in bytes in one thing: under `Strict` the new
//! length of a file may survive without the bytes that gave it, which then read as zeros; under
//! `OrderedJournal` a write that made a file longer counts for its length only as far as its pages have
//! survived. A store that fails only under `Strict` leans on its file system; one that fails under
//! `OrderedJournal` loses on ext4.
//!
//! Not in the model: sectors with garbage in them, writes to the wrong place, a device that forgets what
//! it has acknowledged, the two modes of ext4 other than `data=ordered`, and ext4's habit of writing out
//! a file before it is renamed over another. Mode and owners are never lost.

pub use syncline_vfs::simulated::Metadata;

/// What becomes of what was not synced. The same seed on the same recording is the same image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// All of it is lost.
    Drop,
    /// All of it has arrived.
    Keep,
    /// Each file is as it was at some moment since its last sync, each with its own moment; names are
    /// kept or lost as the model lets them.
    Subset {
        /// See the type.
        seed: u64,
    },
    /// As a subset, and within a file each unit has a moment of its own.
    Torn {
        /// See the type.
        seed: u64,
        /// What arrives whole: 512 for a device's sector, 4096 for a page.
        unit_bytes: u32,
    },
    /// Each file is torn behind its first unit: either that has arrived and nothing else, or all but that.
    Head {
        /// See the type; of names alone.
        seed: u64,
        /// As for `Torn`.
        unit_bytes: u32,
        /// True if the first unit has arrived.
        arrives: bool,
    },
}

impl Loss {
    /// The word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Loss::Drop => "drop",
            Loss::Keep => "keep",
            Loss::Subset { .. } => "random subset",
            Loss::Torn { unit_bytes: 512, .. } => "512 B tear",
            Loss::Torn { .. } => "4 KiB tear",
            Loss::Head { .. } => "tear behind the first bytes",
        }
    }

    /// True if units smaller than a file have moments of their own.
    pub fn tears(self) -> bool {
        matches!(self, Loss::Torn { .. } | Loss::Head { .. })
    }

    pub(super) fn seed(self) -> u64 {
        match self {
            Loss::Drop | Loss::Keep => 0,
            Loss::Subset { seed } | Loss::Torn { seed, .. } | Loss::Head { seed, .. } => seed,
        }
    }
}

/// The words for a model in reports.
pub fn model_words(model: Metadata) -> &'static str {
    match model {
        Metadata::Strict => "strict POSIX",
        Metadata::OrderedJournal => "ext4-like",
    }
}
