//! The memory of a row: growth of the resident set, and the engine's own count, for each byte of key and
//! value; with inserts in key order and at random.
//!
//! Each order is measured in a separate process, which this one starts: memory freed earlier would otherwise
//! be reused, and its growth would not show.

use crate::transactions::scramble;
use crate::{Scale, show};
use std::path::Path;
use std::process::Command;
use syncline_engine::log::{self, Durability};
use syncline_engine::{Begin, Database, Kind, Options, Result, Schema, Value};

/// Key of 8 bytes, value of 100.
const ROW_BYTES: u64 = 108;
const PAYLOAD: [u8; 100] = [7; 100];

/// The flag that passes folder, number of rows and order to the process of one order.
pub(crate) const CHILD: &str = "--memory-of";

pub(crate) fn run(folder: &Path, scale: Scale) -> u64 {
    std::fs::create_dir_all(folder).expect("a folder can be made");
    for (name, _) in ORDERS {
        let program = std::env::current_exe().expect("the program has a name");
        let child = Command::new(program)
            .args([CHILD, name, &scale.rows.to_string()])
            .arg(folder.join(name))
            .status();
        assert!(child.expect("the child starts").success(), "{name} failed");
    }
    scale.rows
}

/// Measures one order.
pub(crate) fn run_child(name: &str, rows: u64, folder: &Path) {
    let order = ORDERS.iter().find(|order| order.0 == name);
    let (_, order) = order.expect("a known order");
    let grown = grow(folder, rows, *order).expect("the store works");
    let raw = (rows * ROW_BYTES) as f64;
    show(&format!("resident set, {name} / bytes of rows"), "x", &mut [grown.resident / raw]);
    show(&format!("counted, {name} / bytes of rows"), "x", &mut [grown.counted / raw]);
}

type Order = fn(u64) -> u64;

const ORDERS: [(&str, Order); 2] = [("sorted", |number| number), ("random", scramble)];

struct Grown {
    resident: f64,
    counted: f64,
}

fn grow(folder: &Path, rows: u64, order: Order) -> Result<Grown> {
    let options = Options {
        resident_bytes_max: 64 << 30,
        log: log::Options { durability: Durability::None, ..log::Options::default() },
        ..Options::default()
    };
    let database = Database::create(folder, options)?;
    let schema = Schema::table("rows").column("id", Kind::Int).column("payload", Kind::Bytes);
    let table = database.create_table(schema.key(["id"]).build()?)?;
    let before = resident_bytes();
    let mut session = database.session()?;
    for number in 0..rows {
        let id = Value::Int(order(number) as i64);
        session.begin(Begin::Serializable)?;
        session.put(&table, &[id, Value::Bytes(&PAYLOAD)])?;
        session.commit()?;
    }
    Ok(Grown {
        resident: resident_bytes() - before,
        counted: database.stats().resident_bytes as f64,
    })
}

/// The process's resident set as the operating system reports it; zero if it does not.
fn resident_bytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map_or(0.0, |kib| (kib * 1024) as f64)
}
