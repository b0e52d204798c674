//! `syncline engine`: a database is inspected, verified, dumped and loaded from outside.

use crate::support::{folder, syncline};
use std::fs;
use std::path::{Path, PathBuf};
use syncline_engine::{Database, Kind, Options, Schema, Value};

/// Makes the database `db` with rows in it.
fn database(folder: &Path) {
    let run = "run ycsb --on engine:db --reuse --records 300 --transactions 20 --clients 2 --line none \
               --warm-up 0s --quiet";
    let result = syncline(folder, run);
    assert_eq!(result.code, 0, "{result:?}");
}

#[test]
fn a_database_is_dumped_loaded_and_dumped_again_to_the_same_bytes() {
    let folder = folder();
    database(folder.path());
    let at = |name: &str| folder.path().join(name);
    let inspected = syncline(folder.path(), "engine inspect db");
    assert_eq!(inspected.code, 0, "{inspected:?}");
    assert!(inspected.out.contains("table usertable: tree"), "{inspected:?}");
    assert_eq!(syncline(folder.path(), "engine dump db --output first.jsonl").code, 0);
    let loaded = syncline(folder.path(), "engine load copy first.jsonl");
    assert_eq!(loaded.code, 0, "{loaded:?}");
    assert!(loaded.err.contains("loaded 2 tables with 301 rows into copy"), "{loaded:?}");
    let printed = syncline(folder.path(), "engine dump copy");
    let first = fs::read_to_string(at("first.jsonl")).unwrap();
    assert!(printed.code == 0 && printed.out == first, "{printed:?}");
    let verified = syncline(folder.path(), "engine verify copy");
    assert_eq!(verified.code, 0, "{verified:?}");
    assert!(verified.out.contains("nothing is wrong with copy: 2 tables"), "{verified:?}");

    let again = syncline(folder.path(), "engine load copy first.jsonl");
    assert_eq!(again.code, 2, "{again:?}");
    assert!(again.err.contains("has a table syncline_mark already"), "{again:?}");
    fs::write(at("cut.jsonl"), &first[..first.len() / 2]).unwrap();
    let cut = syncline(folder.path(), "engine load new cut.jsonl");
    assert_eq!(cut.code, 2, "{cut:?}");
    assert!(cut.err.contains("of the dump: "), "{cut:?}");
    assert!(!at("new").exists(), "a refused dump makes no database");
    let missing = syncline(folder.path(), "engine dump db --table no --output none.jsonl");
    assert!(missing.code == 2 && missing.err.contains("no table no"), "{missing:?}");
    assert!(!at("none.jsonl").exists(), "a failed dump leaves no file");
}

#[test]
fn a_backup_is_a_database_of_its_own_with_the_same_rows() {
    let folder = folder();
    database(folder.path());
    let made = syncline(folder.path(), "engine backup db copy --rate-mib 500");
    assert!(made.code == 0 && made.err.contains("into copy: everything up to csn"), "{made:?}");
    let [one, other] = ["db", "copy"].map(|name| {
        let verified = syncline(folder.path(), &format!("engine verify {name}"));
        assert_eq!(verified.code, 0, "{verified:?}");
        syncline(folder.path(), &format!("engine dump {name}")).out
    });
    assert!(one == other && one.lines().count() > 300, "the copy differs");
    let again = syncline(folder.path(), "engine backup db copy");
    assert!(again.code == 2 && again.err.contains("copy is not empty"), "{again:?}");
    let missing = syncline(folder.path(), "engine backup nowhere new");
    assert!(missing.code == 2 && missing.err.contains("nowhere: No such file"), "{missing:?}");
    assert!(!folder.path().join("new").exists());
}

/// Every file of a database with its bytes.
fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for folder in [directory.to_owned(), directory.join("log")] {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let bytes = fs::read(&path).unwrap();
                files.push((path, bytes));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn what_only_reads_changes_nothing_and_shares_a_database_with_other_readers() {
    let folder = folder();
    database(folder.path());
    let path = folder.path().join("db");
    // Commits that no checkpoint holds.
    let writer = Database::open(&path, Options::default()).unwrap();
    let schema = Schema::table("late").column("id", Kind::Int).key(["id"]).build().unwrap();
    let late = writer.create_table(schema).unwrap();
    writer.run(|transaction| transaction.insert(&late, &[Value::Int(7)])).unwrap();
    for command in ["engine inspect db", "engine verify db", "engine dump db"] {
        let used = syncline(folder.path(), command);
        assert!(used.code == 2 && used.err.contains("is in use"), "{command}: {used:?}");
        assert_eq!(used.err.trim_end().lines().count(), 1, "{command}: {used:?}");
    }
    drop(writer);
    let before = files(&path);
    let reader = Database::open_read_only(&path, Options::default()).unwrap();
    for command in ["engine inspect db", "engine verify db", "engine dump db"] {
        let result = syncline(folder.path(), command);
        assert_eq!(result.code, 0, "{command}: {result:?}");
    }
    let dumped = syncline(folder.path(), "engine dump db --table late");
    assert!(dumped.out.contains("\n[7]\n"), "{dumped:?}");
    let loaded = syncline(folder.path(), "engine dump db --table late --output late.jsonl");
    assert_eq!(loaded.code, 0, "{loaded:?}");
    let loaded = syncline(folder.path(), "engine load db late.jsonl");
    assert!(loaded.code == 2 && loaded.err.contains("is in use"), "{loaded:?}");
    drop(reader);
    assert!(files(&path) == before, "a file of the database has changed");
}

#[test]
fn damage_is_printed_and_the_exit_code_says_so() {
    let folder = folder();
    database(folder.path());
    let data = folder.path().join("db/data");
    let mut bytes = fs::read(&data).unwrap();
    let name = b"user";
    let found = bytes.windows(name.len()).rposition(|window| window == name);
    bytes[found.expect("a row's key is in the data file")] ^= 1;
    fs::write(&data, bytes).unwrap();
    let verified = syncline(folder.path(), "engine verify db");
    assert_eq!(verified.code, 1, "{verified:?}");
    assert!(verified.out.contains("its checksum does not match"), "{verified:?}");
    let dumped = syncline(folder.path(), "engine dump db --output dump.jsonl");
    assert!(dumped.code == 2 && dumped.err.contains("is damaged"), "{dumped:?}");
    assert!(!folder.path().join("dump.jsonl").exists());
    let bytes = fs::read(&data).unwrap();
    fs::write(&data, &bytes[..bytes.len() / 2]).unwrap();
    let cut = syncline(folder.path(), "engine verify db");
    assert!(cut.code == 1 && cut.out.contains("is damaged at byte"), "{cut:?}");
    let dumped = syncline(folder.path(), "engine dump db");
    assert!(dumped.code == 2 && dumped.err.contains("is damaged at byte"), "{dumped:?}");
}

#[test]
fn what_is_no_database_is_refused_in_one_sentence() {
    let folder = folder();
    fs::create_dir(folder.path().join("empty")).unwrap();
    fs::write(folder.path().join("file"), "text\n").unwrap();
    for (command, what) in [
        ("engine inspect nowhere", "cannot open the database nowhere: No such file"),
        ("engine verify file", "cannot open the database file: it is not a directory"),
        ("engine dump empty", "no data file at empty/data"),
        ("engine load new nowhere", "cannot read nowhere: No such file"),
        ("engine load new file", "line 1 of the dump: this is no dump"),
        ("engine load new empty", "cannot read the dump: Is a directory"),
    ] {
        let result = syncline(folder.path(), command);
        assert_eq!(result.code, 2, "{command}: {result:?}");
        assert!(result.err.contains(what), "{command}: {result:?}");
        assert_eq!(result.err.trim_end().lines().count(), 1, "{command}: {result:?}");
    }
    assert!(!folder.path().join("new").exists());
}

/// Makes the database `bank` with an archive, a backup of it, and later commits. Returns the last one.
fn bank_with_archive(folder: &Path) -> u64 {
    let at = |name: &str| folder.join(name);
    let mut options = Options::tiny();
    options.log.archive = Some(at("archive"));
    let bank = Database::create(at("bank"), options).unwrap();
    let schema = Schema::table("account").column("id", Kind::Int).key(["id"]).build().unwrap();
    let accounts = bank.create_table(schema).unwrap();
    let insert = |id| bank.run(|tx| tx.insert(&accounts, &[Value::Int(id)])).unwrap();
    (0..200).for_each(insert);
    bank.backup(at("copy"), syncline_engine::BackupOptions::default()).unwrap();
    (200..400).for_each(insert);
    let last = bank.durable_lsn().0;
    bank.close().unwrap();
    last
}

#[test]
fn a_backup_is_restored_to_a_commit_to_a_time_and_to_the_end_of_the_log() {
    let folder = folder();
    let last = bank_with_archive(folder.path());
    let rows = |name: &str| {
        let dump = syncline(folder.path(), &format!("engine dump {name}"));
        assert_eq!(dump.code, 0, "{dump:?}");
        dump.out.lines().filter(|line| line.starts_with('[')).count()
    };
    let to_end = syncline(folder.path(), "engine restore copy archive to-end --log bank/log");
    assert_eq!(to_end.code, 0, "{to_end:?}");
    let expected = format!("restored to-end: everything up to csn {last}, written at 20");
    assert!(to_end.err.contains(&expected) && to_end.err.contains("200 commits"), "{to_end:?}");
    assert_eq!(rows("to-end"), rows("bank"));
    let until = last - 150;
    let to_commit = format!("engine restore copy archive to-commit --log bank/log --until {until}");
    let to_commit = syncline(folder.path(), &to_commit);
    assert_eq!(to_commit.code, 0, "{to_commit:?}");
    assert_eq!(rows("to-commit"), rows("bank") - 150);
    let later = "engine restore copy archive to-time --log bank/log --until 2500-01-01T00:00:00Z";
    assert_eq!(syncline(folder.path(), later).code, 0);
    assert_eq!(rows("to-time"), rows("bank"));

    for (arguments, why) in [
        ("copy archive new --until 1", "use an older backup"),
        ("copy archive new --until 2020-01-01T00:00:00+01:00", "use an older backup"),
        ("copy archive new --until 999999", "no log was given"),
        ("copy archive new --until tomorrow", "neither the number of a commit nor a time"),
        ("copy nowhere new", "there is no such directory"),
        ("nowhere archive new", "cannot open the database nowhere"),
        ("bank archive new", "was opened for writing"),
        ("copy archive to-end", "is not empty"),
    ] {
        let refused = syncline(folder.path(), &format!("engine restore {arguments}"));
        assert!(refused.code == 2 && refused.err.contains(why), "{arguments}: {refused:?}");
    }
}

#[test]
fn a_database_whose_rows_were_deleted_is_compacted() {
    let folder = folder();
    let bank = Database::create(folder.path().join("bank"), Options::tiny()).unwrap();
    let schema = Schema::table("account").column("id", Kind::Int).column("note", Kind::Text);
    let rows = (0..40_000).map(|id| [Value::Int(id), Value::Text("a note of some words")]);
    let accounts = bank.load_table(schema.key(["id"]).build().unwrap(), rows).unwrap();
    for first in (0..40_000).step_by(200) {
        let deleted = bank.run(|tx| {
            (first..first + 180)
                .try_for_each(|id| tx.delete(&accounts, &[Value::Int(id)]).map(drop))
        });
        deleted.unwrap();
        if first % 2_000 == 0 {
            bank.checkpoint().unwrap();
        }
    }
    bank.close().unwrap();
    let size = || fs::metadata(folder.path().join("bank/data")).unwrap().len();
    let before = size();
    let compacted = syncline(folder.path(), "engine compact bank");
    let expected = "compacted bank: the data file had ";
    assert!(compacted.code == 0 && compacted.err.contains(expected), "{compacted:?}");
    assert!(size() < before / 10 * 9, "{before} bytes, then {}: {}", size(), compacted.err);
    let verified = syncline(folder.path(), "engine verify bank");
    assert_eq!(verified.code, 0, "{verified:?}");
    let missing = syncline(folder.path(), "engine compact nowhere");
    assert!(missing.code == 2 && missing.err.contains("cannot open the database"), "{missing:?}");
}
