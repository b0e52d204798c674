//! The workload itself: its options, its table, its figures.

use super::transactions::MrowClient;
use crate::error::Error;
use crate::records::{self, READ_TASK, Table, Tally, WRITE_TASK};
use syncline_contract::{
    Check, Counts, Load, OptionArgs, OwnFigure, Plan, Rows, Session, Stop, TableId, Workload,
    options,
};

options! {
    /// What a user may choose.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Options {
        pub reads_per_task: u64 = 100 in 1..=100_000, "records that a task reads and compares";
        pub record_bytes_max: u64 = 1_024 in 1..=60_000,
            "the most bytes of a record; lengths are even from 1 up";
        pub records: u64 = 10_000 in 1..=1_000_000_000, "records at which the writer stops writing";
        pub prewritten: u64 = 2_500 in 1..=1_000_000_000, "records that are there at the start";
        pub records_per_commit: u64 = 1 in 1..=10_000,
            "records that the writer writes in a transaction";
        pub write_wait_us: u64 = 50 in 0..=60_000_000,
            "the writer's pause after each, in microseconds (2007: the least sleep of its host)";
    }
}

impl Options {
    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        let options = Options::read(given)?;
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
        self.options.pairs()
    }

    fn transactions(&self) -> &'static [&'static str] {
        &["read task", "write"]
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
        let tasks = counts.committed[READ_TASK] as f64 / counts.seconds;
        let writes = counts.committed[WRITE_TASK] as f64 / counts.seconds;
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
