//! What is dumped is what is loaded, and nothing else is loaded.

#![allow(clippy::unwrap_used, reason = "a test may fail by an unwrap anywhere")]

use std::io::Cursor;
use std::ops::ControlFlow;
use std::path::Path;
use syncline_dump::{Contents, Error, check, load, write};
use syncline_engine::{
    Begin, Database, Decimal, Direction, KeyRange, Kind, Options, Schema, Value, asc, desc,
};
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::Metadata;

type TestDatabase = Database<SimulatedDisk>;

fn database() -> TestDatabase {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    Database::create_on(&disk, Path::new("db"), Options::tiny()).unwrap()
}

fn dump(database: &TestDatabase) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(database, &[], &mut bytes).unwrap();
    bytes
}

/// The definitions and rows of all tables, as text.
fn contents(database: &TestDatabase) -> Vec<String> {
    let mut found = Vec::new();
    let mut session = database.session().unwrap();
    session.begin(Begin::ReadOnly).unwrap();
    for schema in database.tables() {
        found.push(format!("{schema:?}"));
        let table = database.table(schema.name()).unwrap();
        let scanned =
            session.scan(&table, KeyRange::ALL, Direction::Ascending, usize::MAX, |row| {
                let values: Result<Vec<_>, _> = row.values().collect();
                found.push(format!("{:?}", values?));
                Ok(ControlFlow::Continue(()))
            });
        scanned.unwrap();
    }
    found
}

/// A random value of a kind, its bytes taken from `pool`.
fn value<'p>(kind: Kind, random: &mut fastrand::Rng, pool: &'p str) -> Value<'p> {
    let end = (0..=pool.len()).rev().skip(random.usize(0..=pool.len()));
    let text = &pool[..end.into_iter().find(|end| pool.is_char_boundary(*end)).unwrap_or(0)];
    let number = [random.i64(..), random.i64(-3..3), i64::MIN, i64::MAX][random.usize(0..4)];
    match kind {
        Kind::Int => Value::Int(number),
        Kind::Timestamp => Value::Timestamp(number),
        Kind::Decimal { scale } => Value::Decimal(Decimal { units: number, scale }),
        Kind::Float => {
            Value::Float([random.f64(), -0.0, f64::INFINITY, 1e-310][random.usize(0..4)])
        }
        Kind::Text => Value::Text(text),
        Kind::Bytes => Value::Bytes(text.as_bytes()),
        other => panic!("{other} is new: make values of it"),
    }
}

fn fill(database: &TestDatabase, random: &mut fastrand::Rng) {
    let kinds = [
        Kind::Int,
        Kind::Float,
        Kind::Decimal { scale: 0 },
        Kind::Decimal { scale: 18 },
        Kind::Text,
        Kind::Bytes,
        Kind::Timestamp,
    ];
    for name in ["t", "with \"quotes\" and \n", "\u{fc}mlaut"].iter().take(random.usize(0..=3)) {
        let mut schema = Schema::table(*name).column("id", Kind::Int);
        let columns: Vec<(Kind, bool)> = (0..random.usize(0..8))
            .map(|_| (random.choice(kinds).unwrap(), random.bool()))
            .collect();
        for (position, (kind, nullable)) in columns.iter().enumerate() {
            let column = format!("c{position}");
            schema = if *nullable {
                schema.nullable(column, *kind)
            } else {
                schema.column(column, *kind)
            };
        }
        let order = if random.bool() { asc("id") } else { desc("id") };
        schema = schema.key([order]);
        if !columns.is_empty() {
            let parts = [asc("c0"), desc("c0"), asc("c0").nulls_last(), desc("c0").nulls_first()];
            schema = schema.index("by_c0", [random.choice(parts).unwrap()]);
            schema = schema.unique("by_both", [asc("c0"), desc("id")]);
        }
        let table = database.create_table(schema.build().unwrap()).unwrap();
        let pool = "\u{0}a\u{fc}\n\"\\\u{1f600}".repeat(random.usize(1..12));
        for id in 0..random.i64(0..40) {
            let mut row = vec![Value::Int(id * 7)];
            for (kind, nullable) in &columns {
                let is_null = *nullable && random.u8(..) < 60;
                row.push(if is_null { Value::Null } else { value(*kind, random, &pool) });
            }
            match database.run(|transaction| transaction.insert(&table, &row)) {
                Ok(()) | Err(syncline_engine::Error::KeyTooLarge { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn every_table_and_value_survives() {
    for seed in 0..60 {
        let source = database();
        fill(&source, &mut fastrand::Rng::with_seed(seed));
        let dumped = dump(&source);
        let target = database();
        let loaded = load(&target, Cursor::new(&dumped)).unwrap();
        assert_eq!(check(&dumped[..]).unwrap(), loaded, "seed {seed}");
        assert_eq!(contents(&target), contents(&source), "seed {seed}");
        assert_eq!(dump(&target), dumped, "seed {seed}");
        assert_eq!(target.verify().unwrap(), Vec::<String>::new());
    }
}

fn small() -> TestDatabase {
    let database = database();
    let schema = Schema::table("t").column("id", Kind::Int).nullable("name", Kind::Text);
    let table =
        database.create_table(schema.key(["id"]).index("by_name", ["name"]).build().unwrap());
    let table = table.unwrap();
    for id in 0..3 {
        let row = [Value::Int(id), Value::Text("ada")];
        database.run(|transaction| transaction.insert(&table, &row)).unwrap();
    }
    database
}

#[test]
fn a_dump_that_is_cut_off_or_changed_at_any_byte_is_refused_and_changes_nothing() {
    let dumped = dump(&small());
    let target = database();
    let refused = |bytes: &[u8], what: &str| {
        let loaded = load(&target, Cursor::new(bytes));
        assert!(matches!(loaded, Err(Error::Line { .. })), "{what}: {loaded:?}");
        assert!(target.tables().is_empty(), "{what}");
    };
    for end in 0..dumped.len() {
        refused(&dumped[..end], &format!("cut off at {end}"));
    }
    for at in 0..dumped.len() {
        for bit in 0..8 {
            let mut changed = dumped.clone();
            changed[at] ^= 1 << bit;
            refused(&changed, &format!("bit {bit} of byte {at}"));
        }
    }
    let mut longer = dumped.clone();
    longer.push(b'\n');
    refused(&longer, "longer");
    assert_eq!(load(&target, Cursor::new(&dumped)).unwrap(), Contents { tables: 1, rows: 3 });
}

#[test]
fn an_error_names_the_line_and_what_is_wrong() {
    let text = String::from_utf8(dump(&small())).unwrap();
    for (from, to, line, what) in [
        ("\"syncline_dump\":1", "\"syncline_dump\":2", 1, "version 2"),
        ("\"syncline_dump\":1", "\"syncline_dump\":3,\"more\":[]", 1, "version 3"),
        ("\"kind\":\"text\"", "\"kind\":\"blob\"", 2, "\"blob\" is no kind"),
        ("[1,\"ada\"]", "[1,7]", 4, "column name: text is expected"),
        ("[1,\"ada\"]", "[null,\"ada\"]", 4, "column id must not be null"),
        ("[1,\"ada\"]", "[1]", 4, "1 values for 2 columns"),
        ("{\"rows\":3}", "{\"rows\":4}", 6, "3 rows, not 4"),
        ("[2,\"ada\"]", "[2,\"bob\"]", 7, "the checksum does not match"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        let error = check(changed.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(&format!("line {line} ")) && error.contains(what), "{error}");
    }
}

#[test]
fn endless_input_without_lines_is_refused_at_once() {
    let error = check(std::io::BufReader::new(std::io::repeat(0))).unwrap_err().to_string();
    assert!(error.contains("line 1 of the dump: it is longer than 4096 bytes"), "{error}");
}

#[test]
fn a_table_that_exists_and_rows_with_one_key_leave_the_database_as_it_was() {
    let source = small();
    let dumped = dump(&source);
    let loaded = load(&source, Cursor::new(&dumped));
    assert!(matches!(loaded, Err(Error::Taken { table }) if table == "t"));
    assert_eq!(dump(&source), dumped);

    // The same dump with two rows of one key, and with the right checksum.
    let text = String::from_utf8(dumped).unwrap().replacen("[1,\"ada\"]", "[0,\"ada\"]", 1);
    let body = &text[..text.find("{\"tables\"").unwrap()];
    let crc = crc32c::crc32c(body.as_bytes());
    let text = format!("{body}{{\"tables\":1,\"rows\":3,\"crc32c\":\"{crc:08x}\"}}\n");
    let target = database();
    let loaded = load(&target, Cursor::new(text.as_bytes()));
    let Err(Error::Engine(error)) = loaded else {
        panic!("two rows have one key: {loaded:?}");
    };
    assert!(matches!(*error, syncline_engine::Error::DuplicateKey { .. }), "{error}");
    assert!(target.tables().is_empty());
}

#[test]
fn named_tables_alone_are_dumped_and_a_missing_one_is_an_error() {
    let source = small();
    let schema = Schema::table("other").column("id", Kind::Int).key(["id"]).build().unwrap();
    source.create_table(schema).unwrap();
    let mut bytes = Vec::new();
    let written = write(&source, &["other".to_owned()], &mut bytes).unwrap();
    assert_eq!(written, Contents { tables: 1, rows: 0 });
    assert_eq!(check(&bytes[..]).unwrap(), written);
    assert!(write(&source, &["no".to_owned()], &mut Vec::new()).is_err());
}
