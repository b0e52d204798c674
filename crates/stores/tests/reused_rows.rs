//! Kept rows are compared with their fingerprint: changes by others are found, and a run's own changes
//! are accepted.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use syncline_contract::Durability;
use syncline_launcher::{LaunchSpec, PrivateServer, Product};
use syncline_runner::{Error, Event, Observer, RunPlan, RunResult, run};
use syncline_stores::AnyTarget;
use syncline_workloads::AnyWorkload;

/// A run that keeps its rows, or finds them.
fn go(url: &str, workload: &AnyWorkload) -> Result<RunResult, Error> {
    let target = AnyTarget::open(url).unwrap();
    run(&target, workload, &plan(), &AtomicBool::new(false), &())
}

fn plan() -> RunPlan {
    RunPlan {
        clients: 2,
        workers: None,
        duration: None,
        transactions: Some(40),
        warm_up: Duration::ZERO,
        retries: 1_000,
        reuse: true,
        consume_rows: true,
        ..RunPlan::default()
    }
}

/// Requests a stop as soon as the clients are to connect.
struct StopsWhileConnecting<'s>(&'s AtomicBool);

impl Observer for StopsWhileConnecting<'_> {
    fn event(&self, event: Event<'_>) {
        if matches!(event, Event::Connecting { .. }) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

fn workload(name: &str, options: &[(&str, &str)]) -> AnyWorkload {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let pairs: Vec<_> = options.iter().map(owned).collect();
    AnyWorkload::parse(name, &pairs).unwrap()
}

/// A store of kept rows, and their workload.
struct Dataset {
    _folder: tempfile::TempDir,
    file: PathBuf,
    workload: AnyWorkload,
}

impl Dataset {
    /// Loaded by a first run.
    fn loaded(name: &str, options: &[(&str, &str)]) -> Dataset {
        let folder = tempfile::tempdir().unwrap();
        let kept = Dataset {
            file: folder.path().join("store.db"),
            _folder: folder,
            workload: workload(name, options),
        };
        assert!(!kept.go().unwrap().head.workload.rows_kept);
        kept
    }

    fn url(&self) -> String {
        format!("sqlite:{}?durability=os", self.file.display())
    }

    fn go(&self) -> Result<RunResult, Error> {
        go(&self.url(), &self.workload)
    }

    /// A run whose clients never start.
    fn stopped(&self) -> Error {
        let (target, stop) = (AnyTarget::open(&self.url()).unwrap(), AtomicBool::new(false));
        let stops = StopsWhileConnecting(&stop);
        run(&target, &self.workload, &plan(), &stop, &stops).unwrap_err()
    }

    /// Why a run refuses the existing rows.
    fn refused(&self) -> String {
        self.go().unwrap_err().to_string()
    }

    fn change(&self, sql: &str) {
        change(&self.file, sql);
    }
}

fn change(file: &Path, sql: &str) {
    let changed = Connection::open(file).unwrap().execute_batch(sql);
    changed.unwrap_or_else(|error| panic!("{sql}: {error}"));
}

#[test]
fn one_changed_row_of_thousands_is_found_at_any_position() {
    // More than two pages, the last of them not full.
    let kept = Dataset::loaded("select", &[("rows", "4500")]);
    let table = "single_record_0";
    for id in [0, 1_999, 2_000, 3_998, 4_499] {
        let columns = "(SELECT name FROM pragma_table_info('single_record_0') WHERE type LIKE '%TEXT%' OR \
                       type LIKE '%CHAR%' LIMIT 1)";
        let column: String = Connection::open(&kept.file)
            .unwrap()
            .query_row(&format!("SELECT {columns}"), [], |row| row.get(0))
            .unwrap();
        let set = |from: &str, to: &str| {
            kept.change(&format!(
                "UPDATE {table} SET {column} = {to} || substr({column}, 2) WHERE id = \
                 (SELECT id FROM {table} ORDER BY id LIMIT 1 OFFSET {id}) AND {from}"
            ));
        };
        let first: String = Connection::open(&kept.file)
            .unwrap()
            .query_row(
                &format!(
                    "SELECT substr({column}, 1, 1) FROM {table} ORDER BY id LIMIT 1 OFFSET {id}"
                ),
                [],
                |row| row.get(0),
            )
            .unwrap();
        set("1", "'~'");
        let why = kept.refused();
        assert!(why.contains("are not those that were left there"), "{why}");
        assert!(why.contains("4500 rows") && why.contains("remove it"), "{why}");
        set("1", &format!("'{first}'"));
        assert!(kept.go().unwrap().head.workload.rows_kept, "row {id} is unchanged");
    }
    kept.change(&format!("DELETE FROM {table} WHERE id = (SELECT max(id) FROM {table})"));
    assert!(kept.refused().contains("4499 rows"), "{}", kept.refused());
}

#[test]
fn rows_of_keys_of_several_columns_and_of_none_are_read_too() {
    let options = [("items", "100"), ("customers", "30")];
    for damage in [
        "UPDATE stock SET s_quantity = s_quantity + 1 WHERE s_i_id = 100",
        "UPDATE history SET h_amount = h_amount + 1 WHERE rowid = (SELECT max(rowid) FROM history)",
        "DELETE FROM new_order WHERE no_o_id = (SELECT max(no_o_id) FROM new_order)",
    ] {
        let kept = Dataset::loaded("tpcc", &options);
        assert!(kept.go().unwrap().head.workload.rows_kept);
        kept.change(damage);
        let why = kept.refused();
        assert!(why.contains("are not those that were left there"), "{damage}: {why}");
    }
}

#[test]
fn a_runs_changes_are_recorded_when_it_ends_and_not_before() {
    let kept = Dataset::loaded("ycsb", &[("records", "500")]);
    for _ in 0..2 {
        assert!(kept.go().unwrap().head.workload.rows_kept, "its updates are its own");
    }
    kept.change("UPDATE syncline_mark SET rows_are = 'changing'");
    let why = kept.refused();
    assert!(why.contains("has not ended") && why.contains("remove it"), "{why}");
    kept.change("DELETE FROM syncline_mark");
    let why = kept.refused();
    assert!(why.contains("not loaded to the end") && why.contains("remove it"), "{why}");
}

#[test]
fn a_run_that_is_stopped_before_its_clients_start_has_changed_no_row() {
    let updates = [("records", "500")];
    let takes_away = [("test", "delete"), ("table_size", "50"), ("kept", "on")];
    let others = Dataset::loaded("ycsb", &updates);
    // Also with rows that a run would spend: loaded by one that does not.
    let mut spent = Dataset::loaded("oltp", &[("test", "point_select"), ("table_size", "50")]);
    spent.workload = workload("oltp", &takes_away);
    for kept in [others, spent] {
        for _ in 0..2 {
            let stopped = kept.stopped();
            assert!(matches!(stopped, Error::Stopped { .. }), "{stopped}");
        }
        assert!(kept.go().unwrap().head.workload.rows_kept);
    }
}

#[test]
fn servers_and_the_engine_recognize_their_rows() {
    let folder = syncline_testkit::public_directory(&std::env::temp_dir());
    let server = |product| {
        PrivateServer::start(&LaunchSpec {
            directory: Some(folder.path().to_owned()),
            durability: Durability::Os,
            ..LaunchSpec::new(product)
        })
        .unwrap()
    };
    let (postgres, mariadb) = (server(Product::Postgres), server(Product::Mariadb));
    let at = |name: &str| folder.path().join(name).display().to_string();
    let indexed = workload("tpcc", &[("items", "100"), ("customers", "30")]);
    // Keys of text, and more than a page of them.
    let by_text = workload("ycsb", &[("records", "4100"), ("fields", "2"), ("field_bytes", "10")]);
    for (url, workload) in [
        (format!("{}&schema=syncline_one", postgres.url()), &indexed),
        (format!("{}&schema=syncline_two", postgres.url()), &by_text),
        (format!("{}&schema=syncline_one", mariadb.url()), &indexed),
        (format!("{}&schema=syncline_two", mariadb.url()), &by_text),
        (format!("engine:{}?durability=none", at("engine")), &by_text),
    ] {
        let kept: Vec<bool> = (0..2)
            .map(|_| {
                let result = go(&url, workload).unwrap_or_else(|error| panic!("{url}: {error}"));
                let wrong: Vec<_> =
                    result.warnings.iter().filter(|one| one.name() == "not_marked").collect();
                assert!(wrong.is_empty(), "{url}: {wrong:?}");
                result.head.workload.rows_kept
            })
            .collect();
        assert_eq!(kept, [false, true], "{url}");
    }
}
