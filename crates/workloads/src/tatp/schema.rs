//! The workload itself: its tables and operations.

use super::check;
use super::options::{Lookup, Options};
use super::population::{self, COLUMNS_EACH, SUB_NBR_BYTES};
use super::transactions::{NAMES, Tally, TatpClient};
use syncline_contract::{
    Any, By, Check, IndexId, Int, Kind, Limit, Load, Lock, Many, Path, Plan, Range, Read, Rows,
    Scan, Session, Set, Stop, Table, TableId, Text, Value, Workload, Write,
};

/// The tables; the last one only if subscribers are found through a table.
#[derive(Clone, Copy, Debug)]
struct Tables {
    subscriber: TableId,
    access_info: TableId,
    special_facility: TableId,
    call_forwarding: TableId,
    sub_nbr: Option<TableId>,
}

/// The operations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operations {
    pub(super) subscriber: Read<(Int,), Many<Any>>,
    pub(super) find: Read<(Text,), (Int,)>,
    pub(super) set_bit: Write<(Int, Int)>,
    pub(super) set_location: Write<(Int, Int)>,
    pub(super) access: Read<(Int, Int), (Int, Int, Text, Text)>,
    pub(super) is_active: Read<(Int, Int), (Int,)>,
    pub(super) facility: Read<(Int, Int), (Int,)>,
    pub(super) facilities: Read<(Int,), (Int,)>,
    pub(super) set_data: Write<(Int, Int, Int)>,
    /// Start, end and number of the forwardings of a special facility.
    pub(super) forwardings: Read<(Int, Int), (Int, Int, Text)>,
    pub(super) forwarding: Read<(Int, Int, Int), (Int,)>,
    pub(super) new_forwarding: Write<(Int, Int, Int, Int, Text)>,
    pub(super) delete_forwarding: Write<(Int, Int, Int)>,
}

/// The operations of the check: rows of a range of subscribers.
#[derive(Debug)]
pub(super) struct CheckQueries {
    pub(super) subscribers: Read<(Int, Int), (Int, Text)>,
    pub(super) access: Read<(Int, Int), (Int, Int)>,
    pub(super) facilities: Read<(Int, Int), (Int, Int)>,
    pub(super) forwardings: Read<(Int, Int), (Int, Int, Int)>,
    pub(super) counts: [Read<(), (Int,)>; 4],
}

/// The TATP workload.
#[derive(Debug)]
pub struct Tatp {
    pub(super) options: Options,
    plan: Plan,
    tables: Tables,
    pub(super) operations: Operations,
    pub(super) check_queries: CheckQueries,
}

impl Tatp {
    /// Its name.
    pub const NAME: &'static str = "tatp";

    /// The workload with these options.
    pub fn new(options: Options) -> Tatp {
        let mut plan = Plan::new();
        let tables = tables(options.lookup, &mut plan);
        Tatp {
            options,
            operations: operations(&tables, &mut plan),
            check_queries: check_queries(&tables, &mut plan),
            tables,
            plan,
        }
    }
}

fn tables(lookup: Lookup, plan: &mut Plan) -> Tables {
    let integers = |table, names: &[&'static str]| {
        names.iter().fold(table, |table: Table, name| table.column(*name, Kind::Int))
    };
    let mut subscriber =
        Table::new("subscriber").column("s_id", Kind::Int).text("sub_nbr", SUB_NBR_BYTES as u32);
    for width in ["bit", "hex", "byte2"] {
        for number in 1..=COLUMNS_EACH {
            subscriber = subscriber.column(format!("{width}_{number}"), Kind::Int);
        }
    }
    subscriber = integers(subscriber, &["msc_location", "vlr_location"]).key(&["s_id"]);
    if lookup == Lookup::Index {
        subscriber = subscriber.index("subscriber_sub_nbr", &["sub_nbr"], true);
    }
    let access_info = integers(Table::new("access_info"), &["s_id", "ai_type", "data1", "data2"])
        .text("data3", 3)
        .text("data4", 5)
        .key(&["s_id", "ai_type"]);
    let facility = ["s_id", "sf_type", "is_active", "error_cntrl", "data_a"];
    let special_facility = integers(Table::new("special_facility"), &facility)
        .text("data_b", 5)
        .key(&["s_id", "sf_type"]);
    let forwarding = ["s_id", "sf_type", "start_time", "end_time"];
    let call_forwarding = integers(Table::new("call_forwarding"), &forwarding)
        .text("numberx", SUB_NBR_BYTES as u32)
        .key(&["s_id", "sf_type", "start_time"]);
    let sub_nbr = || {
        Table::new("sub_nbr")
            .text("sub_nbr", SUB_NBR_BYTES as u32)
            .column("s_id", Kind::Int)
            .key(&["sub_nbr"])
    };
    Tables {
        subscriber: plan.table(subscriber),
        access_info: plan.table(access_info),
        special_facility: plan.table(special_facility),
        call_forwarding: plan.table(call_forwarding),
        sub_nbr: (lookup == Lookup::Table).then(|| plan.table(sub_nbr())),
    }
}

/// A scan of the rows whose first key columns equal the parameters.
fn equal(table: TableId, by: By, equal: usize, columns: &'static [&'static str]) -> Scan<'static> {
    Scan::ascending(Path { table, by, equal, range: Range::All }, Limit::None, columns)
}

fn operations(tables: &Tables, plan: &mut Plan) -> Operations {
    let Tables {
        subscriber,
        access_info,
        special_facility: facility,
        call_forwarding: forwarding,
        sub_nbr,
    } = *tables;
    let columns = plan.tables()[subscriber.0].columns.iter();
    let all: Vec<String> = columns.map(|column| column.name.to_string()).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let by_index = equal(subscriber, By::Index(IndexId(0)), 1, &["s_id"]);
    let data = ["data1", "data2", "data3", "data4"];
    let forwarded = ["start_time", "end_time", "numberx"];
    let of_facility = Scan { columns: &forwarded, ..equal(forwarding, By::Key, 2, &[]) };
    Operations {
        subscriber: plan.get("read subscriber", subscriber, &all, Lock::None),
        find: match sub_nbr {
            None => plan.scan("find subscriber", by_index),
            Some(table) => plan.get("find subscriber", table, &["s_id"], Lock::None),
        },
        set_bit: plan.update("set bit", subscriber, &[("bit_1", Set::To)]),
        set_location: plan.update("set location", subscriber, &[("vlr_location", Set::To)]),
        access: plan.get("read access", access_info, &data, Lock::None),
        is_active: plan.get("read facility", facility, &["is_active"], Lock::None),
        facility: plan.get("lock facility", facility, &["sf_type"], Lock::Update),
        facilities: plan.scan("read facilities", equal(facility, By::Key, 1, &["sf_type"])),
        set_data: plan.update("set data", facility, &[("data_a", Set::To)]),
        forwardings: plan.scan("read forwardings", of_facility),
        forwarding: plan.get("lock forwarding", forwarding, &["end_time"], Lock::Update),
        new_forwarding: plan.insert("insert forwarding", forwarding),
        delete_forwarding: plan.delete("delete forwarding", forwarding),
    }
}

fn check_queries(tables: &Tables, plan: &mut Plan) -> CheckQueries {
    let between = |table, columns| {
        Scan::ascending(Path::by_key(table, 0, Range::Between), Limit::None, columns)
    };
    let counted =
        [tables.subscriber, tables.access_info, tables.special_facility, tables.call_forwarding];
    let counts = counted.map(|table| {
        let all = Path::by_key(table, 0, Range::All);
        plan.aggregate("count rows", all, syncline_contract::Aggregate::Count)
    });
    let subscribers = between(tables.subscriber, &["s_id", "sub_nbr"]);
    let access = between(tables.access_info, &["s_id", "ai_type"]);
    let facilities = between(tables.special_facility, &["s_id", "sf_type"]);
    let starts: &[&str] = &["s_id", "sf_type", "start_time"];
    let forwardings = between(tables.call_forwarding, starts);
    CheckQueries {
        subscribers: plan.scan("read subscribers", subscribers),
        access: plan.scan("read all access", access),
        facilities: plan.scan("read all facilities", facilities),
        forwardings: plan.scan("read all forwardings", forwardings),
        counts,
    }
}

impl Workload for Tatp {
    type Client = TatpClient;

    fn name(&self) -> &'static str {
        Tatp::NAME
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        self.options.pairs()
    }

    fn transactions(&self) -> &'static [&'static str] {
        &NAMES
    }

    /// A location or a bit may be set to its present value, which some stores do not write.
    fn always_writes(&self, transaction: usize) -> bool {
        matches!(NAMES[transaction], "insert call forwarding" | "delete call forwarding")
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn loads(&self) -> Vec<Load> {
        let units = self.options.subscribers;
        let Tables { subscriber, access_info, special_facility, call_forwarding, sub_nbr } =
            self.tables;
        let all = [subscriber, access_info, special_facility, call_forwarding];
        let tables = all.into_iter().chain(sub_nbr);
        tables.map(|table| Load { table, units }).collect()
    }

    fn load_unit(&self, table: TableId, number: u64, batch: &mut Rows) {
        let s_id = number as i64 + 1;
        if table == self.tables.subscriber {
            population::subscriber(s_id, batch);
        } else if table == self.tables.access_info {
            population::access_info(s_id, batch);
        } else if table == self.tables.special_facility {
            population::special_facility(s_id, batch);
        } else if table == self.tables.call_forwarding {
            population::call_forwarding(s_id, batch);
        } else {
            let digits = population::sub_nbr(s_id);
            batch.push_row(&[Value::Text(population::text(&digits)), Value::Int(s_id)]);
        }
    }

    fn client(&self, number: usize, _clients: usize, seed: u64) -> TatpClient {
        TatpClient::new(self, number, seed)
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
