//! Smallbank in miniature, in both mixes, with hot customers and without, and with empty accounts.

use crate::run_on::{runs_everywhere, workload};

#[test]
fn nothing_is_lost_or_made() {
    for mix in ["icde2008", "benchbase"] {
        for hot in ["0", "3"] {
            let options = [("customers", "40"), ("hot", hot), ("mix", mix)];
            runs_everywhere(&workload("smallbank", &options), 4, 400);
        }
    }
}

#[test]
fn two_customers_that_run_out_of_money_hold_too() {
    let options = [("customers", "2"), ("hot", "1"), ("mix", "benchbase")];
    runs_everywhere(&workload("smallbank", &options), 3, 1_500);
}
