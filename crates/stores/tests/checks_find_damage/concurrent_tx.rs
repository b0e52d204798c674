//! Tests that the checks of `concurrent-tx` find damage.

use crate::scenario::{NO_CHECK, finds, finds_with_outcome};
use syncline_contract::Ending;

const VALUES: &str =
    "every row holds what a transaction that was not undone put last under its key";
const PRESENT: &str = "no acknowledged put is missing that nobody may have removed";
const OPTIONS: [(&str, &str); 2] = [("key_len", "2"), ("nops", "20")];
const NAME: &str = "concurrent-tx";

#[test]
fn an_undamaged_store_holds() {
    assert_eq!(finds(NAME, &OPTIONS, ""), NO_CHECK);
    assert_eq!(finds_with_outcome(NAME, &OPTIONS, "", Ending::Unknown), NO_CHECK);
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
    let found = finds_with_outcome(NAME, &OPTIONS, "", Ending::Undone);
    assert!(found.contains(&VALUES.to_owned()), "{found:?}");
}
