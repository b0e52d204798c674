//! Verdicts over times that are given, never measured.

use super::product::{Product, products};
use super::report::{FitnessInput, verdicts_for};
use super::windows::ShapeWindows;
use super::{product, resolved};
use crate::measure::{ShapeFigures, histogram};
use crate::{DeviceFacts, Plan, Step};
use syncline_record::{Fitness, FlushCounts, Verdict};

const MS: u64 = 1_000_000;

/// A window of operations one after another: for each pair, that many that take that long.
fn window(times: &[(u64, u64)]) -> ShapeFigures {
    let mut histogram = histogram();
    for (count, ns) in times {
        histogram.record_n(*ns, *count).unwrap();
    }
    let elapsed_ns = times.iter().map(|(count, ns)| count * ns).sum();
    ShapeFigures { histogram, elapsed_ns }
}

/// Every shape of the product with these three windows.
fn all_shapes(product: &'static Product, windows: [&[(u64, u64)]; 3]) -> ShapeWindows {
    let mut found = ShapeWindows::default();
    for shape in &product.shapes {
        for (number, times) in (0..).zip(windows) {
            found.push(shape, number * 10_000 * MS, window(times));
        }
    }
    found
}

fn honesty(word: &str) -> Verdict {
    Verdict {
        subject: "/data".to_owned(),
        word: word.to_owned(),
        reason: "for a test".to_owned(),
        remedy: None,
    }
}

fn judged(name: &str, measured: &ShapeWindows, word: &str) -> Fitness {
    let idle = FlushCounts {
        disk: None,
        idle_flushes_per_s: None,
        idle_writes_per_s: None,
        reason: Some("not counted".to_owned()),
    };
    let input = FitnessInput {
        device: &DeviceFacts::default(),
        honesty: Some(&honesty(word)),
        idle: &idle,
        incomplete: None,
        beside: None,
    };
    verdicts_for(&[product(name).unwrap()], measured, &input).remove(0)
}

fn fitness(name: &str, windows: [&[(u64, u64)]; 3]) -> Fitness {
    judged(name, &all_shapes(product(name).unwrap(), windows), "consistent with flushing")
}

const FAST: &[(u64, u64)] = &[(2_000, MS)];

#[test]
fn every_product_has_shapes_sources_and_limits_in_known_units() {
    let names: Vec<_> = products().iter().map(|product| product.name.as_str()).collect();
    let expected =
        ["etcd", "k3s", "openshift", "postgres", "mariadb", "redis", "tikv", "nats", "hana"];
    assert_eq!(names, expected);
    for product in products() {
        assert!(!product.title.is_empty() && !product.operation.is_empty());
        assert!(!product.tuning.is_empty() && !product.shapes.is_empty(), "{}", product.name);
        for shape in &product.shapes {
            assert!(shape.source.len() > 10 && shape.about.len() > 10, "{}", product.name);
            assert!(!shape.steps.is_empty(), "{}", product.name);
            for step in &shape.steps {
                assert!((1..=64).contains(&step.writes), "{}", product.name);
                assert!((256..=1 << 20).contains(&step.write_bytes), "{}", product.name);
                let syncs_the_file = ["fsync", "fdatasync"].contains(&step.sync.name());
                assert!(step.writes == 1 || syncs_the_file, "a sync must cover every write");
            }
            for limit in &shape.thresholds {
                let units: &[&str] = match limit.statistic.as_str() {
                    "p99" | "mean" => &["ms", "us"],
                    "rate" => &["per second"],
                    other => panic!("{}: {other}", product.name),
                };
                assert!(units.contains(&limit.unit.as_str()), "{}", product.name);
                assert!(limit.value > 0.0 && limit.source.len() > 10, "{}", product.name);
            }
        }
        let times: Vec<_> = product.deadlines.iter().map(|deadline| deadline.ms).collect();
        assert!(times.is_sorted(), "{}", product.name);
        for deadline in &product.deadlines {
            assert!(deadline.source.len() > 10 && !deadline.kept.is_empty(), "{}", product.name);
            assert!(!deadline.missed.is_empty(), "{}", product.name);
        }
    }
}

#[test]
fn a_fast_directory_is_fit_and_its_heartbeats_are_on_time() {
    let found = fitness("etcd", [FAST; 3]);
    assert_eq!(found.word, "fit", "{found:?}");
    let consequence = found.consequence.unwrap();
    assert!(consequence.contains("on time: none of 6000 syncs took 100 ms"), "{consequence}");
    assert!(found.remedies.is_empty() && found.limits.is_empty());
    assert_eq!(found.shapes.len(), 2);
    let measured = found.shapes[0].thresholds[0].measured.unwrap();
    assert!((measured - 1.0).abs() < 0.001, "the histogram keeps three digits: {measured}");
}

#[test]
fn one_slow_window_of_three_decides_and_is_named() {
    let slow: &[(u64, u64)] = &[(1_900, MS), (100, 30 * MS)];
    let found = fitness("etcd", [FAST, slow, FAST]);
    assert_eq!(found.word, "unfit");
    assert_eq!(found.shapes[0].worst_window, Some(2));
    assert!(found.reason.contains("in 1 of 3 windows more than 1 %"), "{}", found.reason);
    assert!(found.reason.contains("100 of 2000"), "{}", found.reason);
    assert!(!found.remedies.is_empty());
}

#[test]
fn late_heartbeats_are_counted_and_an_election_comes_first() {
    let late: &[(u64, u64)] = &[(1_990, 5 * MS), (10, 150 * MS)];
    let consequence = fitness("etcd", [late; 3]).consequence.unwrap();
    assert!(
        consequence.starts_with("heartbeats every 100 ms will be late in about 1 of 200 syncs"),
        "{consequence}"
    );
    let stalled: &[(u64, u64)] = &[(1_999, 5 * MS), (1, 1_500 * MS)];
    let consequence = fitness("etcd", [late, stalled, late]).consequence.unwrap();
    assert!(consequence.starts_with("followers will elect a new leader"), "{consequence}");
}

#[test]
fn samples_that_decide_neither_way_are_not_known() {
    // Exactly 1 % above the limit.
    let edge: &[(u64, u64)] = &[(990, MS), (10, 20 * MS)];
    let found = fitness("etcd", [edge; 3]);
    assert_eq!(found.word, "not known", "{found:?}");
    assert!(found.reason.contains("longer --duration"), "{}", found.reason);
    // Too few to resolve p99, and none slow.
    let few: &[(u64, u64)] = &[(100, MS)];
    let found = fitness("etcd", [few; 3]);
    assert_eq!(found.word, "not known");
    assert_eq!(found.shapes[0].latency_ns.unwrap().p99, None);
    assert_eq!(found.shapes[0].thresholds[0].measured, None);
    // Few, but all slow: that decides.
    assert_eq!(fitness("etcd", [&[(100, 50 * MS)]; 3]).word, "unfit");
}

#[test]
fn a_directory_that_loses_syncs_is_unfit_however_fast() {
    for word in ["not durable", "implausible"] {
        let found = judged("postgres", &all_shapes(product("postgres").unwrap(), [FAST; 3]), word);
        assert_eq!(found.word, "unfit");
        assert!(found.reason.starts_with(word), "{}", found.reason);
        assert!(found.consequence.unwrap().contains("lost"));
        assert!(found.remedies[0].contains("disk"));
    }
    let found = judged("postgres", &all_shapes(product("postgres").unwrap(), [FAST; 3]), "unknown");
    assert_eq!(found.word, "fit");
    assert!(found.limits[0].contains("Speed only"), "{:?}", found.limits);
}

#[test]
fn busy_processors_are_named_since_the_times_include_waits_for_them() {
    let slow: &[(u64, u64)] = &[(500, 30 * MS)];
    let mut measured = all_shapes(product("etcd").unwrap(), [slow; 3]);
    measured.add_processor_wait(Some(5), Some(50 * MS), 1_000 * MS);
    measured.add_processor_wait(None, Some(9), 1_000 * MS);
    let found = judged("etcd", &measured, "consistent with flushing");
    assert!(found.limits.is_empty(), "5 % is little: {:?}", found.limits);
    measured.add_processor_wait(Some(0), Some(750 * MS), 1_000 * MS);
    let found = judged("etcd", &measured, "consistent with flushing");
    assert!(found.limits[0].contains("40.0 % of the time"), "{:?}", found.limits);
    assert!(found.remedies[0].contains("processors have time"), "{:?}", found.remedies);
}

#[test]
fn a_product_without_published_limits_is_fit_and_says_so() {
    let found = fitness("mariadb", [FAST; 3]);
    assert_eq!(found.word, "fit");
    assert!(found.reason.contains("publishes no limit"), "{}", found.reason);
    let consequence = found.consequence.unwrap();
    assert!(consequence.contains("1 commit in 100 waits longer than 1.00 ms"), "{consequence}");
    assert!(consequence.contains("1.00k/s at most"), "{consequence}");
}

#[test]
fn a_recommendation_makes_nothing_unfit() {
    // 200 a second, each in 5 ms: above 50, below the recommended 500.
    let found = fitness("openshift", [&[(1_000, 5 * MS)]; 3]);
    assert_eq!(found.word, "fit", "{}", found.reason);
    let words: Vec<_> =
        found.shapes[0].thresholds.iter().map(|limit| limit.word.as_str()).collect();
    assert_eq!(words, ["fit", "fit", "unfit"]);
    let slow = fitness("openshift", [FAST, FAST, &[(1_000, 25 * MS)]]);
    assert_eq!(slow.word, "unfit");
}

#[test]
fn a_limit_on_the_mean_is_that_of_the_worst_window() {
    let found = fitness("hana", [&[(900, 500_000)], &[(900, 1_200_000)], &[(900, 500_000)]]);
    assert_eq!(found.word, "unfit");
    let limit = &found.shapes[0].thresholds[0];
    assert!((limit.measured.unwrap() - 1_200.0).abs() < 2.0, "{limit:?}");
    assert_eq!(fitness("hana", [&[(900, 900_000)]; 3]).word, "fit");
}

#[test]
fn a_shape_that_cannot_be_measured_is_not_known_with_the_reason() {
    let mut measured = ShapeWindows::default();
    measured.not_measured(&product("hana").unwrap().shapes[0], "the file system refuses O_DIRECT");
    let found = judged("hana", &measured, "consistent with flushing");
    assert_eq!(found.word, "not known");
    assert!(found.reason.contains("refuses O_DIRECT"), "{}", found.reason);
    assert_eq!(found.consequence, None);
}

#[test]
fn percentiles_that_the_samples_do_not_resolve_are_unknown() {
    let mut histogram = histogram();
    assert_eq!(resolved(&histogram).max, None);
    histogram.record_n(MS, 400).unwrap();
    let found = resolved(&histogram);
    assert!(found.p99.is_some() && found.p99_least.is_some() && found.max.is_some());
    assert_eq!((found.p999, found.p9999), (None, None));
    histogram.record_n(MS, 40_000).unwrap();
    assert!(resolved(&histogram).p9999.is_some());
}

#[test]
fn three_windows_of_each_shape_fill_the_time_and_equal_shapes_share_them() {
    for names in [&["etcd"][..], &["etcd", "k3s", "postgres"], &["hana"]] {
        let products: Vec<_> = names.iter().map(|name| product(name).unwrap()).collect();
        let plan = Plan::fitness(&products, super::FITNESS_BUDGET_NS);
        let seconds = plan.estimate(1).shortest_s;
        assert!((29.0..=32.0).contains(&seconds), "{names:?}: {seconds}");
        let shapes: Vec<_> = plan
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::Shape { shape, .. } => Some(&shape.name),
                _ => None,
            })
            .collect();
        assert_eq!(shapes.len() % 3, 0);
        assert_eq!(shapes[..shapes.len() / 3], shapes[shapes.len() / 3..2 * shapes.len() / 3]);
    }
    let count = |names: &[&str]| {
        let products: Vec<_> = names.iter().map(|name| product(name).unwrap()).collect();
        let plan = Plan::fitness(&products, super::FITNESS_BUDGET_NS);
        plan.steps.iter().filter(|step| matches!(step, Step::Shape { .. })).count()
    };
    assert_eq!(count(&["etcd"]), 6);
    assert_eq!(count(&["etcd", "k3s"]), 9, "the WAL of etcd is measured once for both");
}
