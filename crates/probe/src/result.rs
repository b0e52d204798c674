//! The result of a probe of one directory, as plain values.
//!
//! 1. A figure that was not measured is `None` or has a reason in words; it is never zero.
//! 2. Rates are per second over a measured time of at least the cell's minimum, so they are finite.
//! 3. Latencies are nanoseconds from handing the bytes over until the sync returned.
//! 4. Every fact names its source; a fact that no source reports has no value ("unknown").

use std::path::PathBuf;
use syncline_instrument::Nanos;
use syncline_record::{
    CellFigures, DroppedSyncs, Fact, Fitness, FlushCounts, Latency, PlainWrite, ReadCell,
    SequentialCell, SyncsOverTime, Verdict,
};
use syncline_vfs::SyncMethod;

/// The result of one probe of one directory.
#[derive(Clone, Debug)]
pub struct ProbeResult {
    /// The directory that was probed.
    pub directory: PathBuf,
    /// The start of the probe, wall clock, nanoseconds since 1970.
    pub started_wall_ns: Nanos,
    /// The duration of the probe, preparation included.
    pub duration_ns: Nanos,
    /// True if cells were too short to show more than a burst.
    pub quick: bool,
    /// "burst" for the quick and brief plans, "steady" for the full plan.
    pub label: &'static str,
    /// The layers below the directory.
    pub device: DeviceFacts,
    /// The sync cells, in the order they were measured.
    pub cells: Vec<SyncCell>,
    /// The sync line; `None` if no honest method could be measured.
    pub line: Option<SyncLine>,
    /// Direct writes without a sync: the baseline for the cost of a flush.
    pub plain_write: Option<PlainWrite>,
    /// Random direct reads.
    pub reads: Vec<ReadCell>,
    /// Sequential direct transfers.
    pub sequential: Vec<SequentialCell>,
    /// The counters of the disk below, and its idle rates.
    pub flush_counts: FlushCounts,
    /// The directory's verdict first, then those of single methods.
    pub verdicts: Vec<Verdict>,
    /// The verdicts for the plan's products.
    pub fitness: Vec<Fitness>,
    /// Syncs at a low rate over time; `None` unless the plan has them.
    pub over_time: Option<SyncsOverTime>,
    /// Notes for the reader, one sentence each.
    pub notes: Vec<String>,
    /// The reason why the probe ended early, if it did.
    pub incomplete: Option<String>,
}

/// Facts about the layers below a directory.
#[derive(Clone, Debug, Default)]
pub struct DeviceFacts {
    /// Facts of the mount: point, file system, options, source.
    pub mount: Vec<Fact>,
    /// The layers from the file system down to the disks.
    pub layers: Vec<StorageLayer>,
    /// Facts of the machine around it: virtual machine, container.
    pub environment: Vec<Fact>,
    /// One sentence for each caveat that applies to all figures.
    pub sentences: Vec<String>,
    /// The facts from which verdicts are derived.
    pub summary: DeviceSummary,
}

impl DeviceFacts {
    /// The first layer that drops syncs. `None` does not prove that all layers pass them on: some cannot be
    /// inspected from here.
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
    /// The kernel's view of the volatile cache; `Back` if it is so for any disk below.
    pub write_cache: WriteCache,
    /// The speed of a disk that identifies itself as spinning.
    pub rpm: Option<Rpm>,
    /// The model, if there is exactly one disk below and it reports one.
    pub model: Option<String>,
    /// The hypervisor, if this is a virtual machine.
    pub virtual_machine: Option<String>,
    /// The kind of container, if this is one.
    pub container: Option<String>,
    /// The command that would turn the write cache off, for display.
    pub cache_off_command: Option<String>,
}

/// A rotation speed and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rpm {
    /// Turns a minute.
    pub value: u32,
    /// "given by hand" or the identity page.
    pub said_by: String,
}

/// The kernel's view of a disk's volatile cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteCache {
    /// "write back": the kernel sends flushes.
    Back,
    /// "write through": the kernel sends none.
    Through,
    /// Not reported.
    #[default]
    Unknown,
}

/// One layer between a file and the medium. Its `standing` decides verdicts; the record's `Layer` has its
/// words.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageLayer {
    /// Its name: mount point, "dm-0", "sda1", "sda".
    pub name: String,
    /// Its type: "ext4", "dm-crypt", "md raid1", "partition", "disk".
    pub kind: String,
    /// Its depth; a file system is 0.
    pub depth: usize,
    /// The known facts.
    pub facts: Vec<Fact>,
    /// Its sync behavior.
    pub standing: SyncBehavior,
}

/// The sync behavior of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncBehavior {
    /// It passes syncs on to the layer below, or is a disk that answers them.
    PassesOn,
    /// Its behavior cannot be determined from here; the reason.
    NotKnown(String),
    /// It drops syncs, or loses its data at a power loss.
    Breaks {
        /// The evidence, e.g. "mounted with nobarrier".
        evidence: String,
        /// The command that would change it, for display.
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

/// The placement of consecutive writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Placement {
    /// Each write takes the next block.
    Walk,
    /// Each write takes the same block, the first of the file.
    SameBlock,
}

/// One sync method at one size, file state and number of outstanding syncs. Its keys drive the
/// measurement; the record's `Cell` has their names.
#[derive(Clone, Debug)]
pub struct SyncCell {
    /// The method.
    pub method: SyncMethod,
    /// Bytes of one write.
    pub write_bytes: usize,
    /// The state of the blocks.
    pub file_state: FileState,
    /// The placement of the writes.
    pub placement: Placement,
    /// The number of writers that wait for a sync at the same time.
    pub outstanding: usize,
    /// The equivalent fio command; `None` if fio has none.
    pub fio: Option<String>,
    /// The outcome.
    pub outcome: CellOutcome,
}

/// The outcome of a cell.
#[derive(Clone, Debug)]
pub enum CellOutcome {
    /// It was measured.
    Measured(Box<CellFigures>),
    /// The combination does not exist here; the reason.
    NotPossible(String),
    /// It exists but was not run; the reason.
    NotRun(String),
}

/// The durable rate of the directory: 4 KiB writes that advance through written blocks.
#[derive(Clone, Debug)]
pub struct SyncLine {
    /// The directory.
    pub directory: PathBuf,
    /// A short description of the disk below; `None` if unknown.
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
    /// The number outstanding at which `line_max` was reached.
    pub line_max_outstanding: Option<usize>,
}

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the device.
    Read,
    /// To the device, one sync at the end included.
    Write,
}

/// The words of verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictWord {
    /// There is evidence against durability.
    NotDurable,
    /// Faster than the known mechanics allow.
    Implausible,
    /// Flushes are sent and cost time; this proves no more.
    ConsistentWithFlushing,
    /// Cannot be determined from here.
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

impl SyncCell {
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
