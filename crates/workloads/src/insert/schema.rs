//! The workload itself: its options, its one table and its operations.

use super::body::BODY_BYTES;
use super::check;
use super::keys::Keys;
use super::transactions::{InsertClient, Tally};
use crate::error::Error;
use syncline_contract::{
    Check, Int, Kind, Limit, Lock, OptionArgs, Path, Plan, Range, Read, Scan, Session, Stop, Table,
    TableId, Text, Unit, Workload, Write, options, words,
};

/// Rows per page of the check.
pub(super) const PAGE_ROWS: u64 = 1_000;

words! {
    /// How the check reads the rows back.
    pub enum CheckBy {
        /// A scan of the whole table, which also finds what should not be there.
        Scan = "scan",
        /// A get of every acknowledged row, for stores that cannot scan.
        Get = "get",
    }
}

options! {
    /// What a user may choose.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Options {
        pub commit_every: u64 = 1 in 1..=1_000_000, "inserts in a transaction";
        pub keys: Keys = "ascending",
            "who chooses keys: the clients in order, the clients spread evenly, the store";
        pub check: CheckBy = "scan",
            "how the rows are read back after the run; get is for stores that cannot scan";
    }
}

impl Options {
    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        let options = Options::read(given)?;
        if options.keys == Keys::Server && options.check == CheckBy::Get {
            let what =
                "keys=server with check=get, since only a scan finds keys that the store chose";
            return Err(Error::Excluded { workload: Insert::NAME, what });
        }
        Ok(options)
    }
}

/// The insert of a row, by the way its key is chosen.
#[derive(Clone, Copy, Debug)]
pub(super) enum InsertRow {
    Ascending(Write<(Int, Text)>),
    Random(Write<(Int, Text)>),
    ByServer(Write<(Text,)>),
}

/// How rows are read back.
#[derive(Debug)]
pub(super) enum ReadBack {
    /// Up to [`PAGE_ROWS`] rows, starting at a key.
    Page(Read<(Int,), (Int, Text)>),
    /// One row.
    One(Read<(Int,), (Int, Text)>),
}

/// The insert workload.
#[derive(Debug)]
pub struct Insert {
    pub(super) options: Options,
    plan: Plan,
    pub(super) new_row: InsertRow,
    pub(super) read_back: ReadBack,
}

impl Insert {
    /// Its name.
    pub const NAME: &'static str = "insert";

    /// The workload with these options.
    pub fn new(options: Options) -> Insert {
        let mut plan = Plan::new();
        let columns = Table::new("inserts").column("id", Kind::Int).text("body", BODY_BYTES as u32);
        let table = plan.table(match options.keys {
            Keys::Ascending | Keys::Random => columns.key(&["id"]),
            Keys::Server => columns.key_by_server("id"),
        });
        let new_row = match options.keys {
            Keys::Ascending => InsertRow::Ascending(plan.insert("insert row", table)),
            Keys::Random => InsertRow::Random(plan.insert("insert row", table)),
            Keys::Server => InsertRow::ByServer(plan.insert("insert row", table)),
        };
        let read_back = match options.check {
            CheckBy::Scan => ReadBack::Page(plan.scan("read rows from key", page(table))),
            CheckBy::Get => ReadBack::One(plan.get("read row", table, &["id", "body"], Lock::None)),
        };
        Insert { options, plan, new_row, read_back }
    }
}

fn page(table: TableId) -> Scan<'static> {
    let from_key = Path::by_key(table, 0, Range::From);
    Scan::ascending(from_key, Limit::Fixed(PAGE_ROWS), &["id", "body"])
}

impl Workload for Insert {
    type Client = InsertClient;

    fn name(&self) -> &'static str {
        Insert::NAME
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        self.options.pairs()
    }

    fn transactions(&self) -> &'static [&'static str] {
        &["insert"]
    }

    fn unit(&self) -> Unit {
        Unit { name: "inserts", per_transaction: self.options.commit_every }
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn client(&self, number: usize, clients: usize, seed: u64) -> InsertClient {
        InsertClient::new(self, number, clients, seed)
    }

    async fn check<S: Session>(
        &self,
        tallies: Vec<Tally>,
        session: &mut S,
    ) -> Result<Vec<Check>, Stop> {
        check::check(self, &tallies, session).await
    }

    fn check_names(&self) -> Vec<&'static str> {
        check::names(&self.options)
    }
}
