//! Tests that the checks of `join` find damage.

use crate::scenario::{NO_CHECK, finds, finds_while_running};

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
