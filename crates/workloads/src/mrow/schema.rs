//! The workload itself: its options, its table, its figures.

use super::transactions::MrowClient;
use crate::error::Error;
use crate::records::{self, Table, Tally};
use syncline_contract::{
    Check, Counts, Load, OptionArgs, OptionListing, OwnFigure, Plan, Rows, Session, Stop, TableId,
    Workload,
};

/// The position of a reader's task in the transactions.
pub(super) const READ_TASK: usize = 0;
/// The position of a write.
pub(super) const WRITE: usize = 1;

/// What a user may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Records that a task reads.
    pub reads_per_task: u64,
    /// The most bytes of a record.
    pub record_bytes_max: u64,
    /// Records at which the writer stops.
    pub records: u64,
    /// Records that are there at the start.
    pub prewritten: u64,
    /// Records of a write.
    pub records_per_commit: u64,
    /// The writer's pause after each, in microseconds.
    pub write_wait_us: u64,
}

impl Options {
    /// The options for a listing.
    pub const LISTING: &'static [OptionListing] = &[
        OptionListing {
            name: "reads_per_task",
            takes: "a whole number from 1 to 100000",
            default: "100",
            meaning: "records that a task reads and compares",
        },
        OptionListing {
            name: "record_bytes_max",
            takes: "a whole number from 1 to 60000",
            default: "1024",
            meaning: "the most bytes of a record; lengths are even from 1 up",
        },
        OptionListing {
            name: "records",
            takes: "a whole number from 1 to 1000000000",
            default: "10000",
            meaning: "records at which the writer stops writing",
        },
        OptionListing {
            name: "prewritten",
            takes: "a whole number from 1 to 1000000000",
            default: "2500",
            meaning: "records that are there at the start",
        },
        OptionListing {
            name: "records_per_commit",
            takes: "a whole number from 1 to 10000",
            default: "1",
            meaning: "records that the writer writes in a transaction",
        },
        OptionListing {
            name: "write_wait_us",
            takes: "a whole number from 0 to 60000000",
            default: "50",
            meaning: "the writer's pause after each, in microseconds (2007: the least sleep of its host)",
        },
    ];

    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        let number = |option, range, default| -> Result<u64, Error> {
            Ok(given.number(option, range)?.unwrap_or(default))
        };
        let options = Options {
            reads_per_task: number("reads_per_task", 1..=100_000, 100)?,
            record_bytes_max: number("record_bytes_max", 1..=60_000, 1_024)?,
            records: number("records", 1..=1_000_000_000, 10_000)?,
            prewritten: number("prewritten", 1..=1_000_000_000, 2_500)?,
            records_per_commit: number("records_per_commit", 1..=10_000, 1)?,
            write_wait_us: number("write_wait_us", 0..=60_000_000, 50)?,
        };
        if options.prewritten > options.records {
            return Err(Error::Excluded {
                workload: Mrow::NAME,
                what: "prewritten above records, at which the writer stops",
            });
        }
        Ok(options)
    }
}

/// The many-readers-one-writer workload.
#[derive(Debug)]
pub struct Mrow {
    pub(super) options: Options,
    pub(super) table: Table,
}

impl Mrow {
    /// Its name.
    pub const NAME: &'static str = "mrow";

    /// The workload with these options.
    pub fn new(options: Options) -> Mrow {
        Mrow { table: Table::new(options.record_bytes_max, options.prewritten), options }
    }
}

impl Workload for Mrow {
    type Client = MrowClient;

    fn name(&self) -> &'static str {
        Mrow::NAME
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        vec![
            ("reads_per_task", self.options.reads_per_task.to_string()),
            ("record_bytes_max", self.options.record_bytes_max.to_string()),
            ("records", self.options.records.to_string()),
            ("prewritten", self.options.prewritten.to_string()),
            ("records_per_commit", self.options.records_per_commit.to_string()),
            ("write_wait_us", self.options.write_wait_us.to_string()),
        ]
    }

    fn transactions(&self) -> &'static [&'static str] {
        &["read task", "write"]
    }

    fn always_writes(&self, transaction: usize) -> bool {
        transaction == WRITE
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
        let tasks = counts.committed[READ_TASK] as f64 / counts.seconds;
        let writes = counts.committed[WRITE] as f64 / counts.seconds;
        vec![
            OwnFigure {
                name: "tasks a second (published in 2007 as reads a second)",
                unit: "",
                value: tasks,
            },
            OwnFigure {
                name: "record reads a second",
                unit: "",
                value: tasks * self.options.reads_per_task as f64,
            },
            OwnFigure {
                name: "records written a second",
                unit: "",
                value: writes * self.options.records_per_commit as f64,
            },
        ]
    }

    fn client(&self, number: usize, _clients: usize, seed: u64) -> MrowClient {
        MrowClient::new(self, number, seed)
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
