//! Small runs of transfers, even and uneven, and with accounts that run out of money.

use crate::run_on::{runs_everywhere, workload};

#[test]
fn no_transfer_is_lost_and_no_money_is_made() {
    for profile in ["1.5", "uniform"] {
        let options = [("accounts", "40"), ("profile", profile)];
        runs_everywhere(&workload("transfer", &options), 4, 400);
    }
}

#[test]
fn two_accounts_that_run_out_of_money_hold_too() {
    let options = [("accounts", "2"), ("balance", "12")];
    runs_everywhere(&workload("transfer", &options), 3, 600);
}
