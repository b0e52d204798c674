//! The tables and operations of the cases; what the target does not claim is not declared.

use crate::capabilities::Capabilities;
use crate::fields::{Bytes, Exact, Float, Int, Nullable, Text, Timestamp};
use crate::operation::{Aggregate, By, Limit, Lock, Order, Path, Range, Set, Side};
use crate::outcome::Stop;
use crate::plan::{Plan, Read, Scan, Write};
use crate::schema::{IndexId, Table, TableId};
use crate::session::Session;
use crate::transaction::Transaction;
use crate::value::{Decimal, Kind};

/// A row of table samples: one column of every kind.
pub(super) type Sample =
    (Int, Int, Float, Exact, Text, Bytes, Timestamp, Nullable<Text>, Nullable<Int>);

/// The plan and its handles.
#[derive(Debug)]
pub(super) struct TestSchema {
    pub(super) plan: Plan,
    pub(super) samples: TableId,
    pub(super) insert: Write<Sample>,
    pub(super) get: Read<(Int,), Sample>,
    pub(super) get_whole: Read<(Int,), (Int,)>,
    pub(super) get_whole_for_update: Read<(Int,), (Int,)>,
    pub(super) set: Write<(Int, Int, Nullable<Text>, Nullable<Int>)>,
    pub(super) set_whole: Write<(Int, Int)>,
    pub(super) add: Write<(Int, Int, Float, Exact)>,
    pub(super) add_amount: Write<(Int, Nullable<Int>)>,
    pub(super) delete: Write<(Int,)>,
    pub(super) insert_part: Write<(Int, Int, Text, Int, Exact, Int)>,
    pub(super) get_part: Read<(Int, Int), (Text, Int, Exact, Int)>,
    pub(super) set_colour: Write<(Int, Int, Text)>,
    pub(super) change_part: Write<(Int, Int, Text, Int)>,
    pub(super) put_part: Write<(Int, Int, Text, Int, Exact, Int)>,
    pub(super) delete_part: Write<(Int, Int)>,
    pub(super) remove_part: Write<(Int, Int)>,
    pub(super) insert_box: Write<(Int, Text)>,
    pub(super) scans: Option<Scans>,
    pub(super) indexed: Option<Indexed>,
    pub(super) joins: Option<Joins>,
    pub(super) figures: Option<Figures>,
    pub(super) by_server: Option<ByServer>,
}

/// Scans by primary key.
#[derive(Debug)]
pub(super) struct Scans {
    pub(super) of_box: Read<(Int,), (Int,)>,
    pub(super) of_box_backwards: Read<(Int,), (Int, Text)>,
    pub(super) from_parameter: Read<(Int, Int, Int), (Int,)>,
    pub(super) between_backwards_two: Read<(Int, Int, Int), (Int,)>,
    pub(super) all: Read<(), (Int, Int)>,
    pub(super) from_box: Read<(Int,), (Int, Int)>,
    pub(super) exactly: Read<(Int, Int), (Text,)>,
    pub(super) sorted_stocks: Read<(Int,), (Int,)>,
    pub(super) distinct_colours: Read<(Int,), (Text,)>,
    pub(super) insert_event: Write<(Int, Int)>,
    pub(super) events: Read<(), (Int, Int)>,
}

/// Scans by secondary index.
#[derive(Debug)]
pub(super) struct Indexed {
    pub(super) of_colour: Read<(Text,), (Int, Int)>,
    pub(super) of_colour_from_backwards: Read<(Text, Int), (Int,)>,
    pub(super) of_code: Read<(Int,), (Int, Int)>,
    pub(super) codes_between: Read<(Int, Int), (Int,)>,
}

/// Joins in both directions.
#[derive(Debug)]
pub(super) struct Joins {
    pub(super) parts_with_label: Read<(Int,), (Int, Text)>,
    pub(super) box_with_parts: Read<(Int,), (Text, Int)>,
}

/// Aggregates over the parts of a box.
#[derive(Debug)]
pub(super) struct Figures {
    pub(super) count: Read<(Int,), (Int,)>,
    pub(super) colours: Read<(Int,), (Int,)>,
    pub(super) stock: Read<(Int,), (Nullable<Int>,)>,
    pub(super) price: Read<(Int,), (Nullable<Exact>,)>,
    pub(super) least_colour: Read<(Int,), (Nullable<Text>,)>,
    pub(super) most_stock: Read<(Int,), (Nullable<Int>,)>,
    pub(super) count_from: Read<(Int, Int), (Int,)>,
    pub(super) sample_parts: Read<(), (Nullable<Float>,)>,
}

/// A table whose keys the store generates.
#[derive(Debug)]
pub(super) struct ByServer {
    pub(super) notes: TableId,
    pub(super) insert: Write<(Text,)>,
    pub(super) all: Option<Read<(), (Int, Text)>>,
    pub(super) get: Read<(Int,), (Text,)>,
}

/// A part: box, number, colour, stock, price in hundredths, code.
pub(super) type Part = (i64, i64, &'static str, i64, i64, i64);

/// The parts that scans and aggregates read. Numbers are negative and positive, with one and two digits, so
/// that sorting by text or by unsigned bytes is detected.
pub(super) const PARTS: [Part; 7] = [
    (1, 1, "red", 5, 250, 100),
    (1, 2, "blue", 0, 199, 101),
    (1, 3, "red", 7, -50, 102),
    (2, -20, "red", 1, 1, 9),
    (2, -3, "green", 2, 2, 10),
    (2, 4, "red", 3, 3, -7),
    (2, 10, "blue", 4, 4, 1000),
];

impl TestSchema {
    pub(super) fn new(can: &Capabilities) -> TestSchema {
        let mut plan = Plan::new();
        let samples = plan.table(samples());
        let parts = plan.table(parts(can.indexes));
        let boxes = plan
            .table(Table::new("boxes").column("box", Kind::Int).text("label", 20).key(&["box"]));
        let all = ["id", "whole", "part", "price", "name", "blob", "at", "note", "amount"];
        TestSchema {
            samples,
            insert: plan.insert("insert sample", samples),
            get: plan.get("get sample", samples, &all, Lock::None),
            get_whole: plan.get("get whole", samples, &["whole"], Lock::None),
            get_whole_for_update: plan.get(
                "get whole for update",
                samples,
                &["whole"],
                Lock::Update,
            ),
            set: plan.update(
                "set sample",
                samples,
                &[("whole", Set::To), ("note", Set::To), ("amount", Set::To)],
            ),
            set_whole: plan.update("set whole", samples, &[("whole", Set::To)]),
            add: plan.update(
                "add to sample",
                samples,
                &[("whole", Set::Add), ("part", Set::Add), ("price", Set::Add)],
            ),
            add_amount: plan.update("add to amount", samples, &[("amount", Set::Add)]),
            delete: plan.delete("delete sample", samples),
            insert_part: plan.insert("insert part", parts),
            get_part: plan.get(
                "get part",
                parts,
                &["colour", "stock", "price", "code"],
                Lock::None,
            ),
            set_colour: plan.update("set colour", parts, &[("colour", Set::To)]),
            change_part: plan.change(
                "change part",
                parts,
                &[("colour", Set::To), ("stock", Set::Add)],
            ),
            put_part: plan.put("put part", parts),
            delete_part: plan.delete("delete part", parts),
            remove_part: plan.remove("remove part", parts),
            insert_box: plan.insert("insert box", boxes),
            scans: can.scans.then(|| Scans::new(&mut plan, parts)),
            indexed: (can.scans && can.indexes).then(|| Indexed::new(&mut plan, parts)),
            joins: can.joins.then(|| Joins::new(&mut plan, parts, boxes)),
            figures: can.aggregates.then(|| Figures::new(&mut plan, parts, samples)),
            by_server: can.keys_by_server.then(|| ByServer::new(&mut plan, can.scans)),
            plan,
        }
    }

    /// Inserts [`PARTS`] and the boxes 1, 2 and 3; the last is empty.
    pub(super) fn fill<S: Session>(
        &self,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        for (of, number, colour, stock, price, code) in PARTS {
            let price = cents(price);
            transaction.write(&self.insert_part, (of, number, colour, stock, price, code))?;
        }
        for (number, label) in [(1, "first"), (2, "second"), (3, "empty")] {
            transaction.write(&self.insert_box, (number, label))?;
        }
        Ok(())
    }

    /// Inserts a plain sample with this key and whole number.
    pub(super) fn plain<S: Session>(
        &self,
        transaction: &mut Transaction<'_, S>,
        id: i64,
        whole: i64,
    ) -> Result<(), Stop> {
        let row = (id, whole, 0.5, cents(100), "plain", &b"plain"[..], 0, None, None);
        transaction.write(&self.insert, row)
    }
}

/// A decimal with two digits after the point.
pub(super) fn cents(units: i64) -> Decimal {
    Decimal { units, scale: 2 }
}

fn samples() -> Table {
    Table::new("samples")
        .column("id", Kind::Int)
        .column("whole", Kind::Int)
        .column("part", Kind::Float)
        .column("price", Kind::Decimal { scale: 2 })
        .text("name", 100)
        .bytes("blob", 200)
        .column("at", Kind::Timestamp)
        .text("note", 50)
        .nullable()
        .column("amount", Kind::Int)
        .nullable()
        .key(&["id"])
}

fn parts(indexes: bool) -> Table {
    let table = Table::new("parts")
        .column("box", Kind::Int)
        .column("number", Kind::Int)
        .text("colour", 10)
        .column("stock", Kind::Int)
        .column("price", Kind::Decimal { scale: 2 })
        .column("code", Kind::Int)
        .key(&["box", "number"]);
    if indexes {
        table.index("parts_by_colour", &["colour", "stock"], false).index(
            "parts_by_code",
            &["code"],
            true,
        )
    } else {
        table
    }
}

fn path(table: TableId, by: By, equal: usize, range: Range) -> Path {
    Path { table, by, equal, range }
}

fn scan(path: Path, order: Order, limit: Limit, columns: &'static [&'static str]) -> Scan<'static> {
    Scan { path, order, limit, columns, lock: Lock::None }
}

impl Scans {
    fn new(plan: &mut Plan, parts: TableId) -> Scans {
        use Limit::{Fixed, None, Parameter};
        use Order::{Ascending, Descending};
        let by_key = |equal, range| path(parts, By::Key, equal, range);
        let events = plan
            .table(Table::new("events").column("happened", Kind::Int).column("what", Kind::Int));
        Scans {
            of_box: plan
                .scan("scan box", scan(by_key(1, Range::All), Ascending, None, &["number"])),
            of_box_backwards: plan.scan(
                "scan box backwards",
                scan(by_key(1, Range::All), Descending, None, &["number", "colour"]),
            ),
            from_parameter: plan.scan(
                "scan box from",
                scan(by_key(1, Range::From), Ascending, Parameter, &["number"]),
            ),
            between_backwards_two: plan.scan(
                "scan box between",
                scan(by_key(1, Range::Between), Descending, Fixed(2), &["number"]),
            ),
            all: plan
                .scan("scan all", scan(by_key(0, Range::All), Ascending, None, &["box", "number"])),
            from_box: plan.scan(
                "scan from box",
                scan(by_key(0, Range::From), Descending, None, &["box", "number"]),
            ),
            exactly: plan
                .scan("scan one", scan(by_key(2, Range::All), Ascending, None, &["colour"])),
            sorted_stocks: plan.sorted("sort stocks", by_key(1, Range::All), "stock", false),
            distinct_colours: plan.sorted("sort colours", by_key(1, Range::All), "colour", true),
            insert_event: plan.insert("insert event", events),
            events: plan.scan(
                "scan events",
                scan(path(events, By::Key, 0, Range::All), Ascending, None, &["happened", "what"]),
            ),
        }
    }
}

impl Indexed {
    fn new(plan: &mut Plan, parts: TableId) -> Indexed {
        use Order::{Ascending, Descending};
        let (colour, code) = (By::Index(IndexId(0)), By::Index(IndexId(1)));
        Indexed {
            of_colour: plan.scan(
                "scan colour",
                scan(
                    path(parts, colour, 1, Range::All),
                    Ascending,
                    Limit::None,
                    &["box", "number"],
                ),
            ),
            of_colour_from_backwards: plan.scan(
                "scan colour from",
                scan(path(parts, colour, 1, Range::From), Descending, Limit::None, &["stock"]),
            ),
            of_code: plan.scan(
                "scan code",
                scan(path(parts, code, 1, Range::All), Ascending, Limit::None, &["box", "number"]),
            ),
            codes_between: plan.scan(
                "scan codes between",
                scan(path(parts, code, 0, Range::Between), Ascending, Limit::None, &["code"]),
            ),
        }
    }
}

impl Joins {
    fn new(plan: &mut Plan, parts: TableId, boxes: TableId) -> Joins {
        Joins {
            parts_with_label: plan.join(
                "join parts with their box",
                path(parts, By::Key, 1, Range::All),
                boxes,
                &[("box", "box")],
                &[(Side::Left, "number"), (Side::Right, "label")],
            ),
            box_with_parts: plan.join(
                "join a box with its parts",
                path(boxes, By::Key, 1, Range::All),
                parts,
                &[("box", "box")],
                &[(Side::Left, "label"), (Side::Right, "number")],
            ),
        }
    }
}

impl Figures {
    fn new(plan: &mut Plan, parts: TableId, samples: TableId) -> Figures {
        let column = |name: &str| plan.tables()[parts.0].id(name);
        let (colour, stock, price) = (column("colour"), column("stock"), column("price"));
        let part = plan.tables()[samples.0].id("part");
        let of_box = path(parts, By::Key, 1, Range::All);
        Figures {
            count: plan.aggregate("count parts", of_box, Aggregate::Count),
            colours: plan.aggregate("count colours", of_box, Aggregate::CountDistinct(colour)),
            stock: plan.aggregate("sum stock", of_box, Aggregate::Sum(stock)),
            price: plan.aggregate("sum price", of_box, Aggregate::Sum(price)),
            least_colour: plan.aggregate("least colour", of_box, Aggregate::Min(colour)),
            most_stock: plan.aggregate("most stock", of_box, Aggregate::Max(stock)),
            count_from: plan.aggregate(
                "count parts from",
                path(parts, By::Key, 1, Range::From),
                Aggregate::Count,
            ),
            sample_parts: plan.aggregate(
                "sum part",
                path(samples, By::Key, 0, Range::All),
                Aggregate::Sum(part),
            ),
        }
    }
}

impl ByServer {
    fn new(plan: &mut Plan, scans: bool) -> ByServer {
        let notes = plan.table(
            Table::new("notes").column("id", Kind::Int).text("body", 20).key_by_server("id"),
        );
        let all = path(notes, By::Key, 0, Range::All);
        let columns = &["id", "body"];
        ByServer {
            notes,
            insert: plan.insert("insert note", notes),
            all: scans.then(|| {
                plan.scan("scan notes", scan(all, Order::Ascending, Limit::None, columns))
            }),
            get: plan.get("get note", notes, &["body"], Lock::None),
        }
    }
}
