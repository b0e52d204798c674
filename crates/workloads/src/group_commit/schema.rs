//! The workload itself: its option, table and operations.

use super::check;
use super::transactions::{GroupCommitClient, Tally};
use crate::error::Error;
use syncline_contract::{
    Aggregate, Check, Counts, Int, Kind, Limit, OptionArgs, OwnFigure, Path, Plan, Range, Read,
    Scan, Session, Stop, Table, Workload, Write, options,
};

options! {
    /// What a user may choose.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Options {
        pub ninsert: u64 = 100 in 1..=100_000, "inserts of a task";
    }
}

impl Options {
    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        Ok(Options::read(given)?)
    }
}

/// The group commit workload.
#[derive(Debug)]
pub struct GroupCommit {
    pub(super) options: Options,
    plan: Plan,
    pub(super) insert: Write<(Int, Int, Int)>,
    /// The rows of a range of tasks.
    pub(super) of_tasks: Read<(Int, Int), (Int, Int, Int)>,
    pub(super) count: Read<(), (Int,)>,
}

impl GroupCommit {
    /// Its name.
    pub const NAME: &'static str = "group-commit";

    /// The workload with these options.
    pub fn new(options: Options) -> GroupCommit {
        let mut plan = Plan::new();
        let columns = ["task", "item", "value"];
        let table = columns
            .iter()
            .fold(Table::new("tasks"), |table, column| table.column(*column, Kind::Int));
        let table = plan.table(table.key(&["task", "item"]));
        let path = |range| Path::by_key(table, 0, range);
        let of_tasks = Scan::ascending(path(Range::Between), Limit::None, &columns);
        GroupCommit {
            options,
            insert: plan.insert("insert row", table),
            of_tasks: plan.scan("read rows of tasks", of_tasks),
            count: plan.aggregate("count rows", path(Range::All), Aggregate::Count),
            plan,
        }
    }
}

impl Workload for GroupCommit {
    type Client = GroupCommitClient;

    fn name(&self) -> &'static str {
        GroupCommit::NAME
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        self.options.pairs()
    }

    fn transactions(&self) -> &'static [&'static str] {
        &["task"]
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn client(&self, number: usize, clients: usize, _seed: u64) -> GroupCommitClient {
        GroupCommitClient::new(self, number, clients)
    }

    fn figures(&self, counts: &Counts<'_>) -> Vec<OwnFigure> {
        let tasks = counts.committed[0] as f64 / counts.seconds;
        let inserts = tasks * self.options.ninsert as f64;
        [("tasks a second", tasks), ("inserts a second", inserts)]
            .map(|(name, value)| OwnFigure { name, unit: "", value })
            .to_vec()
    }

    async fn check<S: Session>(
        &self,
        tallies: Vec<Tally>,
        session: &mut S,
    ) -> Result<Vec<Check>, Stop> {
        check::check(self, &tallies, session).await
    }

    fn check_names(&self) -> Vec<&'static str> {
        check::names().to_vec()
    }
}
