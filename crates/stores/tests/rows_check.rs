//! The workloads that verify rows (ycsb, mrow, mrmw) on SQLite: their checks hold for acknowledged
//! changes, and find each kind of damage to the database.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

#[path = "shared/checked_run.rs"]
mod checked_run;

use checked_run::{CLIENTS, CheckedRun};
use rusqlite::Connection;
use syncline_contract::conformance::block_on;
use syncline_contract::{
    Check, CheckOutcome, Client, Ending, RequestTracker, Session, Transaction, Workload,
};
use syncline_workloads::AnyTally;

const ROWS: &str = "every loaded and acknowledged row is there, and no other";
const CONTENT: &str = "every value is one that was written for its key and field";
const READS: &str = "every read found its row, with a value that was written there";
const UPDATES: &str =
    "every row whose update was acknowledged holds a value that was written since";
const BYTES: &str = "every record holds the bytes that were written";
const RECORD_READS: &str = "every read answered its record, byte for byte";

impl CheckedRun {
    fn read_kept_rows(&self) {
        block_on(&self.worker, async {
            let mut session = self.connect().await;
            self.workload.read_kept_rows(&mut session).await.unwrap();
        });
    }

    /// Clients take turns; each seventh transaction is aborted, and those rounds that `unknown` selects
    /// are reported to the client as unknown, whether they were committed or not.
    fn perform(&self, rounds: u64, unknown: impl Fn(u64) -> bool) -> Vec<AnyTally> {
        let clients = (0..CLIENTS).map(|number| self.workload.client(number, CLIENTS, 42));
        let mut clients: Vec<_> = clients.collect();
        block_on(&self.worker, async {
            let mut session = self.connect().await;
            for round in 0..rounds {
                for client in &mut clients {
                    let kind = client.draw();
                    let mut asked = RequestTracker::default();
                    let aborts = round % 7 == 6;
                    session.begin(syncline_contract::AccessPattern::Several);
                    let mut transaction = Transaction::new(&mut session, &mut asked);
                    client.perform(kind, &mut transaction).await.unwrap();
                    if aborts {
                        session.abort().await;
                    } else {
                        session.commit().await.unwrap();
                    }
                    client.ended(
                        kind,
                        match aborts {
                            _ if unknown(round) => Ending::Unknown,
                            true => Ending::Undone,
                            false => Ending::Committed,
                        },
                    );
                }
            }
        });
        clients.into_iter().map(Client::tally).collect()
    }
}

/// The names of the violated checks, after damage before or after the transactions.
fn finds(name: &str, options: &[(&str, &str)], before: &str, after: &str) -> Vec<String> {
    let run = CheckedRun::new("client=threads", name, options);
    run.damage_store(before);
    let tallies = run.perform(140, |_| false);
    run.damage_store(after);
    violated(run.check(tallies))
}

fn violated(checks: Vec<Check>) -> Vec<String> {
    let violated = |check: &Check| matches!(check.outcome, CheckOutcome::Violated(_));
    let checks = checks.into_iter().filter(violated);
    checks.map(|check| check.name).collect()
}

const MIX: &[(&str, &str)] = &[
    ("records", "100"),
    ("read", "1"),
    ("update", "1"),
    ("insert", "1"),
    ("scan", "1"),
    ("read_modify_write", "1"),
    ("scan_rows_max", "9"),
    ("verify", "row"),
];
const MIX_WITH_DELETES: &[(&str, &str)] = &[
    ("profile", "k2"),
    ("records", "100"),
    ("read", "1"),
    ("update", "1"),
    ("insert", "1"),
    ("delete", "1"),
    ("ops_per_txn", "3"),
];

#[test]
fn ycsb_holds_for_what_was_acknowledged_and_for_what_is_unknown() {
    for options in [MIX, MIX_WITH_DELETES] {
        // Some of the unknown rounds were committed and some, each seventh among them, were not.
        for every in [1_000, 13, 7] {
            let run = CheckedRun::new("client=threads", "ycsb", options);
            let tallies = run.perform(140, |round| round % every == every - 1);
            let checks = run.check(tallies);
            let held = |check: &Check| check.outcome == CheckOutcome::Held;
            assert!(checks.iter().all(held), "one in {every}: {checks:?}");
            let names: Vec<_> = checks.iter().map(|check| check.name.as_str()).collect();
            assert_eq!(names, run.workload.check_names());
        }
    }
}

/// Makes a store acknowledge updates without executing them.
fn drops_updates() -> String {
    let fields: Vec<_> = (0..10).map(|field| format!("field{field} = OLD.field{field}")).collect();
    let back = fields.join(", ");
    format!(
        "CREATE TRIGGER drops AFTER UPDATE ON usertable BEGIN \
         UPDATE usertable SET {back} WHERE ycsb_key = OLD.ycsb_key; END"
    )
}

#[test]
fn ycsb_finds_updates_that_a_store_has_dropped() {
    for (read, update, read_modify_write) in [("1", "1", "0"), ("1", "0", "1"), ("0", "1", "0")] {
        for write_all_fields in ["yes", "no"] {
            let options = [
                ("records", "100"),
                ("read", read),
                ("update", update),
                ("read_modify_write", read_modify_write),
                ("write_all_fields", write_all_fields),
            ];
            assert_eq!(finds("ycsb", &options, "", ""), [""; 0]);
            assert_eq!(finds("ycsb", &options, &drops_updates(), ""), [UPDATES]);
        }
    }
}

#[test]
fn ycsb_finds_dropped_updates_of_rows_that_an_earlier_run_has_updated() {
    let run = CheckedRun::new(
        "client=threads",
        "ycsb",
        &[("records", "5"), ("read", "0"), ("update", "1")],
    );
    run.perform(140, |_| false);
    run.damage_store(&drops_updates());
    run.workload.run_begins(7);
    let tallies = run.perform(140, |_| false);
    assert_eq!(violated(run.check(tallies)), [UPDATES]);
}

#[test]
fn oltp_finds_additions_that_a_store_has_dropped_from_kept_rows_too() {
    const COUNTS: &str = "every k has grown by the index updates";
    const DROPS: &str =
        "CREATE TRIGGER drops BEFORE UPDATE OF k ON sbtest1 BEGIN SELECT RAISE(IGNORE); END";
    let table = [("table_size", "400"), ("rand_type", "uniform"), ("kept", "on")];
    let of = |test| [&[("test", test)], &table[..]].concat();
    for test in ["update_index", "write_only"] {
        assert_eq!(finds("oltp", &of(test), "", ""), [""; 0], "{test}");
        assert_eq!(finds("oltp", &of(test), DROPS, ""), [COUNTS], "{test}");
    }
    let again = |test, damage_store: &str| {
        let run = CheckedRun::new("client=threads", "oltp", &of(test));
        run.perform(140, |_| false);
        run.workload.run_begins(7);
        run.read_kept_rows();
        run.damage_store(damage_store);
        let tallies = run.perform(70, |_| false);
        run.check(tallies)
    };
    assert_eq!(violated(again("update_index", "")), [""; 0]);
    assert_eq!(violated(again("update_index", DROPS)), [COUNTS]);
    // If rows are replaced, the check cannot tell, and reports that.
    let unknown = again("write_only", DROPS);
    let counts = unknown.iter().find(|check| check.name == COUNTS).unwrap();
    let outcome = &counts.outcome;
    assert!(matches!(outcome, CheckOutcome::NotApplicable(_)), "{outcome:?}");
    assert_eq!(violated(unknown), [""; 0]);
    // Unless the tables were only prepared.
    let prepared = CheckedRun::new("client=threads", "oltp", &of("write_only"));
    prepared.workload.run_begins(7);
    prepared.read_kept_rows();
    prepared.damage_store(DROPS);
    let tallies = prepared.perform(70, |_| false);
    assert_eq!(violated(prepared.check(tallies)), [COUNTS]);
    let twice = "UPDATE sbtest1 SET k = k + 3000";
    let at_most = "no k has grown by more than the index updates";
    assert_eq!(violated(again("write_only", twice)), [at_most]);
}

#[test]
fn oltp_finds_texts_that_a_store_did_not_set() {
    let options = [("test", "update_non_index"), ("table_size", "400")];
    let drops =
        "CREATE TRIGGER drops BEFORE UPDATE OF c ON sbtest1 BEGIN SELECT RAISE(IGNORE); END";
    let found = finds("oltp", &options, drops, "");
    assert_eq!(found, ["no row whose c was set holds the loaded one"]);
}

#[test]
fn equal_seeds_write_equal_values_into_fresh_rows() {
    for (name, options, sql) in [
        (
            "ycsb",
            &[("read", "0"), ("update", "1")][..],
            "SELECT group_concat(field0) FROM usertable",
        ),
        ("oltp", &[("test", "update_non_index")][..], "SELECT group_concat(c) FROM sbtest1"),
    ] {
        let small = if name == "ycsb" { ("records", "20") } else { ("table_size", "20") };
        let values = || {
            let run = CheckedRun::new("client=threads", name, &[options, &[small]].concat());
            run.perform(35, |_| false);
            let database = Connection::open(run.path()).unwrap();
            database.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap()
        };
        assert_eq!(values(), values(), "{name}");
    }
}

#[test]
fn ycsb_finds_a_missing_an_extra_and_a_changed_row() {
    let any = "ycsb_key = (SELECT ycsb_key FROM usertable LIMIT 1 OFFSET 33)";
    let delete = format!("DELETE FROM usertable WHERE {any}");
    assert_eq!(finds("ycsb", MIX, "", &delete), [ROWS]);
    let copy = "CREATE TABLE copy AS SELECT * FROM usertable LIMIT 1; \
                UPDATE copy SET ycsb_key = 'user77'; \
                INSERT INTO usertable SELECT * FROM copy; DROP TABLE copy";
    assert_eq!(finds("ycsb", MIX, "", copy), [ROWS, CONTENT]);
    let renamed = format!("UPDATE usertable SET ycsb_key = 'user77' WHERE {any}");
    assert_eq!(finds("ycsb", MIX, "", &renamed), [ROWS, CONTENT]);
    let changed_key = format!("UPDATE usertable SET ycsb_key = 'nobody' WHERE {any}");
    assert_eq!(finds("ycsb", MIX, "", &changed_key), [ROWS, CONTENT]);
    let all = "DELETE FROM usertable";
    assert_eq!(finds("ycsb", MIX_WITH_DELETES, "", all), [ROWS]);
}

#[test]
fn ycsb_finds_an_altered_a_swapped_and_a_truncated_value() {
    let any = "ycsb_key = (SELECT ycsb_key FROM usertable LIMIT 1 OFFSET 50)";
    for change in [
        "field3 = substr(field3, 1, 99) || '!'",
        "field3 = field4, field4 = field3",
        "field9 = substr(field9, 1, 99)",
        "field0 = ''",
    ] {
        let damage = format!("UPDATE usertable SET {change} WHERE {any}");
        assert_eq!(finds("ycsb", MIX, "", &damage), [CONTENT], "{change}");
    }
    let k2 = "UPDATE usertable SET field5 = 'abcdefghij' WHERE field0 = \
              (SELECT field0 FROM usertable LIMIT 1 OFFSET 5)";
    assert_eq!(finds("ycsb", MIX_WITH_DELETES, "", k2), [CONTENT]);
}

#[test]
fn ycsb_finds_damage_when_it_reads_it() {
    let read = &[("records", "20"), ("workload", "c"), ("verify", "row")];
    let gone = "DELETE FROM usertable WHERE ycsb_key IN (SELECT ycsb_key FROM usertable LIMIT 10)";
    assert_eq!(finds("ycsb", read, gone, ""), [ROWS, READS]);
    let altered = "UPDATE usertable SET field7 = field6";
    assert_eq!(finds("ycsb", read, altered, ""), [CONTENT, READS]);
    // One changed field of a row that is read is found too; a check of presence alone does not find it.
    let one = &[("records", "20"), ("workload", "c"), ("verify", "field")];
    assert_eq!(finds("ycsb", one, altered, ""), [CONTENT, READS]);
    let none = &[("records", "20"), ("workload", "c"), ("verify", "presence")];
    assert_eq!(finds("ycsb", none, altered, ""), [CONTENT]);
    let scan = &[("records", "20"), ("read", "0"), ("update", "0"), ("scan", "1")];
    assert_eq!(finds("ycsb", scan, altered, ""), [CONTENT, READS]);
}

#[test]
fn records_hold_for_what_was_acknowledged_and_for_what_is_unknown() {
    let mrow = &[("prewritten", "20"), ("reads_per_task", "10"), ("records", "90")][..];
    let mrmw = &[("prewritten", "20"), ("reads_per_task", "10"), ("writes_per_task", "5")][..];
    for (name, options) in [("mrow", mrow), ("mrmw", mrmw)] {
        for every in [1_000, 13, 7] {
            let run = CheckedRun::new("client=threads", name, options);
            let tallies = run.perform(140, |round| round % every == every - 1);
            let checks = run.check(tallies);
            let held = |check: &Check| check.outcome == CheckOutcome::Held;
            assert!(checks.iter().all(held), "{name}, one in {every}: {checks:?}");
        }
    }
}

#[test]
fn records_that_were_lost_altered_or_added_are_found() {
    for name in ["mrow", "mrmw"] {
        let options = &[("prewritten", "20"), ("reads_per_task", "10")];
        let lost = "DELETE FROM records WHERE id = 7";
        assert_eq!(finds(name, options, "", lost), [ROWS], "{name}");
        assert_eq!(finds(name, options, lost, ""), [ROWS, RECORD_READS], "{name}");
        let altered = "UPDATE records SET bytes = x'00' WHERE id = 7";
        assert_eq!(finds(name, options, "", altered), [BYTES], "{name}");
        assert_eq!(finds(name, options, altered, ""), [BYTES, RECORD_READS], "{name}");
        let added = "INSERT INTO records (id, bytes) SELECT 900000, bytes FROM records LIMIT 1";
        assert_eq!(finds(name, options, "", added), [ROWS, BYTES], "{name}");
    }
}

#[test]
fn a_second_run_of_the_same_seed_writes_other_values() {
    let run = CheckedRun::new(
        "client=threads",
        "ycsb",
        &[("records", "5"), ("read", "0"), ("update", "1")],
    );
    let values = || {
        let database = Connection::open(run.path()).unwrap();
        let mut rows = database
            .prepare("SELECT field0 || field1 || field2 FROM usertable ORDER BY 1")
            .unwrap();
        let all: Vec<String> =
            rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        all
    };
    let first = run.perform(140, |_| false);
    let once = values();
    run.workload.run_begins(7);
    let second = run.perform(140, |_| false);
    let twice = values();
    assert!(once.iter().all(|value| !twice.contains(value)));
    for tallies in [first, second] {
        let held = |check: &Check| check.outcome == CheckOutcome::Held;
        assert!(run.check(tallies).iter().all(held));
    }
}
