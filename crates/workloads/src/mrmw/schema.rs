//! The workload itself: its options, its table, its figures.

use super::transactions::MrmwClient;
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
        pub readers: u64 = 80 in 0..=100, "percentage of tasks that read; the others write";
        pub reads_per_task: u64 = 100 in 1..=100_000, "records that a reader reads and compares";
        pub writes_per_task: u64 = 100 in 1..=10_000,
            "records that a writer writes in its transaction";
        pub newest: u64 = 4 in 0..=100,
            "percentage of reads that read the newest record, on purpose";
        pub record_bytes_max: u64 = 1_024 in 1..=60_000,
            "the most bytes of a record; lengths are even from 1 up";
        pub prewritten: u64 = 5_000 in 1..=1_000_000_000, "records that are there at the start";
        pub records_max: u64 = 800_000 in 1..=1_000_000_000,
            "records from which on all tasks read (2007: 400 MB)";
    }
}

impl Options {
    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        Ok(Options::read(given)?)
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
        self.options.pairs()
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
