//! Tests that the checks of `transfer` find damage.

use crate::scenario::{NO_CHECK, finds, finds_with_outcome};
use syncline_contract::Ending;

const HELD: &str = "the accounts hold what they opened with";
const COVERED: &str = "no balance is below zero";
const COUNTED: &str = "both accounts of each committed transfer have counted it";
const THERE: &str = "every account is there";
const OPTIONS: [(&str, &str); 1] = [("accounts", "30")];
const NAME: &str = "transfer";

#[test]
fn an_undamaged_store_holds() {
    assert_eq!(finds(NAME, &OPTIONS, ""), NO_CHECK);
    assert_eq!(finds_with_outcome(NAME, &OPTIONS, "", Ending::Unknown), NO_CHECK);
}

#[test]
fn a_unit_more_is_found() {
    let more = "UPDATE accounts SET balance = balance + 1 WHERE id = 7";
    assert_eq!(finds(NAME, &OPTIONS, more), [HELD]);
}

#[test]
fn a_lost_transfer_is_found() {
    let lost = "UPDATE accounts SET balance = balance - 1, transfers = transfers - 1 WHERE id = 0; \
                UPDATE accounts SET balance = balance + 1, transfers = transfers - 1 WHERE id = 1";
    assert_eq!(finds(NAME, &OPTIONS, lost), [COUNTED]);
}

#[test]
fn an_overdrawn_account_is_found() {
    let moved = "UPDATE accounts SET balance = balance + 1 + (SELECT balance FROM accounts WHERE id = 7) \
                 WHERE id = 8; UPDATE accounts SET balance = -1 WHERE id = 7";
    assert_eq!(finds(NAME, &OPTIONS, moved), [COVERED]);
}

#[test]
fn a_missing_account_is_found() {
    let missing = "UPDATE accounts SET balance = balance + (SELECT balance FROM accounts WHERE id = 29), \
                   transfers = transfers + (SELECT transfers FROM accounts WHERE id = 29) WHERE id = 7; \
                   DELETE FROM accounts WHERE id = 29";
    assert_eq!(finds(NAME, &OPTIONS, missing), [THERE]);
}
