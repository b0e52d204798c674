//! Tests that the checks of `smallbank` find damage.

use crate::scenario::{NO_CHECK, finds, finds_with_outcome};
use syncline_contract::Ending;

const HELD: &str = "the bank holds what it opened with and what committed transactions brought";
const COVERED: &str = "no savings account is below zero";
const THERE: &str = "every customer has both accounts";
const OPTIONS: [(&str, &str); 3] = [("customers", "30"), ("hot", "4"), ("mix", "benchbase")];
const NAME: &str = "smallbank";

#[test]
fn an_undamaged_store_holds() {
    assert_eq!(finds(NAME, &OPTIONS, ""), NO_CHECK);
    assert_eq!(finds_with_outcome(NAME, &OPTIONS, "", Ending::Unknown), NO_CHECK);
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
