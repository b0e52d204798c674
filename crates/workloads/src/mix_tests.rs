//! The mixes as clients draw them: the percentage of each kind of transaction, by a chi-square test.

use crate::AnyWorkload;
use crate::distributions::fits;
use syncline_contract::{Client, Workload};

/// The number of draws of each kind, in the order of the workload's transactions.
fn counts(workload: &AnyWorkload, draws: usize) -> Vec<u64> {
    let mut counts = vec![0; workload.transactions().len()];
    workload.run_begins(0);
    let mut client = workload.client(0, 1, 11);
    for _ in 0..draws {
        counts[client.draw()] += 1;
    }
    counts
}

fn workload(name: &str, options: &str) -> AnyWorkload {
    let pairs = options.split_whitespace().map(|pair| {
        let (key, value) = pair.split_once('=').unwrap();
        (key.to_owned(), value.to_owned())
    });
    AnyWorkload::parse(name, &pairs.collect::<Vec<_>>()).unwrap()
}

#[test]
fn kinds_are_drawn_by_exactly_their_shares() {
    for (name, options, mix) in [
        ("tpcc", "items=100 customers=30", &[45.0, 43.0, 4.0, 4.0, 4.0][..]),
        ("tpcc", "profile=k2 items=100 customers=30", &[45.0, 43.0, 4.0, 4.0, 4.0]),
        ("tpcc", "weights=1,1,0,0,2 items=100 customers=30", &[25.0, 25.0, 0.0, 0.0, 50.0]),
        ("tatp", "subscribers=100", &[35.0, 10.0, 35.0, 2.0, 14.0, 2.0, 2.0]),
        ("smallbank", "", &[20.0, 20.0, 20.0, 20.0, 20.0]),
        ("smallbank", "mix=benchbase", &[15.0, 15.0, 15.0, 15.0, 15.0, 25.0]),
        ("mrmw", "reads_per_task=1 writes_per_task=1", &[80.0, 20.0]),
        ("mrmw", "readers=5 reads_per_task=1 writes_per_task=1", &[5.0, 95.0]),
        ("ycsb", "workload=a", &[50.0, 50.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        ("ycsb", "workload=e", &[0.0, 0.0, 5.0, 95.0, 0.0, 0.0, 0.0]),
        ("script", "builtin=tpcb-like@1,simple-update@2,select-only@7", &[10.0, 20.0, 70.0]),
    ] {
        let load = workload(name, options);
        let counts = counts(&load, 200_000);
        let kinds = load.transactions();
        let mut shares: Vec<f64> = mix.iter().map(|percent| percent / 100.0).collect();
        assert_eq!(counts.len(), shares.len(), "{name} {options}: {kinds:?}");
        assert!(fits(&counts, &shares).holds(), "{name} {options}: {kinds:?} {counts:?}");
        // Moving two percent from one kind to another must be detected.
        let most = (0..shares.len()).max_by(|a, b| shares[*a].total_cmp(&shares[*b]));
        let most = most.unwrap();
        let other = usize::from(most == 0);
        (shares[most], shares[other]) = (shares[most] - 0.02, shares[other] + 0.02);
        assert!(!fits(&counts, &shares).holds(), "{name} {options}: wrong shares must not fit");
    }
}
