//! Tests that the checks of `group-commit` find damage.

use crate::scenario::{NO_CHECK, finds, finds_with_outcome};
use syncline_contract::Ending;

const WHOLE: &str = "every acknowledged task is there, and every task that is there is whole";
const NOTHING_ELSE: &str = "no row is there that no task inserted";
const OPTIONS: [(&str, &str); 1] = [("ninsert", "3")];
const NAME: &str = "group-commit";

#[test]
fn an_undamaged_store_holds() {
    assert_eq!(finds(NAME, &OPTIONS, ""), NO_CHECK);
    assert_eq!(finds_with_outcome(NAME, &OPTIONS, "", Ending::Unknown), NO_CHECK);
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
    let outcome = |damage| finds_with_outcome(NAME, &OPTIONS, damage, Ending::Unknown);
    assert_eq!(outcome("DELETE FROM tasks WHERE task = 597"), NO_CHECK);
    assert_eq!(outcome("DELETE FROM tasks WHERE task = 597 AND item = 2"), [WHOLE]);
}
