//! The waits of a point read: one thread reads rows by key, each key derived from the result before, next to
//! the minimum for as many dependent loads of memory, and next to LMDB and redb. All take turns.
//!
//! A read goes from page to page, and from line to line within a page; each line holds the address of the
//! next one. So it cannot be faster than its loads one after another. The duration of a load depends on the
//! number of bytes over which loads of that kind are spread, so each kind is measured by following a random
//! chain through as many bytes of plain memory, in pages like those of the store's memory: for leaves in
//! large ones, if the system has them, and also in usual ones. Loads issued together count as one.
//!
//! | loads of a level | of an inner node | of a leaf |
//! |---|---|---|
//! | the page's entry in the translation table | 1 | 1 |
//! | the frame; for a leaf also its first lines, together | 1 | 1 |
//! | the separator index's samples, the sixteen heads that they lead to, the child's number | 3 | |
//! | the row | | 1 |
//!
//! Rows are numbered consecutively, as in LMDB and redb. So the engine's leaves are uniform, and it
//! prefetches the row together with the leaf's first lines; the limit does not. The cost of a read with
//! scattered numbers, in a separate table, is printed as well.

use crate::peers::{LmdbRows, RedbRows};
use crate::pointer_chase::{Pages, PointerChase};
use crate::transactions::scramble;
use crate::{Scale, show};
use std::path::Path;
use syncline_engine::log::{self, Durability};
use syncline_engine::{Begin, Database, Kind, Options, Result, Schema, Table, TypedSession, Value};
use syncline_instrument::clock;
use syncline_vfs::RealDisk;

pub(crate) const PAYLOAD: [u8; 100] = [7; 100];

/// Bytes of an entry of the translation table, of a frame, and of a leaf.
const ENTRY_BYTES: u64 = 16;
const FRAME_BYTES: u64 = 64;
const LEAF_BYTES: u64 = 8192;
/// Bytes that a search reads in an inner node, and additional ones for each child: a head, a number.
const INNER_BYTES: u64 = 256;
const CHILD_BYTES: u64 = 16;

/// The pages of leaves, for each limit.
const LIMITS: [Pages; 2] = [Pages::Large, Pages::Usual];

/// Loads of one kind: the number that a read makes one after another, and the bytes over which they are
/// spread.
struct Loads {
    name: String,
    count: u64,
    /// The limit that it belongs to; none: both.
    pages: Option<Pages>,
    chain: PointerChase,
}

pub(crate) fn run(folder: &Path, scale: Scale) -> u64 {
    std::fs::create_dir_all(folder).expect("a folder can be made");
    let (database, table) =
        load(&folder.join("engine"), scale.rows, |row| row).expect("the store works");
    let (spread, spread_table) =
        load(&folder.join("spread"), scale.rows, scattered).expect("the store works");
    let lmdb = LmdbRows::load(&folder.join("lmdb"), scale.rows);
    let redb = RedbRows::load(&folder.join("redb"), scale.rows);
    let loads = loads_of(&database.pages_of(&table).expect("the table is open"));
    let mut session = database.session().expect("there is room for a session");
    let mut spread_session = spread.session().expect("there is room for a session");
    let mut hash = 0;
    let mut of_loads: Vec<Vec<f64>> = loads.iter().map(|_| Vec::new()).collect();
    let mut limits: [Vec<f64>; 2] = Default::default();
    let mut costs: [Vec<f64>; 7] = Default::default();
    for round in 0..u64::from(scale.rounds) {
        let mut limit = [0.0; 2];
        for (loads, all) in loads.iter().zip(&mut of_loads) {
            let each = timed(scale.operations, |_, before| loads.chain.next(before), &mut hash);
            all.push(each);
            for (limit, pages) in limit.iter_mut().zip(LIMITS) {
                if loads.pages.is_none_or(|of| of == pages) {
                    *limit += each * loads.count as f64;
                }
            }
        }
        for (all, limit) in limits.iter_mut().zip(limit) {
            all.push(limit);
        }
        let key =
            |operation, before| (scramble(operation ^ round << 40 ^ before) % scale.rows) as i64;
        let operations = scale.operations;
        session.begin(Begin::ReadOnly).expect("the store works");
        costs[0].push(timed(
            operations,
            |at, before| get(&mut session, &table, key(at, before)),
            &mut hash,
        ));
        session.abort();
        spread_session.begin(Begin::ReadOnly).expect("the store works");
        costs[6].push(timed(
            operations,
            |at, before| get(&mut spread_session, &spread_table, scattered(key(at, before))),
            &mut hash,
        ));
        spread_session.abort();
        let mut alone = |at, before| {
            session.begin(Begin::ReadOnly).expect("the store works");
            let result = get(&mut session, &table, key(at, before));
            session.commit().expect("a read-only transaction gets no conflict");
            result
        };
        costs[1].push(timed(operations, &mut alone, &mut hash));
        costs[2]
            .push(lmdb.read(|get| timed(operations, |at, before| get(key(at, before)), &mut hash)));
        costs[3].push(timed(
            operations,
            |at, before| lmdb.read(|get| get(key(at, before))),
            &mut hash,
        ));
        costs[4]
            .push(redb.read(|get| timed(operations, |at, before| get(key(at, before)), &mut hash)));
        costs[5].push(timed(
            operations,
            |at, before| redb.read(|get| get(key(at, before))),
            &mut hash,
        ));
    }
    print(&loads, &mut of_loads, &limits, &costs);
    hash
}

fn print(
    loads: &[Loads],
    of_loads: &mut [Vec<f64>],
    limits: &[Vec<f64>; 2],
    costs: &[Vec<f64>; 7],
) {
    for (loads, each) in loads.iter().zip(of_loads) {
        let mib = loads.chain.bytes() as f64 / f64::from(1 << 20);
        let name = format!("a load, {}, {mib:.2} MiB; a read makes {}", loads.name, loads.count);
        show(&name, "ns", each);
    }
    let of_limit = loads.iter().filter(|loads| loads.pages != Some(Pages::Usual));
    let count: u64 = of_limit.map(|loads| loads.count).sum();
    for (name, limits) in ["leaves in large pages", "all in usual pages"].iter().zip(limits) {
        show(&format!("limit: {count} loads in turn, {name}"), "ns", &mut limits.clone());
    }
    let names = [
        "get, in one read-only transaction",
        "get, a transaction each",
        "LMDB, in one transaction",
        "LMDB, a transaction each",
        "redb, in one transaction",
        "redb, a transaction each",
        "get of scattered numbers, in one transaction",
    ];
    for (name, costs) in names.iter().zip(costs) {
        show(name, "ns", &mut costs.clone());
    }
    let ratio = |name: &str, one: &[f64], other: &[f64]| {
        let mut ratios: Vec<f64> = one.iter().zip(other).map(|(one, other)| one / other).collect();
        show(name, "x ", &mut ratios);
    };
    ratio("get in one transaction / limit, large pages", &costs[0], &limits[0]);
    ratio("get in one transaction / limit, usual pages", &costs[0], &limits[1]);
    ratio("LMDB / get, in one transaction", &costs[2], &costs[0]);
    ratio("LMDB / get, a transaction each", &costs[3], &costs[1]);
    ratio("redb / get, in one transaction", &costs[4], &costs[0]);
    ratio("redb / get, a transaction each", &costs[5], &costs[1]);
    ratio("LMDB / get of scattered numbers, in one transaction", &costs[2], &costs[6]);
}

/// Nanoseconds of one operation. Each receives its number and the result of the one before.
pub(crate) fn timed(operations: u64, mut each: impl FnMut(u64, u64) -> u64, hash: &mut u64) -> f64 {
    let mut before = 0;
    let started = clock::now();
    for operation in 0..operations {
        before = each(operation, before);
    }
    let took = clock::now() - started;
    *hash ^= before;
    took as f64 / operations as f64
}

pub(crate) fn get(session: &mut TypedSession<RealDisk>, table: &Table, id: i64) -> u64 {
    let row = session.get(table, &[Value::Int(id)]).expect("the store works");
    match row.expect("the row was loaded").value(1) {
        Ok(Value::Bytes(bytes)) => u64::from(bytes[3]),
        other => panic!("a payload is bytes, not {other:?}"),
    }
}

/// A row's number in the scattered table; all are distinct.
fn scattered(row: i64) -> i64 {
    row.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)
}

pub(crate) fn load(folder: &Path, rows: u64, number: fn(i64) -> i64) -> Result<(Database, Table)> {
    let options = Options {
        log: log::Options { durability: Durability::None, ..log::Options::default() },
        ..Options::default()
    };
    let database = Database::create(folder, options)?;
    let schema = Schema::table("rows").column("id", Kind::Int).column("payload", Kind::Bytes);
    let loaded = (0..rows as i64).map(|row| [Value::Int(number(row)), Value::Bytes(&PAYLOAD)]);
    let table = database.load_table(schema.key(["id"]).build()?, loaded)?;
    Ok((database, table))
}

/// The loads of a read in a tree with these numbers of pages at each level, leaves first.
fn loads_of(levels: &[u64]) -> Vec<Loads> {
    let mut all = Vec::new();
    let mut add = |name: String, count, bytes, pages: Option<Pages>| {
        let chain = PointerChase::new(bytes, pages.unwrap_or(Pages::Usual));
        all.push(Loads { name, count, pages, chain });
    };
    for (level, pages) in levels.iter().enumerate().skip(1).rev() {
        let name = format!("level {level} of {pages} pages");
        let bytes =
            pages * (ENTRY_BYTES + FRAME_BYTES + INNER_BYTES) + levels[level - 1] * CHILD_BYTES;
        add(name, 5, bytes, None);
    }
    let leaves = levels[0];
    add(format!("entries of {leaves} leaves"), 1, leaves * ENTRY_BYTES, None);
    for (pages, in_pages) in [(Pages::Large, "large pages"), (Pages::Usual, "usual pages")] {
        let name = format!("leaves: first lines, then row; {in_pages}");
        add(name, 2, leaves * (FRAME_BYTES + LEAF_BYTES), Some(pages));
    }
    all
}
