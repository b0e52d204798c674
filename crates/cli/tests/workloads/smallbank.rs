//! Small runs of Smallbank, in both mixes, with and without hot customers, and with empty accounts.

use crate::run_on::{runs_everywhere, workload};

#[test]
fn no_money_is_lost_or_created() {
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
