//! What a probe found in one directory, as plain values.
//!
//! 1. A figure that was not measured is `None` or carries the reason in words; it is never zero.
//! 2. Rates are per second over a measured time of at least the cell's minimum, so they are finite.
//! 3. Latencies are nanoseconds from handing the bytes over until the sync returned.
//! 4. Every fact names who says it; what nobody answers has no value ("unknown").

use std::path::PathBuf;
use syncline_instrument::Nanos;
use syncline_record::{
    CellFigures, DroppedSyncs, Fact, Latency, PlainWrite, ReadCell, SequentialCell,
};
use syncline_vfs::SyncMethod;

/// Everything one probe says of one directory.
#[derive(Clone, Debug)]
pub struct ProbeResult {
    /// The directory that was probed.
    pub directory: PathBuf,
    /// When the probe began, wall clock, nanoseconds since 1970.
    pub started_wall_ns: Nanos,
    /// How long it took, preparation included.
    pub duration_ns: Nanos,
    /// True if cells were too short to show more than a burst.
    pub quick: bool,
    /// "burst" for the quick and brief plans, "steady" for the full plan.
    pub label: &'static str,
    /// What lies under the directory.
    pub device: DeviceFacts,
    /// The sync cells, in the order they were measured.
    pub cells: Vec<Cell>,
    /// The sync line; `None` if no honest method could be measured.
    pub line: Option<SyncLine>,
    /// Direct writes that no sync followed: the floor a flush is compared with.
    pub plain_write: Option<PlainWrite>,
    /// Random direct reads.
    pub reads: Vec<ReadCell>,
    /// Sequential direct transfers.
    pub sequential: Vec<SequentialCell>,
    /// The counters of the disk below, and its idle rates.
    pub flush_counts: FlushCounts,
    /// The directory's verdict first, then those of single methods.
    pub verdicts: Vec<Verdict>,
    /// What a reader should know, one sentence each.
    pub notes: Vec<String>,
    /// Why the probe ended early, if it did.
    pub incomplete: Option<String>,
}

/// What lies under a directory.
#[derive(Clone, Debug, Default)]
pub struct DeviceFacts {
    /// Facts of the mount: point, file system, options, source.
    pub mount: Vec<Fact>,
    /// The layers from the file system down to the disks.
    pub layers: Vec<Layer>,
    /// Facts of the machine around it: virtual machine, container.
    pub environment: Vec<Fact>,
    /// One plain sentence for each thing a reader must know before believing the figures.
    pub sentences: Vec<String>,
    /// What verdicts are drawn from.
    pub summary: DeviceSummary,
}

impl DeviceFacts {
    /// The first layer that drops syncs. None does not say that all keep them: some cannot be seen from here.
    pub fn dropped_syncs(&self) -> Option<DroppedSyncs> {
        self.layers.iter().find_map(|layer| match &layer.standing {
            SyncBehavior::Breaks { evidence, remedy } => {
                Some(DroppedSyncs { evidence: evidence.clone(), remedy: remedy.clone() })
            }
            SyncBehavior::PassesOn | SyncBehavior::NotKnown(_) => None,
        })
    }
}

/// The facts that decide a verdict.
#[derive(Clone, Debug, Default)]
pub struct DeviceSummary {
    /// The file system's type.
    pub file_system: Option<String>,
    /// The names of the whole disks at the bottom, e.g. "vda".
    pub disks: Vec<String>,
    /// What the kernel believes of the volatile cache; `Back` if any disk below says so.
    pub write_cache: WriteCache,
    /// The speed of a disk that identifies itself as spinning, and who says so.
    pub rpm: Option<Rpm>,
    /// The model, if exactly one disk lies below and says it.
    pub model: Option<String>,
    /// The hypervisor, if this is a virtual machine.
    pub virtual_machine: Option<String>,
    /// The kind of container, if this is one.
    pub container: Option<String>,
    /// The command that would turn the write cache off, as text to show.
    pub cache_off_command: Option<String>,
}

/// A speed of rotation and who says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rpm {
    /// Turns a minute.
    pub value: u32,
    /// "given by hand" or the identity page that says it.
    pub said_by: String,
}

/// The kernel's view of a disk's volatile cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteCache {
    /// "write back": the kernel sends flushes.
    Back,
    /// "write through": the kernel sends none.
    Through,
    /// Nobody answers.
    #[default]
    Unknown,
}

/// One layer between a file and the medium.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Its name: mount point, "dm-0", "sda1", "sda".
    pub name: String,
    /// What it is: "ext4", "dm-crypt", "md raid1", "partition", "disk".
    pub kind: String,
    /// How deep it lies; a file system is 0.
    pub depth: usize,
    /// What is known of it.
    pub facts: Vec<Fact>,
    /// What it does with a sync.
    pub standing: SyncBehavior,
}

/// What a layer does with a sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncBehavior {
    /// It passes syncs on to the layer below, or is a disk that answers them.
    PassesOn,
    /// What it does cannot be seen from here; the reason.
    NotKnown(String),
    /// It drops them, or keeps nothing over a power cut.
    Breaks {
        /// The evidence, e.g. "mounted with nobarrier".
        evidence: String,
        /// The command that would change it, as text to show.
        remedy: Option<String>,
    },
}

/// The state of the file's blocks before a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileState {
    /// Blocks allocated and written before: a sync changes no metadata.
    Overwrite,
    /// Blocks allocated but never written: a sync also marks them written.
    Unwritten,
    /// Past the end of the file: a sync also allocates and grows.
    Append,
}

/// Where consecutive writes land.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Placement {
    /// Each write takes the next block.
    Walk,
    /// Each write takes the same block, the first of the file.
    SameBlock,
}

/// One sync method at one size, file state and number of outstanding syncs.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The method.
    pub method: SyncMethod,
    /// Bytes of one write.
    pub write_bytes: usize,
    /// The state of the blocks.
    pub file_state: FileState,
    /// Where the writes land.
    pub placement: Placement,
    /// How many writers wait for a sync at the same time.
    pub outstanding: usize,
    /// The fio command that does the same work; `None` where fio has no equivalent.
    pub fio: Option<String>,
    /// What came of it.
    pub outcome: CellOutcome,
}

/// What came of a cell.
#[derive(Clone, Debug)]
pub enum CellOutcome {
    /// It was measured.
    Measured(Box<CellFigures>),
    /// The combination does not exist here; the reason.
    NotPossible(String),
    /// It exists but was not run; the reason.
    NotRun(String),
}

/// What the directory can durably complete: 4 KiB, walking over written blocks.
#[derive(Clone, Debug)]
pub struct SyncLine {
    /// The directory.
    pub directory: PathBuf,
    /// The disk below, in a few words; `None` if unknown.
    pub device: Option<String>,
    /// The fastest honest method.
    pub method: SyncMethod,
    /// The state of the blocks.
    pub file_state: FileState,
    /// Bytes of one write.
    pub write_bytes: usize,
    /// Syncs per second with one outstanding.
    pub line_1: f64,
    /// The 1 s windows behind `line_1`.
    pub line_1_windows: Vec<f64>,
    /// Latency behind `line_1`.
    pub line_1_latency: Latency,
    /// The best rate with 2 to 16 outstanding; `None` if none was measured.
    pub line_max: Option<f64>,
    /// At how many outstanding `line_max` was reached.
    pub line_max_outstanding: Option<usize>,
}

/// The way of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the device.
    Read,
    /// To the device, one sync at the end included.
    Write,
}

/// The counters of the disk below.
#[derive(Clone, Debug)]
pub enum FlushCounts {
    /// One whole disk lies below and counts.
    Counting {
        /// Its name.
        disk: String,
        /// Flushes per second while the probe did nothing.
        idle_flushes_per_s: f64,
        /// Writes per second while the probe did nothing.
        idle_writes_per_s: f64,
        /// Bytes written per second while the probe did nothing.
        idle_bytes_per_s: f64,
    },
    /// No figure would mean anything; the reason.
    Unknown(String),
}

/// What may be said of a directory, device or method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Of what: the directory's path or a method's name.
    pub subject: String,
    /// The word.
    pub word: VerdictWord,
    /// The evidence or the reason, one sentence.
    pub reason: String,
    /// The command that would change it, as text to show; never run.
    pub remedy: Option<String>,
}

/// The words a verdict may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictWord {
    /// There is evidence against it.
    NotDurable,
    /// Faster than the named mechanics allow.
    Implausible,
    /// Flushes are sent and cost time; not more than that.
    ConsistentWithFlushing,
    /// Not known from here.
    Unknown,
}

impl Direction {
    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
        }
    }
}

impl FileState {
    /// Every state, in the order of the table.
    pub const ALL: [FileState; 3] = [FileState::Overwrite, FileState::Unwritten, FileState::Append];

    /// The name in tables and records.
    pub fn name(self) -> &'static str {
        match self {
            FileState::Overwrite => "overwrite",
            FileState::Unwritten => "unwritten extents",
            FileState::Append => "append",
        }
    }
}

impl Placement {
    /// The name in tables and records.
    pub fn name(self) -> &'static str {
        match self {
            Placement::Walk => "walk",
            Placement::SameBlock => "same block",
        }
    }
}

impl Cell {
    /// The figures, if it was measured.
    pub fn measured(&self) -> Option<&CellFigures> {
        match &self.outcome {
            CellOutcome::Measured(measured) => Some(measured),
            CellOutcome::NotPossible(_) | CellOutcome::NotRun(_) => None,
        }
    }
}

impl VerdictWord {
    /// The words as printed before the reason.
    pub fn name(self) -> &'static str {
        match self {
            VerdictWord::NotDurable => "not durable",
            VerdictWord::Implausible => "implausible",
            VerdictWord::ConsistentWithFlushing => "consistent with flushing",
            VerdictWord::Unknown => "unknown",
        }
    }
}

impl WriteCache {
    /// The kernel's words.
    pub fn name(self) -> &'static str {
        match self {
            WriteCache::Back => "write back",
            WriteCache::Through => "write through",
            WriteCache::Unknown => "unknown",
        }
    }
}
