//! Tests that the checks of `debit-credit` find damage.

use crate::scenario::{NO_CHECK, finds, finds_with_outcome};
use syncline_contract::Ending;

const NAME: &str = "debit-credit";
const SMALL: [(&str, &str); 2] = [("scale", "3"), ("accounts", "50")];
const EQUAL: &str = "accounts, tellers, branches and history hold the same sum";
const TELLERS: &str = "each branch holds the sum of its tellers";
const COMMITTED: &str = "each branch, its tellers and its accounts hold what was committed to them";
const BY_KEY: &str = "history, summed by branch, teller and account, is what each of them holds";
const ROWS: &str = "history has a row for each committed transaction";

#[test]
fn an_undamaged_store_holds() {
    assert_eq!(finds(NAME, &SMALL, ""), NO_CHECK);
    assert_eq!(finds_with_outcome(NAME, &SMALL, "", Ending::Unknown), NO_CHECK);
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
    // One of the balances is in the history; the other is in it too, or has never been changed.
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
    let found = finds_with_outcome(NAME, &SMALL, "", Ending::Undone);
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
