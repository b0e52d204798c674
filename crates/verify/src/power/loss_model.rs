//! The model of a power loss: what may become of unsynced data.
//!
//! Bytes. A write changes the page cache. The kernel writes pages back at any time, and a device may write
//! the sectors of a page one by one. So between two syncs each page (or each of its sectors) may be found as
//! it was at any moment since, independently of its neighbours; but a later write to a place never survives
//! without the earlier ones to it. Lengths change in order too: a file's length is the one it had at some
//! moment.
//!
//! Names follow [`Metadata`], which the simulated disk of `syncline-vfs` uses too: `Strict` is what POSIX
//! guarantees, `OrderedJournal` is like ext4. The models differ in bytes in one respect. Under `Strict`, a
//! file's new length may survive without the bytes that extended it, which then read as zeros. Under
//! `OrderedJournal`, an extending write counts toward the length only up to the pages that survived. A store
//! that fails only under `Strict` depends on its file system; one that fails under `OrderedJournal` loses
//! data on ext4.
//!
//! Not in the model: sectors of garbage, misdirected writes, a device that forgets acknowledged writes, the
//! two modes of ext4 other than `data=ordered`, and ext4's habit of writing out a file before it is renamed
//! over another. Modes and owners are never lost.

pub use syncline_vfs::simulated::Metadata;

/// What becomes of unsynced data. The same seed on the same recording gives the same image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// All of it is lost.
    Drop,
    /// All of it survives.
    Keep,
    /// Each file is as it was at some moment since its last sync, independently of the others; names are kept
    /// or lost as the model allows.
    Subset {
        /// Seed of the random choices.
        seed: u64,
    },
    /// As `Subset`, but within a file each unit has its own moment.
    Torn {
        /// Seed of the random choices.
        seed: u64,
        /// The unit that is written atomically: 512 for a device's sector, 4096 for a page.
        unit_bytes: u32,
    },
    /// Each file is torn after its first unit: either only that unit survives, or everything but that unit.
    Head {
        /// Seed of the random choices, used for names only.
        seed: u64,
        /// As for `Torn`.
        unit_bytes: u32,
        /// True if the first unit survives.
        arrives: bool,
    },
}

impl Loss {
    /// The name in reports.
    pub fn word(self) -> &'static str {
        match self {
            Loss::Drop => "drop",
            Loss::Keep => "keep",
            Loss::Subset { .. } => "random subset",
            Loss::Torn { unit_bytes: 512, .. } => "512 B tear",
            Loss::Torn { .. } => "4 KiB tear",
            Loss::Head { .. } => "tear after the first bytes",
        }
    }

    /// True if units smaller than a file have their own moments.
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

/// The name of a model in reports.
pub fn model_words(model: Metadata) -> &'static str {
    match model {
        Metadata::Strict => "strict POSIX",
        Metadata::OrderedJournal => "ext4-like",
    }
}
