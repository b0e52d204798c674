//! The record of one probe: the layers under a directory and its sync rates.

use super::environment::{Machine, SyncLine};
use super::figures::{Counted, Latency};
use super::fitness::Fitness;
use super::identity::Identity;
use super::over_time::SyncsOverTime;
use super::schema_macro::{Described, described};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

described! {
    /// One fact and its source.
    pub struct Fact {
        /// Its name.
        pub name: String,
        /// Its value; null if the source does not give one.
        pub value: Option<String>,
        /// The source.
        pub said_by: String,
        /// True if it identifies this very device or host.
        pub private: bool,
    }

    /// One layer between a file and the medium.
    pub struct Layer {
        /// Its name.
        pub name: String,
        /// Its kind.
        pub kind: String,
        /// Its depth; a file system is 0.
        pub depth: u64,
        /// Facts about it.
        pub facts: Vec<Fact>,
        /// What it does with a sync: "passes on", "not known" or "breaks".
        pub standing: String,
        /// The evidence or the reason; null if it passes syncs on.
        pub standing_reason: Option<String>,
        /// The command that would change it, shown and never run; null if there is none.
        pub remedy: Option<String>,
    }

    /// The layers under the directory.
    pub struct ProbeDevice {
        /// Facts about the mount.
        pub mount: Vec<Fact>,
        /// The layers from the file system down to the disks.
        pub layers: Vec<Layer>,
        /// Facts about the machine around it.
        pub environment: Vec<Fact>,
        /// What a reader must know to interpret the figures, one sentence each.
        pub sentences: Vec<String>,
        /// The file system's type; null if unknown.
        pub file_system: Option<String>,
        /// The whole disks at the bottom.
        pub disks: Vec<String>,
        /// The volatile cache as the kernel assumes it: "write back", "write through", "unknown".
        pub write_cache: String,
        /// Revolutions per minute of a spinning disk; null if it does not spin or does not report them.
        pub rpm: Option<u64>,
        /// The source of the revolutions; null if there is none.
        pub rpm_said_by: Option<String>,
        /// The model, if there is one disk and it reports a model.
        pub model: Option<String>,
        /// The command that would turn the write cache off, shown and never run.
        pub cache_off_command: Option<String>,
    }

    /// The figures of one sync method at one size, file state and number of outstanding syncs.
    pub struct Cell {
        /// The method.
        pub method: String,
        /// Bytes of one write.
        pub write_bytes: u64,
        /// "overwrite", "unwritten extents" or "append".
        pub file_state: String,
        /// "walk" or "same block".
        pub placement: String,
        /// The number of writers that waited for a sync at the same time.
        pub outstanding: u64,
        /// The fio command that does the same work; null where fio has none.
        pub fio: Option<String>,
        /// The figures; null if it was not measured.
        pub measured: Option<CellFigures>,
        /// "not possible: why" or "not run: why"; null if it was measured.
        pub reason: Option<String>,
    }

    /// The figures of a measured cell.
    pub struct CellFigures {
        /// Completed writes with their sync.
        pub syncs: u64,
        /// The time they took.
        pub elapsed_ns: u64,
        /// Syncs per second.
        pub rate_per_s: f64,
        /// How long one write with its sync took.
        pub latency_ns: Latency,
        /// The two separate modes of the distribution; null if there is one.
        pub modes: Option<Vec<Mode>>,
        /// Device writes per sync, idle rate subtracted.
        pub device_writes_per_sync: Counted,
        /// Device bytes per sync, idle rate subtracted.
        pub device_bytes_per_sync: Counted,
        /// Device flushes per sync, idle rate subtracted.
        pub flushes_per_sync: Counted,
        /// Rates of consecutive windows.
        pub windows: Vec<f64>,
        /// The length of a window.
        pub window_ns: u64,
        /// True if the last five windows lie within 5 %.
        pub steady: bool,
    }

    /// One of two separate modes of a distribution.
    pub struct Mode {
        /// The part of all values in it.
        pub share: f64,
        /// Its median.
        pub typical_ns: u64,
    }

    /// Direct writes without a sync: the baseline for the cost of a flush.
    pub struct PlainWrite {
        /// Bytes of one write.
        pub write_bytes: u64,
        /// Writes per second.
        pub rate_per_s: f64,
        /// How long one write took.
        pub latency_ns: Latency,
    }

    /// Random direct reads: the seek test.
    pub struct ReadCell {
        /// Bytes of one read.
        pub read_bytes: u64,
        /// The number of readers that waited at the same time.
        pub depth: u64,
        /// Size of the file they were spread over.
        pub file_bytes: u64,
        /// Reads per second; null if not measured.
        pub rate_per_s: Option<f64>,
        /// How long one read took; null if not measured.
        pub latency_ns: Option<Latency>,
        /// Why it was not measured; null if it was.
        pub reason: Option<String>,
    }

    /// A sequential direct transfer.
    pub struct SequentialCell {
        /// "read" or "write".
        pub direction: String,
        /// Bytes of one transfer.
        pub transfer_bytes: u64,
        /// Bytes per second; null if not measured.
        pub bytes_per_s: Option<f64>,
        /// Why it was not measured; null if it was.
        pub reason: Option<String>,
    }

    /// The counters of the disk below.
    pub struct FlushCounts {
        /// The disk; null if none was counted.
        pub disk: Option<String>,
        /// Flushes per second while the probe did nothing; null if not counted.
        pub idle_flushes_per_s: Option<f64>,
        /// Writes per second while the probe did nothing; null if not counted.
        pub idle_writes_per_s: Option<f64>,
        /// Why there are no figures; null if there are.
        pub reason: Option<String>,
    }

    /// The verdict on a directory, device or method.
    pub struct Verdict {
        /// The directory, device or method.
        pub subject: String,
        /// "not durable", "implausible", "consistent with flushing" or "unknown".
        pub word: String,
        /// The evidence or the reason.
        pub reason: String,
        /// The command that would change it, shown and never run; null if there is none.
        pub remedy: Option<String>,
    }

    /// A row of a survey that was planned and not run.
    pub struct NotRun {
        /// The store.
        pub target: String,
        /// The requested durability.
        pub durability: String,
        /// The client model.
        pub model: String,
        /// The number of clients.
        pub clients: u64,
        /// Why it was not run.
        pub reason: String,
    }

    /// The results of a probe.
    pub struct ProbeBody {
        /// The directory that was probed.
        pub directory: String,
        /// The machine; facts that a probe does not read are null.
        pub machine: Machine,
        /// How long it took, preparation included.
        pub duration_ns: u64,
        /// True if cells were too short to show more than a burst.
        pub quick: bool,
        /// "burst" or "steady".
        pub label: String,
        /// The layers under the directory.
        pub device: ProbeDevice,
        /// The sync line of the directory.
        pub sync_line: SyncLine,
        /// The sync cells, in the order they were measured.
        pub cells: Vec<Cell>,
        /// Direct writes without a sync; null if not measured.
        pub plain_write: Option<PlainWrite>,
        /// Random direct reads.
        pub reads: Vec<ReadCell>,
        /// Sequential direct transfers.
        pub sequential: Vec<SequentialCell>,
        /// The counters of the disk below.
        pub flush_counts: FlushCounts,
        /// The directory's verdict first, then those of single methods.
        pub verdicts: Vec<Verdict>,
        /// What a reader should know, one sentence each.
        pub notes: Vec<String>,
        /// Why the probe ended early; null if it is whole.
        pub cut_short: Option<String>,
        /// Rows of the survey this probe belongs to that were planned and not run.
        pub not_run: Vec<NotRun>,
        /// Whether the directory is good enough for products; empty unless the probe was asked for them.
        #[serde(default)]
        pub fitness: Vec<Fitness>,
        /// Its syncs at a low rate over time; null unless the probe was asked for them.
        #[serde(default)]
        pub over_time: Option<SyncsOverTime>,
    }
}

/// A probe's record, folded into one object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeRecord {
    /// The identity that every record starts with.
    #[serde(flatten)]
    pub identity: Identity,
    /// The results.
    #[serde(flatten)]
    pub body: ProbeBody,
}

impl ProbeRecord {
    /// The verdict on the directory itself.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.body.verdicts.first()
    }

    /// The cell of that kind, if it was measured.
    pub fn cell(
        &self,
        method: &str,
        write_bytes: u64,
        file_state: &str,
        outstanding: u64,
    ) -> Option<(&Cell, &CellFigures)> {
        self.body.cells.iter().find_map(|cell| {
            let fits = cell.method == method
                && cell.write_bytes == write_bytes
                && cell.file_state == file_state
                && cell.outstanding == outstanding;
            cell.measured.as_ref().filter(|_| fits).map(|figures| (cell, figures))
        })
    }
}

impl Described for ProbeRecord {
    fn schema(parts: &mut Map<String, Value>) -> Value {
        super::schema_macro::flat(
            parts,
            "ProbeRecord",
            "The record of one probe: the layers under a directory and its sync rates.",
            &[Identity::schema, ProbeBody::schema],
            &[],
        )
    }
}
