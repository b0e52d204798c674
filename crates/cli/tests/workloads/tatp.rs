//! Small runs of TATP: by index and by table, with subscribers drawn in both ways.

use crate::run_on::{STORES, plan, run_on, runs_everywhere, workload};

#[test]
fn the_register_stays_consistent() {
    for (lookup, distribution) in [("index", "non-uniform"), ("table", "uniform")] {
        let options = [("subscribers", "60"), ("lookup", lookup), ("distribution", distribution)];
        runs_everywhere(&workload("tatp", &options), 4, 600);
    }
}

#[test]
fn transactions_abort_as_often_as_the_description_says() {
    let options = [("subscribers", "5000"), ("distribution", "uniform")];
    let result = run_on(STORES[0], &workload("tatp", &options), &plan(4, 20_000));
    // 76.1 % of 10, 37.5 % of 35 and of 2, 68.75 % of 2 and of 2 per hundred: 24.2 %.
    let share = result.outcomes.aborted as f64 / 20_000.0;
    assert!((0.22..0.265).contains(&share), "{share}: {:?}", result.outcomes);
}
