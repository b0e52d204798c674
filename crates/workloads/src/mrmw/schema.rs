//! The workload itself: its options, its table, its figures.

use super::transactions::MrmwClient;
use crate::error::Error;
use crate::records::{self, Table, Tally};
use syncline_contract::{
    Check, Counts, Load, OptionArgs, OptionListing, OwnFigure, Plan, Rows, Session, Stop, TableId,
    Workload,
};

/// The position of a reader's task in the transactions.
pub(super) const READ_TASK: usize = 0;
/// The position of a writer's task.
pub(super) const WRITE_TASK: usize = 1;

/// What a user may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Of a hundred tasks, so many read.
    pub readers: u64,
    /// Records that a reader reads.
    pub reads_per_task: u64,
    /// Records that a writer writes.
    pub writes_per_task: u64,
    /// Of a hundred reads, so many of the newest record.
    pub newest: u64,
    /// The most bytes of a record.
    pub record_bytes_max: u64,
    /// Records that are there at the start.
    pub prewritten: u64,
    /// Records from which on all tasks read.
    pub records_max: u64,
}

impl Options {
    /// The options for a listing.
    pub const LISTING: &'static [OptionListing] = &[
        OptionListing {
            name: "readers",
            takes: "a whole number from 0 to 100",
            default: "80",
            meaning: "percentage of tasks that read; the others write",
        },
        OptionListing {
            name: "reads_per_task",
            takes: "a whole number from 1 to 100000",
            default: "100",
            meaning: "records that a reader reads and compares",
        },
        OptionListing {
            name: "writes_per_task",
            takes: "a whole number from 1 to 10000",
            default: "100",
            meaning: "records that a writer writes in its transaction",
        },
        OptionListing {
            name: "newest",
            takes: "a whole number from 0 to 100",
            default: "4",
            meaning: "percentage of reads that read the newest record, on purpose",
        },
        OptionListing {
            name: "record_bytes_max",
            takes: "a whole number from 1 to 60000",
            default: "1024",
            meaning: "the most bytes of a record; lengths are even from 1 up",
        },
        OptionListing {
            name: "prewritten",
            takes: "a whole number from 1 to 1000000000",
            default: "5000",
            meaning: "records that are there at the start",
        },
        OptionListing {
            name: "records_max",
            takes: "a whole number from 1 to 1000000000",
            default: "800000",
            meaning: "records from which on all tasks read (2007: 400 MB)",
        },
    ];

    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        let number = |option, range, default| -> Result<u64, Error> {
            Ok(given.number(option, range)?.unwrap_or(default))
        };
        Ok(Options {
            readers: number("readers", 0..=100, 80)?,
            reads_per_task: number("reads_per_task", 1..=100_000, 100)?,
            writes_per_task: number("writes_per_task", 1..=10_000, 100)?,
            newest: number("newest", 0..=100, 4)?,
            record_bytes_max: number("record_bytes_max", 1..=60_000, 1_024)?,
            prewritten: number("prewritten", 1..=1_000_000_000, 5_000)?,
            records_max: number("records_max", 1..=1_000_000_000, 800_000)?,
        })
    }
}

/// The many-readers-many-writers workload.
#[derive(Debug)]
pub struct Mrmw {
    pub(super) options: Options,
    pub(super) table: Table,
}

impl Mrmw {
    /// Its name.
    pub const NAME: &'static str = "mrmw";

    /// The workload with these options.
    pub fn new(options: Options) -> Mrmw {
        Mrmw { table: Table::new(options.record_bytes_max, options.prewritten), options }
    }
}

impl Workload for Mrmw {
    type Client = MrmwClient;

    fn name(&self) -> &'static str {
        Mrmw::NAME
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        vec![
            ("readers", self.options.readers.to_string()),
            ("reads_per_task", self.options.reads_per_task.to_string()),
            ("writes_per_task", self.options.writes_per_task.to_string()),
            ("newest", self.options.newest.to_string()),
            ("record_bytes_max", self.options.record_bytes_max.to_string()),
            ("prewritten", self.options.prewritten.to_string()),
            ("records_max", self.options.records_max.to_string()),
        ]
    }

    fn transactions(&self) -> &'static [&'static str] {
        &["read task", "write task"]
    }

    fn always_writes(&self, transaction: usize) -> bool {
        transaction == WRITE_TASK
    }

    fn plan(&self) -> &Plan {
        self.table.plan()
    }

    fn loads(&self) -> Vec<Load> {
        vec![Load { table: self.table.id, units: self.options.prewritten }]
    }

    fn load_unit(&self, _table: TableId, number: u64, batch: &mut Rows) {
        self.table.load(number, batch);
    }

    fn run_begins(&self, _salt: u64) {
        self.table.new_rows.reset(self.options.prewritten);
    }

    fn figures(&self, counts: &Counts<'_>) -> Vec<OwnFigure> {
        if counts.seconds <= 0.0 {
            return Vec::new();
        }
        let a_second =
            |kind: usize, each: u64| counts.committed[kind] as f64 / counts.seconds * each as f64;
        let reads = a_second(READ_TASK, self.options.reads_per_task);
        let writes = a_second(WRITE_TASK, self.options.writes_per_task);
        let mean_mb = (self.options.record_bytes_max + 1) as f64 / 2.0 / 1e6;
        let of = |unit, name, value| OwnFigure { name, unit, value };
        let figure = |name, value| of("", name, value);
        vec![
            figure("tasks a second", a_second(READ_TASK, 1) + a_second(WRITE_TASK, 1)),
            figure("record reads a second", reads),
            figure("records written a second", writes),
            of("MB", "verified a second, at the mean length", reads * mean_mb),
            of("MB", "written a second, at the mean length", writes * mean_mb),
        ]
    }

    fn client(&self, number: usize, _clients: usize, seed: u64) -> MrmwClient {
        MrmwClient::new(self, number, seed)
    }

    async fn check<S: Session>(
        &self,
        tallies: Vec<Tally>,
        session: &mut S,
    ) -> Result<Vec<Check>, Stop> {
        records::check(&self.table, &tallies, session).await
    }

    fn check_names(&self) -> Vec<&'static str> {
        records::NAMES.to_vec()
    }
}
