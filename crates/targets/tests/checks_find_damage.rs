//! Checks of workloads find damage: each workload runs on SQLite, its database is harmed behind its
//! back, and exactly those checks that should see it do.

#![allow(clippy::unwrap_used, reason = "in a test an unwrap is a finding")]

use rusqlite::Connection;
use syncline_contract::conformance::block_on;
use syncline_contract::{
    Asked, CheckOutcome, Client, Ending, Rows, Session, Stop, Target, Transaction, Workload,
};
use syncline_targets::{AnySession, AnyTarget};
use syncline_workloads::AnyWorkload;

const CLIENTS: usize = 3;
/// Rows of a load's batch.
const BATCH_ROWS: u64 = 500;

/// What is done to a store between a load and its check.
struct Story<'s> {
    /// The damage after the load, as SQL.
    loaded: &'s str,
    /// The damage after the run.
    ended: &'s str,
    /// What each client is told of its last transaction, which was committed.
    told: Ending,
}

/// Loads a workload and runs its clients in turn, each of whose transactions is committed unless it
/// aborts itself, and answers which checks found what was done meanwhile.
fn finds_in(name: &str, options: &[(&str, &str)], story: &Story<'_>) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let url = format!("sqlite:{}?durability=os&client=threads", file.display());
    let target = AnyTarget::open(&url).unwrap();
    let pairs = options
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let workload = AnyWorkload::parse(name, &pairs.collect::<Vec<_>>()).unwrap();
    workload.run_begins(0);
    block_on(&(), target.create(workload.plan())).unwrap();
    let worker = target.worker().unwrap();
    block_on(&worker, async {
        let mut session = target.connect(workload.plan(), &worker).await.unwrap();
        load(&workload, &mut session).await;
        harm(&file, story.loaded);
        let mut tallies = Vec::new();
        for number in 0..CLIENTS {
            let mut client = workload.client(number, CLIENTS, 42);
            for round in 0..200 {
                let last = (round == 199).then_some(story.told);
                one(&mut session, &mut client, last).await;
            }
            tallies.push(client.tally());
        }
        harm(&file, story.ended);
        let checks = workload.check(tallies, &mut session).await.unwrap();
        let names: Vec<_> = checks.iter().map(|check| check.name.as_str()).collect();
        assert_eq!(names, workload.check_names(), "{name} {options:?}");
        let violated = |outcome: &CheckOutcome| matches!(outcome, CheckOutcome::Violated(_));
        let found = checks.into_iter().filter(|check| violated(&check.outcome));
        found.map(|check| check.name).collect()
    })
}

/// The damage is done after the run.
fn finds(name: &str, options: &[(&str, &str)], damage: &str) -> Vec<String> {
    finds_when_told(name, options, damage, Ending::Committed)
}

/// The damage is done after the run, whose clients are told that of their last transaction.
fn finds_when_told(
    name: &str,
    options: &[(&str, &str)],
    damage: &str,
    told: Ending,
) -> Vec<String> {
    let story = Story {
        loaded: "",
        ended: damage,
        told,
    };
    finds_in(name, options, &story)
}

/// The damage is done before the run.
fn finds_while_running(name: &str, options: &[(&str, &str)], damage: &str) -> Vec<String> {
    let story = Story {
        loaded: damage,
        ended: "",
        told: Ending::Committed,
    };
    finds_in(name, options, &story)
}

fn harm(file: &std::path::Path, sql: &str) {
    if !sql.is_empty() {
        let harmed = Connection::open(file).unwrap().execute_batch(sql);
        harmed.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

async fn load(workload: &AnyWorkload, session: &mut AnySession) {
    for load in workload.loads() {
        let width = workload.plan().tables()[load.table.0].columns.len();
        let mut batch = Rows::new(width);
        for unit in 0..load.units {
            workload.load_unit(load.table, unit, &mut batch);
            if unit % BATCH_ROWS == BATCH_ROWS - 1 || unit + 1 == load.units {
                session.load(load.table, &batch).await.unwrap();
                batch.reset(width);
            }
        }
    }
}

/// Performs a transaction, commits it, and tells its client how it ended, or something else.
async fn one<C: Client>(session: &mut AnySession, client: &mut C, told: Option<Ending>) {
    let kind = client.draw();
    let mut asked = Asked::default();
    session.begin(client.shape(kind));
    let performed = client
        .perform(kind, &mut Transaction::new(session, &mut asked))
        .await;
    let ending = match performed {
        Ok(()) => {
            session.commit().await.unwrap();
            told.unwrap_or(Ending::Committed)
        }
        Err(Stop::Abort) => {
            session.abort().await;
            Ending::Undone
        }
        Err(other) => panic!("{other:?}"),
    };
    client.ended(kind, ending);
}

const NO_CHECK: [&str; 0] = [];

mod oltp {
    use super::{Ending, NO_CHECK, finds, finds_when_told, finds_while_running};

    const NAME: &str = "oltp";
    const ROWS: &str = "every loaded and acknowledged row is there, and no other";
    const TEXTS: &str = "every c and pad is one that was written for its row";
    const COUNTS: &str = "every k has grown by the index updates";
    const READS: &str = "every read answered the rows that were there, in order";

    fn of(test: &'static str) -> [(&'static str, &'static str); 5] {
        [
            ("test", test),
            ("tables", "2"),
            ("table_size", "40"),
            ("rand_type", "uniform"),
            ("bulk_rows", "5"),
        ]
    }

    #[test]
    fn an_undamaged_store_holds_whatever_became_of_the_last_transactions() {
        for test in [
            "read_write",
            "write_only",
            "insert",
            "delete",
            "update_index",
            "bulk_insert",
        ] {
            assert_eq!(finds(NAME, &of(test), ""), NO_CHECK, "{test}");
            let unknown = finds_when_told(NAME, &of(test), "", Ending::Unknown);
            assert_eq!(unknown, NO_CHECK, "{test}");
        }
    }

    #[test]
    fn a_lost_or_a_strange_row_is_found() {
        for test in ["read_write", "update_index", "insert"] {
            let lost = "DELETE FROM sbtest2 WHERE id = 11";
            let found = finds(NAME, &of(test), lost);
            assert_eq!(
                found.first().map(String::as_str),
                Some(ROWS),
                "{test}: {found:?}"
            );
        }
        let strange = "INSERT INTO sbtest1 SELECT 41, k, c, pad FROM sbtest1 WHERE id = 1";
        assert_eq!(finds(NAME, &of("read_write"), strange), [ROWS]);
        let back = "INSERT OR REPLACE INTO sbtest1 VALUES (7, 1, 'c', 'pad')";
        assert_eq!(finds(NAME, &of("delete"), back), [ROWS, TEXTS]);
    }

    #[test]
    fn a_lost_insert_is_found() {
        let lost = "DELETE FROM sbtest1 WHERE id = (SELECT max(id) FROM sbtest1)";
        assert_eq!(finds(NAME, &of("insert"), lost), [ROWS]);
        assert_eq!(finds(NAME, &of("bulk_insert"), lost), [ROWS]);
        let other = "UPDATE sbtest1 SET k = k + 1 WHERE id = 5";
        let found = finds(NAME, &of("bulk_insert"), other);
        assert_eq!(found, ["every k is its row's id"]);
    }

    #[test]
    fn texts_of_another_row_or_torn_ones_are_found() {
        for damage in [
            "UPDATE sbtest1 SET c = (SELECT c FROM sbtest1 WHERE id = 2) WHERE id = 1",
            "UPDATE sbtest1 SET pad = (SELECT pad FROM sbtest2 WHERE id = 1) WHERE id = 1",
            "UPDATE sbtest2 SET c = substr(c, 1, 100) WHERE id = 40",
        ] {
            let found = finds(NAME, &of("update_non_index"), damage);
            assert_eq!(found, [TEXTS], "{damage}");
        }
    }

    #[test]
    fn an_addition_that_is_lost_or_done_twice_is_found() {
        for damage in [
            "UPDATE sbtest1 SET k = k + 1 WHERE id = 3",
            "UPDATE sbtest2 SET k = k - 1 WHERE id = 3",
        ] {
            let found = finds(NAME, &of("update_index"), damage);
            assert_eq!(found, [COUNTS], "{damage}");
        }
        let fewer = "UPDATE sbtest1 SET k = -5 WHERE id = 3";
        assert_eq!(finds(NAME, &of("read_write"), fewer), [COUNTS]);
        let undone = finds_when_told(NAME, &of("update_index"), "", Ending::Undone);
        assert_eq!(undone, [COUNTS]);
    }

    #[test]
    fn a_read_that_misses_a_row_is_found() {
        let lost = "DELETE FROM sbtest1 WHERE id BETWEEN 1 AND 30";
        let found = finds_while_running(NAME, &of("point_select"), lost);
        assert_eq!(found, [ROWS, READS]);
        let found = finds_while_running(NAME, &of("read_only"), lost);
        assert_eq!(found, [ROWS, READS]);
        let wrong = "UPDATE sbtest2 SET c = (SELECT c FROM sbtest1 WHERE sbtest1.id = sbtest2.id)";
        let found = finds_while_running(NAME, &of("point_select"), wrong);
        assert_eq!(found, [TEXTS, READS]);
    }
}

mod debit_credit {
    use super::{Ending, NO_CHECK, finds, finds_when_told};

    const NAME: &str = "debit-credit";
    const SMALL: [(&str, &str); 2] = [("scale", "3"), ("accounts", "50")];
    const EQUAL: &str = "accounts, tellers, branches and history hold the same sum";
    const TELLERS: &str = "each branch holds the sum of its tellers";
    const COMMITTED: &str =
        "each branch, its tellers and its accounts hold what was committed to them";
    const BY_KEY: &str =
        "history, summed by branch, teller and account, is what each of them holds";
    const ROWS: &str = "history has a row for each committed transaction";

    #[test]
    fn an_undamaged_store_holds() {
        assert_eq!(finds(NAME, &SMALL, ""), NO_CHECK);
        assert_eq!(finds_when_told(NAME, &SMALL, "", Ending::Unknown), NO_CHECK);
    }

    #[test]
    fn a_changed_account_is_found() {
        let damage = "UPDATE accounts SET abalance = abalance + 1 WHERE aid = 60";
        assert_eq!(finds(NAME, &SMALL, damage), [EQUAL, COMMITTED, BY_KEY]);
    }

    #[test]
    fn a_sum_that_moved_between_branches_is_found() {
        let damage = "UPDATE branches SET bbalance = bbalance + 1 WHERE bid = 1; \
                      UPDATE branches SET bbalance = bbalance - 1 WHERE bid = 2";
        assert_eq!(finds(NAME, &SMALL, damage), [TELLERS, COMMITTED, BY_KEY]);
        let damage = "UPDATE accounts SET abalance = abalance + 1 WHERE aid = 1; \
                      UPDATE accounts SET abalance = abalance - 1 WHERE aid = 51";
        assert_eq!(finds(NAME, &SMALL, damage), [COMMITTED, BY_KEY]);
    }

    #[test]
    fn a_sum_that_moved_within_a_branch_and_a_history_row_of_another_are_found() {
        // One of them is in the history; the other is too, or has never been given anything.
        let damage = "UPDATE accounts SET abalance = abalance + 1 WHERE aid = (SELECT min(aid) FROM history); \
                      UPDATE accounts SET abalance = abalance - 1 WHERE aid = (SELECT min(aid) + 1 FROM history)";
        assert_eq!(finds(NAME, &SMALL, damage), [BY_KEY]);
        let damage = "UPDATE tellers SET tbalance = tbalance + 1 WHERE tid = (SELECT min(tid) FROM history); \
                      UPDATE tellers SET tbalance = tbalance - 1 WHERE tid = (SELECT min(tid) + 1 FROM history)";
        assert_eq!(finds(NAME, &SMALL, damage), [BY_KEY]);
        let damage =
            "UPDATE history SET bid = 3 - bid % 3 WHERE rowid = (SELECT min(rowid) FROM history)";
        assert_eq!(finds(NAME, &SMALL, damage), [BY_KEY]);
        let damage = "UPDATE history SET aid = 4711 WHERE rowid = (SELECT min(rowid) FROM history)";
        assert_eq!(finds(NAME, &SMALL, damage), [BY_KEY]);
    }

    #[test]
    fn a_lost_or_doubled_history_row_is_found() {
        let lost = "DELETE FROM history WHERE rowid IN (SELECT rowid FROM history LIMIT 1)";
        assert_eq!(finds(NAME, &SMALL, lost), [EQUAL, ROWS, BY_KEY]);
        let doubled = "INSERT INTO history SELECT * FROM history LIMIT 1";
        assert_eq!(finds(NAME, &SMALL, doubled), [EQUAL, ROWS, BY_KEY]);
    }

    #[test]
    fn a_transaction_that_was_undone_but_stayed_is_found() {
        let found = finds_when_told(NAME, &SMALL, "", Ending::Undone);
        assert_eq!(found, [COMMITTED, ROWS]);
    }

    #[test]
    fn a_write_where_nothing_is_written_is_found() {
        let options = [SMALL[0], SMALL[1], ("profile", "pgbench-select-only")];
        let damage = "UPDATE tellers SET tbalance = 5 WHERE tid = 7";
        assert_eq!(
            finds(NAME, &options, damage),
            ["no balance was changed and there is no history", COMMITTED]
        );
        let options = [SMALL[0], SMALL[1], ("profile", "pgbench-simple-update")];
        assert_eq!(
            finds(NAME, &options, damage),
            ["accounts and history hold the same sum", COMMITTED]
        );
    }
}

mod single_record {
    use super::{NO_CHECK, finds, finds_while_running};

    const READ: &str = "every row that was read had its key and a text that was loaded or written";
    const THERE: &str = "every row is there once, and no other";
    const LAST: &str = "every row holds its loaded text, or one that was written to it";
    const SMALL: [(&str, &str); 2] = [("rows", "1000"), ("tables", "2")];

    #[test]
    fn an_undamaged_store_holds() {
        for by in ["key", "index"] {
            for name in ["select", "update"] {
                let options = [SMALL[0], SMALL[1], ("by", by)];
                assert_eq!(finds(name, &options, ""), NO_CHECK);
            }
        }
    }

    #[test]
    fn a_text_that_nobody_wrote_is_found() {
        for name in ["select", "update"] {
            let other = "UPDATE single_record_1 SET text = 'x' || substr(text, 2) WHERE id = 70";
            assert_eq!(finds(name, &SMALL, other), [LAST]);
        }
        // One of the sixteen, but not that of the row; no update of the next row leaves it either.
        let another = "UPDATE single_record_0 SET text = (SELECT text FROM single_record_0 AS other \
                       WHERE other.text <> single_record_0.text LIMIT 1) WHERE id = 70";
        assert_eq!(finds("select", &SMALL, another), [LAST]);
    }

    #[test]
    fn updates_that_are_lost_are_found() {
        // Three clients changed the 32 rows 600 times, so that hardly any text is the loaded one.
        let options = [("rows", "32")];
        let lost =
            "UPDATE single_record_0 SET text = (SELECT text FROM single_record_0 WHERE id = 0)";
        assert_eq!(finds("update", &options, lost), [LAST]);
    }

    #[test]
    fn what_is_read_wrong_while_running_is_found() {
        let other = "UPDATE single_record_1 SET text = 'x'";
        for by in ["key", "index"] {
            let options = [SMALL[0], SMALL[1], ("by", by)];
            assert_eq!(finds_while_running("select", &options, other), [READ, LAST]);
        }
        // The index finds other rows than those that were asked for.
        let other = "UPDATE single_record_0 SET sec = sec + 1000; \
                     UPDATE single_record_0 SET sec = (sec + 1) % 1000";
        let options = [SMALL[0], ("by", "index")];
        assert_eq!(finds_while_running("select", &options, other), [READ]);
    }

    #[test]
    fn a_missing_and_an_extra_row_are_found() {
        let missing = "DELETE FROM single_record_1 WHERE id = 999";
        assert_eq!(finds("select", &SMALL, missing), [THERE]);
        let missing = "DELETE FROM single_record_1 WHERE id = 30";
        assert_eq!(finds("select", &SMALL, missing), [THERE]);
        let extra =
            "INSERT INTO single_record_0 SELECT 1000, text FROM single_record_0 WHERE id = 1";
        assert_eq!(finds("select", &SMALL, extra), [THERE]);
    }
}

mod short {
    use super::{Ending, NO_CHECK, finds, finds_when_told};

    const COUNTED: &str = "each table counts every committed update once";
    const ALIKE: &str = "rows of one number are alike in all tables and indexed columns";
    const OPTIONS: [(&str, &str); 4] = [
        ("tables", "2"),
        ("indexes", "2"),
        ("rows", "40"),
        ("do", "update"),
    ];

    #[test]
    fn an_undamaged_store_holds() {
        assert_eq!(finds("short", &OPTIONS, ""), NO_CHECK);
        let unknown = finds_when_told("short", &OPTIONS, "", Ending::Unknown);
        assert_eq!(unknown, NO_CHECK);
    }

    #[test]
    fn an_update_that_happened_in_part_is_found() {
        let half = "UPDATE short_1 SET count = count + 1 WHERE id = 3";
        assert_eq!(finds("short", &OPTIONS, half), [COUNTED, ALIKE]);
        let column = "UPDATE short_1 SET i1 = i1 + 40 WHERE id = 3; \
                      UPDATE short_0 SET i1 = i1 + 40 WHERE id = 3";
        assert_eq!(finds("short", &OPTIONS, column), [ALIKE]);
    }

    #[test]
    fn an_update_that_was_lost_everywhere_is_found() {
        let lost = "UPDATE short_0 SET count = count - 1 WHERE id = 3; \
                    UPDATE short_1 SET count = count - 1 WHERE id = 3";
        assert_eq!(finds("short", &OPTIONS, lost), [COUNTED]);
        let missing = "DELETE FROM short_0 WHERE count = 0 AND id < 0 OR id = 39; \
                       DELETE FROM short_1 WHERE id = 39";
        let found = finds("short", &OPTIONS, missing);
        assert!(found.contains(&ALIKE.to_owned()), "{found:?}");
    }
}

mod concurrent_tx {
    use super::{Ending, NO_CHECK, finds, finds_when_told};

    const VALUES: &str =
        "every row holds what a transaction that was not undone put last under its key";
    const PRESENT: &str = "no acknowledged put is missing that nobody may have removed";
    const OPTIONS: [(&str, &str); 2] = [("key_len", "2"), ("nops", "20")];
    const NAME: &str = "concurrent-tx";

    #[test]
    fn an_undamaged_store_holds() {
        assert_eq!(finds(NAME, &OPTIONS, ""), NO_CHECK);
        assert_eq!(
            finds_when_told(NAME, &OPTIONS, "", Ending::Unknown),
            NO_CHECK
        );
    }

    #[test]
    fn a_value_under_another_key_is_found() {
        let swapped = "CREATE TABLE two AS SELECT id, value FROM abc LIMIT 2; UPDATE abc SET value = \
                       (SELECT value FROM two WHERE two.id <> abc.id) WHERE id IN (SELECT id FROM two); \
                       DROP TABLE two";
        assert_eq!(finds(NAME, &OPTIONS, swapped), [VALUES]);
    }

    #[test]
    fn missing_rows_are_found() {
        assert_eq!(finds(NAME, &OPTIONS, "DELETE FROM abc"), [PRESENT]);
    }

    #[test]
    fn a_transaction_that_was_undone_but_stayed_is_found() {
        let found = finds_when_told(NAME, &OPTIONS, "", Ending::Undone);
        assert!(found.contains(&VALUES.to_owned()), "{found:?}");
    }
}

mod group_commit {
    use super::{Ending, NO_CHECK, finds, finds_when_told};

    const WHOLE: &str = "every acknowledged task is there, and every task that is there is whole";
    const NOTHING_ELSE: &str = "no row is there that no task inserted";
    const OPTIONS: [(&str, &str); 1] = [("ninsert", "3")];
    const NAME: &str = "group-commit";

    #[test]
    fn an_undamaged_store_holds() {
        assert_eq!(finds(NAME, &OPTIONS, ""), NO_CHECK);
        assert_eq!(
            finds_when_told(NAME, &OPTIONS, "", Ending::Unknown),
            NO_CHECK
        );
    }

    #[test]
    fn damage_is_found() {
        let lost = "DELETE FROM tasks WHERE task = 5";
        assert_eq!(finds(NAME, &OPTIONS, lost), [WHOLE]);
        let torn = "DELETE FROM tasks WHERE task = 5 AND item = 1";
        assert_eq!(finds(NAME, &OPTIONS, torn), [WHOLE]);
        let altered = "UPDATE tasks SET value = value + 1 WHERE task = 5 AND item = 1";
        assert_eq!(finds(NAME, &OPTIONS, altered), [WHOLE]);
        let beyond = "INSERT INTO tasks VALUES (100000, 0, 0)";
        assert_eq!(finds(NAME, &OPTIONS, beyond), [NOTHING_ELSE]);
    }

    #[test]
    fn an_unknown_task_may_be_there_or_not_but_whole() {
        // Task 199 of client 0 has the key 597.
        let told = |damage| finds_when_told(NAME, &OPTIONS, damage, Ending::Unknown);
        assert_eq!(told("DELETE FROM tasks WHERE task = 597"), NO_CHECK);
        assert_eq!(
            told("DELETE FROM tasks WHERE task = 597 AND item = 2"),
            [WHOLE]
        );
    }
}

mod join {
    use super::{NO_CHECK, finds, finds_while_running};

    const OPTIONS: [(&str, &str); 2] = [("rows", "50"), ("joined", "20")];
    const ANSWERED: &str = "every join answered each row of the small table once, with equal keys";

    #[test]
    fn an_undamaged_store_holds() {
        assert_eq!(finds("join", &OPTIONS, ""), NO_CHECK);
    }

    #[test]
    fn a_row_without_a_partner_is_found() {
        for table in ["onektup", "tenktup1"] {
            let damage = format!("DELETE FROM {table} WHERE unique1 = 7");
            let found = finds_while_running("join", &OPTIONS, &damage);
            assert_eq!(found, [ANSWERED]);
        }
    }
}

mod smallbank {
    use super::{Ending, NO_CHECK, finds, finds_when_told};

    const HELD: &str = "the bank holds what it opened with and what committed transactions brought";
    const COVERED: &str = "no savings account is below zero";
    const THERE: &str = "every customer has both accounts";
    const OPTIONS: [(&str, &str); 3] = [("customers", "30"), ("hot", "4"), ("mix", "benchbase")];
    const NAME: &str = "smallbank";

    #[test]
    fn an_undamaged_store_holds() {
        assert_eq!(finds(NAME, &OPTIONS, ""), NO_CHECK);
        assert_eq!(
            finds_when_told(NAME, &OPTIONS, "", Ending::Unknown),
            NO_CHECK
        );
    }

    #[test]
    fn a_hundredth_more_is_found() {
        let more = "UPDATE checking SET bal = bal + 1 WHERE custid = 7";
        assert_eq!(finds(NAME, &OPTIONS, more), [HELD]);
    }

    #[test]
    fn an_overdrawn_savings_account_is_found() {
        let moved = "UPDATE checking SET bal = bal + 1 + (SELECT bal FROM savings WHERE custid = 7) \
                     WHERE custid = 7; UPDATE savings SET bal = -1 WHERE custid = 7";
        assert_eq!(finds(NAME, &OPTIONS, moved), [COVERED]);
    }

    #[test]
    fn a_missing_account_is_found() {
        let missing = "UPDATE checking SET bal = bal + (SELECT bal FROM savings WHERE custid = 7) \
                       WHERE custid = 7; DELETE FROM savings WHERE custid = 7";
        assert_eq!(finds(NAME, &OPTIONS, missing), [THERE]);
    }
}

mod tatp {
    use super::{Ending, NO_CHECK, finds, finds_when_told};

    const BELONGS: &str = "every call forwarding belongs to a special facility of its subscriber";
    const LOADED: &str =
        "subscribers, their access and their special facilities are those that were loaded";
    const COUNTED: &str = "call forwardings are as many as loaded, inserted and deleted";
    const OPTIONS: [(&str, &str); 1] = [("subscribers", "300")];
    /// One call forwarding.
    const FIRST: &str = "(s_id, sf_type, start_time) = \
                         (SELECT s_id, sf_type, start_time FROM call_forwarding LIMIT 1)";
    const NAME: &str = "tatp";

    #[test]
    fn an_undamaged_store_holds() {
        for lookup in ["index", "table"] {
            let options = [OPTIONS[0], ("lookup", lookup)];
            assert_eq!(finds(NAME, &options, ""), NO_CHECK);
            assert_eq!(
                finds_when_told(NAME, &options, "", Ending::Unknown),
                NO_CHECK
            );
        }
    }

    #[test]
    fn a_forwarding_without_its_facility_is_found() {
        let moved = format!("UPDATE call_forwarding SET sf_type = 5 WHERE {FIRST}");
        assert_eq!(finds(NAME, &OPTIONS, &moved), [BELONGS]);
        let stranger = format!("UPDATE call_forwarding SET s_id = 301 WHERE {FIRST}");
        assert_eq!(finds(NAME, &OPTIONS, &stranger), [BELONGS]);
    }

    #[test]
    fn lost_and_doubled_forwardings_are_found() {
        let lost = format!("DELETE FROM call_forwarding WHERE {FIRST}");
        assert_eq!(finds(NAME, &OPTIONS, &lost), [COUNTED]);
        let more = "INSERT INTO call_forwarding SELECT s_id, sf_type, 4, 5, '' FROM \
                    special_facility LIMIT 1";
        assert_eq!(finds(NAME, &OPTIONS, more), [COUNTED]);
    }

    #[test]
    fn changed_tables_are_found() {
        for damage in [
            "DELETE FROM access_info WHERE s_id = 8",
            "UPDATE subscriber SET sub_nbr = 'x' WHERE s_id = 8",
            "DELETE FROM subscriber WHERE s_id = 8",
            "INSERT INTO access_info SELECT 301, ai_type, 0, 0, '', '' FROM access_info LIMIT 1",
        ] {
            assert_eq!(finds(NAME, &OPTIONS, damage), [LOADED], "{damage}");
        }
    }
}
