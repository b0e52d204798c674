//! How many threads an open database has while nothing happens. The only test of its process, so that all
//! threads that appear are the database's.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::thread::yield_now;
use syncline_engine::{Database, Kind, Options, Schema, Value};
use syncline_instrument::clock;

/// The threads of this process: their numbers and names.
fn threads() -> BTreeMap<String, String> {
    let tasks = fs::read_dir("/proc/self/task").expect("the process's threads");
    let named = tasks.filter_map(|task| {
        let task = task.ok()?;
        let name = fs::read_to_string(task.path().join("comm")).ok()?;
        Some((task.file_name().to_string_lossy().into_owned(), name.trim().to_owned()))
    });
    named.collect()
}

/// Waits until the threads are the expected ones; `check` returns those that are there instead.
fn wait_until(check: impl Fn() -> Result<(), Vec<String>>) {
    let since = clock::now();
    while let Err(names) = check() {
        assert!(clock::now() - since < 60 * clock::SECOND, "{names:?}");
        yield_now();
    }
}

#[test]
fn an_open_database_has_two_threads_and_a_closed_one_none() {
    let folder = tempfile::tempdir().unwrap();
    let before = threads();
    let added = || -> Vec<String> {
        threads()
            .into_iter()
            .filter(|(id, _)| !before.contains_key(id))
            .map(|(_, name)| name)
            .collect()
    };
    for (name, by_itself) in [("one", true), ("two", false)] {
        let options = Options { checkpoint_by_itself: by_itself, ..Options::default() };
        let database = Database::create(folder.path().join(name), options).unwrap();
        assert_eq!(added().len(), 2, "{:?}", added());
        // A thread takes its name when it runs for the first time.
        wait_until(|| {
            let mut names = added();
            names.sort();
            if names == ["log writer", "maintenance"] { Ok(()) } else { Err(names) }
        });
        let schema = Schema::table("rows").column("id", Kind::Int).key(["id"]);
        let rows = database.create_table(schema.build().unwrap()).unwrap();
        database.run(|tx| tx.insert(&rows, &[Value::Int(1)])).unwrap();
        assert_eq!(added().len(), 2, "{:?}", added());
        database.close().unwrap();
        // Closing joins them; the kernel wakes who joins a thread just before it takes it off the list.
        wait_until(|| Some(added()).filter(|names| !names.is_empty()).map_or(Ok(()), Err));
    }
}
