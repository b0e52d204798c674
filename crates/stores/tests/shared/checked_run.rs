//! A workload on SQLite in a directory of its own, and its checks.

use rusqlite::Connection;
use std::path::PathBuf;
use syncline_contract::conformance::block_on;
use syncline_contract::{Check, Rows, Session, Target, Workload};
use syncline_stores::{AnySession, AnyTarget, AnyWorker};
use syncline_workloads::{AnyTally, AnyWorkload};

/// The number of clients of every run.
pub(crate) const CLIENTS: usize = 3;
/// How many rows a batch of a load has.
const BATCH_ROWS: u64 = 500;

/// A database with the workload's loaded rows.
pub(crate) struct CheckedRun {
    folder: tempfile::TempDir,
    target: AnyTarget,
    pub(crate) worker: AnyWorker,
    pub(crate) workload: AnyWorkload,
}

impl CheckedRun {
    /// With options of the store's URL and of the workload.
    pub(crate) fn new(url_options: &str, name: &str, options: &[(&str, &str)]) -> CheckedRun {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("store.db");
        let url = format!("sqlite:{}?durability=os&{url_options}", file.display());
        let target = AnyTarget::open(&url).unwrap();
        let pairs = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let workload = AnyWorkload::parse(name, &pairs.collect::<Vec<_>>()).unwrap();
        workload.run_begins(0);
        block_on(&(), target.create(workload.plan())).unwrap();
        let worker = target.worker().unwrap();
        let run = CheckedRun { folder, target, worker, workload };
        block_on(&run.worker, run.load());
        run
    }

    async fn load(&self) {
        let mut session = self.connect().await;
        for load in self.workload.loads() {
            let width = self.workload.plan().tables()[load.table.0].columns.len();
            let mut batch = Rows::new(width);
            for unit in 0..load.units {
                self.workload.load_unit(load.table, unit, &mut batch);
                if unit % BATCH_ROWS == BATCH_ROWS - 1 || unit + 1 == load.units {
                    session.load(load.table, &batch).await.unwrap();
                    batch.reset(width);
                }
            }
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }

    pub(crate) async fn connect(&self) -> AnySession {
        self.target.connect(self.workload.plan(), &self.worker).await.unwrap()
    }

    /// Damages the database with SQL, through another connection.
    pub(crate) fn damage_store(&self, sql: &str) {
        let harmed = Connection::open(self.path()).unwrap().execute_batch(sql);
        harmed.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    pub(crate) fn check(&self, tallies: Vec<AnyTally>) -> Vec<Check> {
        block_on(&self.worker, async {
            let mut session = self.connect().await;
            self.workload.check(tallies, &mut session).await.unwrap()
        })
    }
}
