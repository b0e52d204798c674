//! The result of a probe of one directory, as plain values.
//!
//! 1. A figure that was not measured is `None` or has a reason in words; it is never zero.
//! 2. Rates are per second over a measured time of at least the cell's minimum, so they are finite.
//! 3. Latencies are nanoseconds from handing the bytes over until the sync returned.
//! 4. Every fact names its source; a fact that no source reports has no value ("unknown").

use std::path::PathBuf;
use syncline_instrument::Nanos;
use syncline_record::DroppedSyncs;
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
    pub cells: Vec<Cell>,
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
    /// Notes for the reader, one sentence each.
    pub notes: Vec<String>,
    /// The reason why the probe ended early, if it did.
    pub incomplete: Option<String>,
}

/// A fact about the device, with its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The property, e.g. "model".
    pub name: &'static str,
    /// The value; `None` if no source reports it.
    pub value: Option<String>,
    /// The file, option or call that reports it, or would.
    pub said_by: String,
    /// True for a value that identifies this very device (serial); left out of shared records.
    pub private: bool,
}

/// Facts about the layers below a directory.
#[derive(Clone, Debug, Default)]
pub struct DeviceFacts {
    /// Facts of the mount: point, file system, options, source.
    pub mount: Vec<Fact>,
    /// The layers from the file system down to the disks.
    pub layers: Vec<Layer>,
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

/// One layer between a file and the medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
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

/// One sync method at one size, file state and number of outstanding syncs.
#[derive(Clone, Debug)]
pub struct Cell {
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
    Measured(Box<Measured>),
    /// The combination does not exist here; the reason.
    NotPossible(String),
    /// It exists but was not run; the reason.
    NotRun(String),
}

/// The figures of a cell.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The number of completed writes with their sync.
    pub syncs: u64,
    /// The time they took, without the preparation of files.
    pub elapsed_ns: Nanos,
    /// `syncs` over `elapsed_ns`.
    pub rate_per_s: f64,
    /// The latency of one write with its sync.
    pub latency: Latency,
    /// Device write requests, idle rate subtracted. The kernel also counts an empty flush request as one, so
    /// a write of data followed by a flush counts as two.
    pub device_writes_per_sync: Counted,
    /// Device bytes written, idle rate subtracted.
    pub device_bytes_per_sync: Counted,
    /// Device flushes, idle rate subtracted; below one under concurrency, where the kernel merges.
    pub flushes_per_sync: Counted,
    /// Rates of consecutive windows of `window_ns`.
    pub windows: Vec<f64>,
    /// The length of a window.
    pub window_ns: Nanos,
    /// True if the last five windows are within 5 %.
    pub steady: bool,
}

/// A figure per sync, or the reason why there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Counted {
    /// Counted by the kernel.
    PerSync(f64),
    /// Not countable here; the reason.
    Unknown(String),
}

/// A distribution of latencies in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    /// Half were faster.
    pub p50: Nanos,
    /// Nine in ten were faster.
    pub p90: Nanos,
    /// 99 % were faster.
    pub p99: Nanos,
    /// 99.9 % were faster.
    pub p999: Nanos,
    /// The slowest.
    pub max: Nanos,
    /// The arithmetic mean.
    pub mean: f64,
    /// The two separate modes, if there are two.
    pub modes: Option<[Mode; 2]>,
}

/// One of two separate modes of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    /// Its share of all values, 0 to 1.
    pub share: f64,
    /// Its median in nanoseconds.
    pub typical_ns: Nanos,
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

/// Direct writes of written blocks without any sync.
#[derive(Clone, Debug)]
pub struct PlainWrite {
    /// Bytes of one write.
    pub write_bytes: usize,
    /// Writes per second.
    pub rate_per_s: f64,
    /// The latency of one write.
    pub latency: Latency,
}

/// Random direct reads: the seek test.
#[derive(Clone, Debug)]
pub struct ReadCell {
    /// Bytes of one read.
    pub read_bytes: usize,
    /// The number of concurrent readers.
    pub depth: usize,
    /// The size of the file that they are spread over; a small one flatters a disk with seeks or a cache.
    pub file_bytes: u64,
    /// Reads per second and their latency, or the reason why there are none.
    pub outcome: Result<ReadMeasured, String>,
}

/// The figures of random reads.
#[derive(Clone, Debug)]
pub struct ReadMeasured {
    /// Completed reads.
    pub reads: u64,
    /// The time they took.
    pub elapsed_ns: Nanos,
    /// Reads per second.
    pub rate_per_s: f64,
    /// The latency of one read.
    pub latency: Latency,
}

/// Sequential direct transfer.
#[derive(Clone, Debug)]
pub struct SequentialCell {
    /// Read or write.
    pub direction: Direction,
    /// Bytes of one transfer.
    pub transfer_bytes: usize,
    /// The figures, or the reason why there are none.
    pub outcome: Result<SequentialMeasured, String>,
}

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the device.
    Read,
    /// To the device, one sync at the end included.
    Write,
}

/// The figures of a sequential transfer.
#[derive(Clone, Copy, Debug)]
pub struct SequentialMeasured {
    /// Bytes moved.
    pub bytes: u64,
    /// The time it took.
    pub elapsed_ns: Nanos,
    /// Bytes per second.
    pub bytes_per_s: f64,
}

/// The counters of the disk below.
#[derive(Clone, Debug)]
pub enum FlushCounts {
    /// There is one whole disk below and it counts.
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
    /// No figure would be valid; the reason.
    Unknown(String),
}

/// A verdict on a directory, device or method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The subject: the directory's path or a method's name.
    pub subject: String,
    /// The word.
    pub word: VerdictWord,
    /// The evidence or the reason, one sentence.
    pub reason: String,
    /// The command that would change it, for display; never run.
    pub remedy: Option<String>,
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
    pub fn measured(&self) -> Option<&Measured> {
        match &self.outcome {
            CellOutcome::Measured(measured) => Some(measured),
            CellOutcome::NotPossible(_) | CellOutcome::NotRun(_) => None,
        }
    }
}

impl Counted {
    /// The figure, if there is one.
    pub fn value(&self) -> Option<f64> {
        match self {
            Counted::PerSync(value) => Some(*value),
            Counted::Unknown(_) => None,
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
