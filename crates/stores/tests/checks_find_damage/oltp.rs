//! Tests that the checks of sysbench's `oltp` tests find damage.

use crate::scenario::{NO_CHECK, finds, finds_while_running, finds_with_outcome};
use syncline_contract::Ending;

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
fn an_undamaged_store_holds_for_any_end_of_the_last_transactions() {
    for test in ["read_write", "write_only", "insert", "delete", "update_index", "bulk_insert"] {
        assert_eq!(finds(NAME, &of(test), ""), NO_CHECK, "{test}");
        let unknown = finds_with_outcome(NAME, &of(test), "", Ending::Unknown);
        assert_eq!(unknown, NO_CHECK, "{test}");
    }
}

#[test]
fn a_lost_or_an_extra_row_is_found() {
    for test in ["read_write", "update_index", "insert"] {
        let lost = "DELETE FROM sbtest2 WHERE id = 11";
        let found = finds(NAME, &of(test), lost);
        assert_eq!(found.first().map(String::as_str), Some(ROWS), "{test}: {found:?}");
    }
    let extra = "INSERT INTO sbtest1 SELECT 41, k, c, pad FROM sbtest1 WHERE id = 1";
    assert_eq!(finds(NAME, &of("read_write"), extra), [ROWS]);
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
    for damage in
        ["UPDATE sbtest1 SET k = k + 1 WHERE id = 3", "UPDATE sbtest2 SET k = k - 1 WHERE id = 3"]
    {
        let found = finds(NAME, &of("update_index"), damage);
        assert_eq!(found, [COUNTS], "{damage}");
    }
    let fewer = "UPDATE sbtest1 SET k = -5 WHERE id = 3";
    assert_eq!(finds(NAME, &of("read_write"), fewer), [COUNTS]);
    let undone = finds_with_outcome(NAME, &of("update_index"), "", Ending::Undone);
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
