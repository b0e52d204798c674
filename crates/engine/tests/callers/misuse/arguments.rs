//! Calls that depend only on their arguments, with odd ones: an error or the documented result, never a
//! panic.

use crate::support::returns;
use std::ops::Bound;
use syncline_engine::log::Until;
use syncline_engine::{
    BufferMode, Csn, Database, Decimal, Error, FrameNumber, KeyRange, Kind, Options, RestoreSource,
    Schema, SegmentNumber, Value,
};

/// A function, and what it makes of odd arguments: false if that is wrong.
type OddCall = (&'static str, fn() -> bool);

/// Each call with a check that odd arguments are handled.
pub(super) const CALLS: &[OddCall] = &[
    ("Builder::build", || {
        let decimal = Kind::Decimal { scale: u8::MAX };
        let base = || Schema::table("t").column("k", Kind::Int);
        let many = (0..5_000)
            .fold(base(), |schema, number| schema.column(format!("c{number}"), Kind::Int));
        let odd = [
            Schema::table("").column("k", Kind::Int).key(["k"]).build(),
            Schema::table("t").build(),
            base().build(),
            base().key(["gone"]).build(),
            base().key(["k", "k"]).build(),
            base().column("k", Kind::Text).key(["k"]).build(),
            base().column("d", decimal).key(["k"]).build(),
            base().key(["k"]).index("i", ["gone"]).build(),
            base().key(["k"]).index("i", Vec::<&str>::new()).build(),
            base().key(["k"]).index("i", ["k"]).index("i", ["k"]).build(),
            Schema::table("t").nullable("k", Kind::Int).key(["k"]).build(),
            Schema::table("x".repeat(1 << 20)).column("k", Kind::Int).key(["k"]).build(),
            many.key(["k"]).build(),
        ];
        odd.iter().all(|schema| matches!(schema, Err(Error::Schema { .. })))
    }),
    ("Schema::with_column", || {
        let wrong = [Value::Null, Value::Text("x")]
            .map(|default| schema().with_column("c", Kind::Int, default));
        wrong.iter().all(Result::is_err)
            && schema().with_column("k", Kind::Int, Value::Int(1)).is_err()
    }),
    ("Schema::with_nullable", || {
        let decimal = Value::Decimal(Decimal { units: 1, scale: 3 });
        let other = schema().with_nullable("c", Kind::Decimal { scale: 2 }, decimal);
        other.is_err() && schema().with_nullable("", Kind::Int, Value::Null).is_err()
    }),
    ("Schema::with_column_renamed", || {
        let odd = [("gone", "c"), ("k", ""), ("k", "k2")];
        let renamed = odd.map(|(name, to)| schema().with_column_renamed(name, to).is_err());
        renamed == [true, true, false]
    }),
    ("Schema::without_column", || {
        ["gone", "", "k"].iter().all(|name| schema().without_column(name).is_err())
    }),
    ("Schema::with_index", || {
        schema().with_index("i", ["gone"], true).is_err()
            && schema().with_index("i", Vec::<&str>::new(), false).is_err()
    }),
    ("Schema::without_index", || schema().without_index("gone").is_err()),
    ("Schema::text_run", || {
        let odd: [&[usize]; 4] = [&[], &[usize::MAX], &[0, 1], &[1, 2, 3]];
        odd.iter().all(|columns| schema().text_run(columns).is_none())
    }),
    ("Row::texts", || {
        let other = Schema::table("o")
            .column("k", Kind::Int)
            .column("a", Kind::Text)
            .column("b", Kind::Text);
        let run = other.key(["k"]).build().unwrap().text_run(&[1, 2]).unwrap();
        let database = Database::transient(Options::tiny()).unwrap();
        let table = database.create_table(schema()).unwrap();
        let read = database.run(|tx| {
            tx.put(&table, &[Value::Int(1), Value::Bytes(&[0xff])])?;
            let row = tx.get(&table, &[Value::Int(1)])?.expect("it was put");
            row.as_row().texts(run).map(drop)
        });
        matches!(read, Err(Error::OtherTable { .. }))
    }),
    ("Table::column", || {
        let database = Database::transient(Options::tiny()).unwrap();
        let table = database.create_table(schema()).unwrap();
        matches!(table.column("gone"), Err(Error::NoSuch { .. }))
    }),
    ("Table::by", || {
        let database = Database::transient(Options::tiny()).unwrap();
        let table = database.create_table(schema()).unwrap();
        matches!(table.by("gone"), Err(Error::NoSuch { .. }))
    }),
    ("KeyRange::between", || scanned(KeyRange::between(&[Value::Int(9)], &[Value::Int(-9)])) == 0),
    ("KeyRange::from", || scanned(KeyRange::from(&[Value::Int(i64::MAX)])) == 0),
    ("KeyRange::prefix", || {
        let nothing = KeyRange { lower: Bound::Excluded(&[]), upper: Bound::Excluded(&[]) };
        scanned(KeyRange::prefix(&[])) == 3 && scanned(nothing) == 0
    }),
    ("Options::check", || odd_options().iter().all(works_or_is_refused)),
    ("Options::with_cache", || {
        let cached = |bytes| Options::with_cache(BufferMode::Disk, bytes);
        cached(0).check().is_err() && works_or_is_refused(&cached(u64::MAX))
    }),
    ("BufferMode::name", || BufferMode::default().name() == "resident"),
    ("Csn::next", || Csn(u64::MAX).next() == Csn(u64::MAX)),
    ("FrameNumber::next", || FrameNumber(u64::MAX).next() == FrameNumber(u64::MAX)),
    ("SegmentNumber::next", || SegmentNumber(u64::MAX).next() == SegmentNumber(u64::MAX)),
    ("Database::create", || {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "text").unwrap();
        let there = Database::create(folder.path(), Options::tiny());
        matches!(there, Err(Error::Exists { .. }))
            && Database::create(folder.path().join("no/parent"), Options::tiny()).is_err()
            && Database::create(&file, Options::tiny()).is_err()
    }),
    ("Database::create_on", || {
        let disk = syncline_vfs::NullDisk::default();
        let wrong = Options { page_bytes: 1, ..Options::tiny() };
        Database::create_on(&disk, std::path::Path::new("db"), wrong).is_err()
    }),
    ("Database::open", || {
        let folder = tempfile::tempdir().unwrap();
        Database::open(folder.path(), Options::tiny()).is_err()
            && Database::open(folder.path().join("gone"), Options::tiny()).is_err()
            && Database::open("", Options::tiny()).is_err()
    }),
    ("Database::open_on", || {
        let disk = syncline_vfs::RealDisk;
        Database::open_on(&disk, std::path::Path::new("\0"), Options::tiny()).is_err()
    }),
    ("Database::open_read_only", || {
        let folder = tempfile::tempdir().unwrap();
        let one = Database::open_or_create(folder.path(), Options::tiny()).unwrap();
        let while_written = Database::open_read_only(folder.path(), Options::tiny());
        one.close().unwrap();
        let closed = Database::open_read_only(folder.path(), Options::tiny());
        matches!(while_written, Err(Error::Disk(_)))
            && closed.is_ok()
            && Database::open_read_only(folder.path().join("gone"), Options::tiny()).is_err()
    }),
    ("Database::open_read_only_on", || {
        let disk = syncline_vfs::NullDisk::default();
        Database::open_read_only_on(&disk, std::path::Path::new("db"), Options::tiny()).is_err()
    }),
    ("Database::restore", || {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (backup, archive) = (at("gone"), at("archive"));
        let source = RestoreSource { backup, archive, log: None };
        let restore = |target: &str, options: Options| {
            Database::restore(&source, at(target), Until::Commit(Csn(u64::MAX)), options).is_err()
        };
        restore("target", Options::tiny())
            && restore("\0", Options::tiny())
            && restore("target", Options { page_bytes: 0, ..Options::tiny() })
            && !at("target").exists()
    }),
    ("Database::restore_on", || {
        let disk = syncline_vfs::NullDisk::default();
        let source = RestoreSource { backup: "b".into(), archive: "a".into(), log: None };
        let target = std::path::Path::new("target");
        Database::restore_on(&disk, &source, target, Until::Time(0), Options::tiny()).is_err()
    }),
    ("Database::open_or_create", || {
        let folder = tempfile::tempdir().unwrap();
        let one = Database::open_or_create(folder.path(), Options::tiny()).unwrap();
        let twice = Database::open_or_create(folder.path(), Options::tiny());
        drop(one);
        matches!(twice, Err(Error::Disk(_)))
    }),
    ("Database::transient", || odd_options().iter().all(works_or_is_refused)),
];

fn schema() -> Schema {
    let schema = Schema::table("t").column("k", Kind::Int).column("v", Kind::Bytes);
    schema.key(["k"]).build().unwrap()
}

/// The number of rows, out of three, in a range.
fn scanned(range: KeyRange<'_>) -> usize {
    let database = Database::transient(Options::tiny()).unwrap();
    let table = database.create_table(schema()).unwrap();
    let rows = database.run(|tx| -> Result<_, Error> {
        let put = |key| tx.put(&table, &[Value::Int(key), Value::Bytes(b"")]);
        [-1, 0, 1].into_iter().try_for_each(put)?;
        let mut rows = 0;
        tx.scan(&table, range, syncline_engine::Direction::Descending, usize::MAX, |_| {
            rows += 1;
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        Ok(rows)
    });
    rows.unwrap()
}

/// Every number at its extremes, one at a time.
fn odd_options() -> Vec<Options> {
    let changes: [fn(&mut Options, u64); 19] = [
        |o, n| o.page_bytes = n as u32,
        |o, n| o.resident_bytes_max = n,
        |o, n| o.pre_image_bytes_max = n,
        |o, n| o.version_bytes_max = n,
        |o, n| o.key_bytes_max = n as u32,
        |o, n| o.value_bytes_max = n as u32,
        |o, n| o.checkpoint_log_bytes = n,
        |o, n| o.checkpoint_segment_bytes = n,
        |o, n| o.extent_bytes = n,
        |o, n| o.retries = n as u32,
        |o, n| o.exclusive_wait_ms = n,
        |o, n| o.miss_every = Some(n as u32),
        |o, n| o.log.segment_bytes = n,
        |o, n| o.log.frame_unit_bytes = n as u32,
        |o, n| o.log.frame_bytes_max = n as u32,
        |o, n| o.log.ring_records = n as u32,
        |o, n| o.log.record_bytes_max = n as u32,
        |o, n| o.log.writes_in_flight_max = n as u32,
        |o, n| o.log.pass_bytes_max = n as u32,
    ];
    let mut odd = Vec::new();
    for change in changes {
        for number in [0, 1, u64::from(u32::MAX), u64::MAX - 511, u64::MAX] {
            for checkpoint_by_itself in [false, true] {
                let mut options = Options { checkpoint_by_itself, ..Options::tiny() };
                change(&mut options, number);
                odd.push(options);
            }
        }
    }
    odd
}

/// True if such a database is refused with the option's name, or takes a row and closes.
fn works_or_is_refused(options: &Options) -> bool {
    let database = match Database::transient(options.clone()) {
        Err(Error::Option { .. }) => return options.check().is_err(),
        Err(other) => panic!("{options:?}: {other}"),
        Ok(database) => database,
    };
    let put = database
        .create_table(schema())
        .and_then(|table| database.run(|tx| tx.put(&table, &[Value::Int(1), Value::Bytes(b"v")])));
    match put {
        Ok(()) => database.close().is_ok(),
        // A cap of zero admits nothing.
        Err(error) => {
            matches!(error, Error::TooLarge { .. } | Error::TooLong { .. } | Error::Capped { .. })
        }
    }
}

// D12
#[test]
fn odd_arguments_are_errors_or_as_documented() {
    for (name, call) in CALLS {
        assert!(returns(call), "{name} accepts an odd argument, or refuses a valid one");
    }
}
