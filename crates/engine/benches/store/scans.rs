//! Scans of a hundred rows, and the opening of a database with its first read, next to LMDB and redb. All
//! take turns.

use crate::peers::{LmdbRows, RedbRows};
use crate::reads::{get, load, timed};
use crate::transactions::scramble;
use crate::{Scale, show};
use std::ops::ControlFlow;
use std::path::Path;
use syncline_engine::{
    Begin, Database, Direction, KeyRange, Options, Result, Row, Table, TypedSession, Value,
};
use syncline_instrument::clock;

const ROWS: usize = 100;

const SCANS: [&str; 8] = [
    "visitor, in one read-only transaction",
    "visitor, a transaction each",
    "iterator of borrowed rows, in one transaction",
    "iterator of owned rows, in one transaction",
    "LMDB, in one transaction",
    "LMDB, a transaction each",
    "redb, in one transaction",
    "redb, a transaction each",
];

const OPENINGS: [&str; 3] = ["opening and first read", "LMDB", "redb"];

pub(crate) fn run(folder: &Path, scale: Scale) -> u64 {
    std::fs::create_dir_all(folder).expect("a folder can be made");
    let of = ["engine", "lmdb", "redb"].map(|name| folder.join(name));
    let (database, table) = load(&of[0], scale.rows, |row| row).expect("the store works");
    let lmdb = LmdbRows::load(&of[1], scale.rows);
    let redb = RedbRows::load(&of[2], scale.rows);
    let mut session = database.session().expect("there is room for a session");
    let mut hash = 0;
    let mut costs: [Vec<f64>; 8] = Default::default();
    let operations = (scale.operations / ROWS as u64).max(1);
    let last = scale.rows.saturating_sub(ROWS as u64).max(1);
    for round in 0..u64::from(scale.rounds) {
        let from = |at, before: u64| (scramble(at ^ round << 40 ^ before) % last) as i64;
        session.begin(Begin::ReadOnly).expect("the store works");
        costs[0].push(timed(
            operations,
            |at, before| visited(&mut session, &table, from(at, before)).expect("it works"),
            &mut hash,
        ));
        session.abort();
        let mut alone = |at, before| {
            session.begin(Begin::ReadOnly).expect("the store works");
            let sum = visited(&mut session, &table, from(at, before)).expect("it works");
            session.commit().expect("a read-only transaction gets no conflict");
            sum
        };
        costs[1].push(timed(operations, &mut alone, &mut hash));
        let transaction = session.transaction(Begin::ReadOnly).expect("the store works");
        let rows = |from: i64| {
            let from = [Value::Int(from)];
            let rows = transaction.rows(&table, KeyRange::from(&from));
            rows.expect("the store works").limit(ROWS)
        };
        let borrowed = |from| {
            let (mut rows, mut sum) = (rows(from), 0);
            while let Some(row) = rows.next_row().expect("the store works") {
                sum += byte(row).expect("a payload");
            }
            sum
        };
        let owned = |from| -> u64 {
            let rows = rows(from);
            rows.map(|row| byte(row.expect("the store works").as_row()).expect("a payload")).sum()
        };
        costs[2].push(timed(operations, |at, before| borrowed(from(at, before)), &mut hash));
        costs[3].push(timed(operations, |at, before| owned(from(at, before)), &mut hash));
        drop(transaction);
        costs[4].push(
            lmdb.scan(|scan| {
                timed(operations, |at, before| scan(from(at, before), ROWS), &mut hash)
            }),
        );
        costs[5].push(timed(
            operations,
            |at, before| lmdb.scan(|scan| scan(from(at, before), ROWS)),
            &mut hash,
        ));
        costs[6].push(
            redb.scan(|scan| {
                timed(operations, |at, before| scan(from(at, before), ROWS), &mut hash)
            }),
        );
        costs[7].push(timed(
            operations,
            |at, before| redb.scan(|scan| scan(from(at, before), ROWS)),
            &mut hash,
        ));
    }
    for (name, costs) in SCANS.iter().zip(&costs) {
        show(&format!("scan of {ROWS} rows, {name}"), "ns", &mut costs.clone());
    }
    ratio("redb / visitor, in one transaction", &costs[6], &costs[0]);
    ratio("redb / visitor, a transaction each", &costs[7], &costs[1]);
    ratio("visitor / LMDB, in one transaction", &costs[0], &costs[4]);
    ratio("visitor / LMDB, a transaction each", &costs[1], &costs[5]);
    drop(session);
    database.close().expect("the store works");
    lmdb.close();
    drop(redb);
    let mut openings: [Vec<f64>; 3] = Default::default();
    for _ in 0..scale.rounds {
        openings[0].push(seconds(|| open_and_read(&of[0]).expect("the store works")));
        openings[1].push(seconds(|| {
            let lmdb = LmdbRows::open(&of[1], scale.rows);
            hash ^= lmdb.read(|get| get(0));
            lmdb.close();
        }));
        openings[2].push(seconds(|| hash ^= RedbRows::open(&of[2]).read(|get| get(0))));
    }
    for (name, openings) in OPENINGS.iter().zip(&openings) {
        let mut ms: Vec<f64> = openings.iter().map(|seconds| seconds * 1e3).collect();
        show(&format!("{name}, closing included"), "ms", &mut ms);
    }
    ratio("opening / redb", &openings[0], &openings[2]);
    hash
}

fn ratio(name: &str, one: &[f64], other: &[f64]) {
    let mut ratios: Vec<f64> = one.iter().zip(other).map(|(one, other)| one / other).collect();
    show(name, "x ", &mut ratios);
}

fn visited(session: &mut TypedSession, table: &Table, from: i64) -> Result<u64> {
    let (from, mut sum) = ([Value::Int(from)], 0);
    session.scan(table, KeyRange::from(&from), Direction::Ascending, ROWS, |row| {
        sum += byte(row)?;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(sum)
}

fn byte(row: Row<'_>) -> Result<u64> {
    let payload: &[u8] = row.get(1)?;
    Ok(payload[3].into())
}

fn open_and_read(folder: &Path) -> Result<()> {
    let database = Database::open(folder, Options::default())?;
    let table = database.table("rows")?;
    let mut session = database.session()?;
    session.begin(Begin::ReadOnly)?;
    get(&mut session, &table, 0);
    drop(session);
    database.close()
}

fn seconds(body: impl FnOnce()) -> f64 {
    let began = clock::now();
    body();
    (clock::now() - began) as f64 / 1e9
}
