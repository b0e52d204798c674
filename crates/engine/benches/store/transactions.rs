//! The cost of transactions in nanoseconds, on one thread: reads next to a `BTreeMap` of the same rows,
//! commits at durability none, and the first use of one to eight tables.

use crate::{Scale, show};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use syncline_engine::log::{self, Durability};
use syncline_engine::{
    Begin, Change, Database, Direction, KeyRange, Kind, Options, Result, Schema, Table,
    TypedSession, Value,
};
use syncline_instrument::clock;
use syncline_vfs::RealDisk;

const TABLES: usize = 8;
const PAYLOAD: [u8; 100] = [7; 100];

type Session = TypedSession<RealDisk>;

struct Store {
    database: Database,
    large: Table,
    small: Vec<Table>,
    rows: u64,
}

pub(crate) fn run(folder: &Path, scale: Scale) -> u64 {
    let store = Store::make(folder, scale.rows).expect("the store can be made");
    let map: BTreeMap<i64, [u8; 100]> = (0..scale.rows as i64).map(|id| (id, PAYLOAD)).collect();
    let mut hash = 0;
    let mut measure = |name: &str, each: &mut dyn FnMut(&mut Session, u64) -> Result<u64>| {
        let mut session = store.database.session().expect("there is room for a session");
        let mut costs = Vec::new();
        for round in 0..scale.rounds {
            let started = clock::now();
            for operation in 0..scale.operations {
                let random = scramble(operation ^ u64::from(round) << 40);
                hash ^= each(&mut session, random).expect("the store works");
            }
            costs.push((clock::now() - started) as f64 / scale.operations as f64);
        }
        show(name, "ns", &mut costs);
    };
    let key = |random: u64| (random % scale.rows) as i64;
    measure("BTreeMap get, random", &mut |_, random| {
        Ok(map.get(&key(random)).map_or(0, |row| u64::from(row[3])))
    });
    measure("begin, read-only; end", &mut |session, _| {
        session.begin(Begin::ReadOnly)?;
        Ok(session.commit()?.csn().0)
    });
    measure("begin, serializable; end", &mut |session, _| {
        session.begin(Begin::Serializable)?;
        Ok(session.commit()?.csn().0)
    });
    let mut reader = store.database.session().expect("there is room for a session");
    reader.begin(Begin::ReadOnly).expect("the store works");
    measure("get, random, in one read-only transaction", &mut |_, random| {
        get(&mut reader, &store.large, key(random))
    });
    reader.abort();
    measure("begin, get, end, read-only", &mut |session, random| {
        session.begin(Begin::ReadOnly)?;
        let result = get(session, &store.large, key(random))?;
        session.commit()?;
        Ok(result)
    });
    measure("begin, get, end, serializable", &mut |session, random| {
        session.begin(Begin::Serializable)?;
        let result = get(session, &store.large, key(random))?;
        session.commit()?;
        Ok(result)
    });
    measure("begin, scan of 100 rows, end, read-only", &mut |session, random| {
        session.begin(Begin::ReadOnly)?;
        let lower = [Value::Int(key(random))];
        let mut result = 0;
        let visit = |row: syncline_engine::Row<'_>| {
            result ^= row.value(0)?.as_int().unwrap_or(0) as u64;
            Ok(ControlFlow::Continue(()))
        };
        session.scan(&store.large, KeyRange::from(&lower), Direction::Ascending, 100, visit)?;
        session.commit()?;
        Ok(result)
    });
    measure("begin, put of 100 B, commit", &mut |session, random| {
        session.begin(Begin::Serializable)?;
        session.put(&store.large, &[Value::Int(key(random)), Value::Bytes(&PAYLOAD)])?;
        Ok(session.commit()?.csn().0)
    });
    let mut next = scale.rows as i64;
    measure("begin, insert of 100 B behind the last, commit", &mut |session, _| {
        session.begin(Begin::Serializable)?;
        session.insert(&store.large, &[Value::Int(next), Value::Bytes(&PAYLOAD)])?;
        next += 1;
        Ok(session.commit()?.csn().0)
    });
    for touched in [1, 2, 4, 8] {
        measure(&format!("begin, get in {touched} tables, end"), &mut |session, random| {
            session.begin(Begin::Serializable)?;
            let mut result = 0;
            for table in &store.small[..touched] {
                result ^= get(session, table, key(random) % store.rows.min(1_000) as i64)?;
            }
            session.commit()?;
            Ok(result)
        });
        measure(&format!("begin, add in {touched} tables, commit"), &mut |session, random| {
            session.begin(Begin::Serializable)?;
            let id = [Value::Int(key(random) % store.rows.min(1_000) as i64)];
            for table in &store.small[..touched] {
                session.update(table, &id, &[Change::add(1, Value::Int(1))])?;
            }
            Ok(session.commit()?.csn().0)
        });
    }
    hash
}

impl Store {
    fn make(folder: &Path, rows: u64) -> Result<Store> {
        let options = Options {
            log: log::Options { durability: Durability::None, ..log::Options::default() },
            ..Options::default()
        };
        let database = Database::create(folder, options)?;
        let schema = Schema::table("large").column("id", Kind::Int).column("payload", Kind::Bytes);
        let loaded = (0..rows as i64).map(|id| [Value::Int(id), Value::Bytes(&PAYLOAD)]);
        let large = database.load_table(schema.key(["id"]).build()?, loaded)?;
        let mut small = Vec::new();
        for number in 0..TABLES {
            let schema = Schema::table(format!("small_{number}"))
                .column("id", Kind::Int)
                .column("count", Kind::Int);
            let loaded = (0..rows.min(1_000) as i64).map(|id| [Value::Int(id), Value::Int(0)]);
            small.push(database.load_table(schema.key(["id"]).build()?, loaded)?);
        }
        Ok(Store { database, large, small, rows })
    }
}

fn get(session: &mut Session, table: &Table, id: i64) -> Result<u64> {
    let row = session.get(table, &[Value::Int(id)])?;
    let value = row.expect("the row was loaded").value(1)?;
    Ok(match value {
        Value::Bytes(bytes) => u64::from(bytes[3]),
        Value::Int(count) => count as u64,
        _ => 0,
    })
}

/// Spreads numbers over all of 64 bits.
pub(crate) fn scramble(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
