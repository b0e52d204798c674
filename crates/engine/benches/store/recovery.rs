//! The speed of redo: inserts and updates after the last checkpoint, one row per commit.

use crate::transactions::scramble;
use crate::{Scale, show};
use std::path::Path;
use syncline_engine::log::{self, Durability};
use syncline_engine::{Begin, Database, Kind, Options, Result, Schema, Value};
use syncline_instrument::clock;

const PAYLOAD: [u8; 100] = [7; 100];

pub(crate) fn run(folder: &Path, scale: Scale) -> u64 {
    write(folder, scale.rows).expect("the store works");
    let (mut opening, mut rates, mut redone) = (Vec::new(), Vec::new(), 0);
    for _ in 0..scale.rounds {
        let started = clock::now();
        let database = Database::open(folder, options()).expect("the store opens");
        let seconds = (clock::now() - started) as f64 / clock::SECOND as f64;
        redone = database.stats().redone_rows;
        assert!(redone >= scale.rows, "every commit is redone");
        opening.push(seconds);
        rates.push(redone as f64 / seconds / 1e6);
    }
    show("opening", "s", &mut opening);
    show("row changes redone, whole opening", "million/s", &mut rates);
    redone
}

fn options() -> Options {
    Options {
        checkpoint_by_itself: false,
        log: log::Options { durability: Durability::None, ..log::Options::default() },
        ..Options::default()
    }
}

/// Half of the commits insert in key order, the others change random rows.
fn write(folder: &Path, commits: u64) -> Result<()> {
    let database = Database::create(folder, options())?;
    let schema = Schema::table("rows").column("id", Kind::Int).column("payload", Kind::Bytes);
    let table = database.create_table(schema.key(["id"]).build()?)?;
    let mut session = database.session()?;
    for number in 0..commits {
        let id = if number % 2 == 0 { number / 2 } else { scramble(number) % number.div_ceil(2) };
        session.begin(Begin::Serializable)?;
        session.put(&table, &[Value::Int(id as i64), Value::Bytes(&PAYLOAD)])?;
        session.commit()?;
    }
    database.flush()
}
