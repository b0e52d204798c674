//! Comparisons: refusals, verdicts and regressions.

use crate::fixture::{self, ENGINE, SQLITE, SQLITE_QUEUE, Store};
use syncline_record::{Record, RunRecord};
use syncline_report::compare::{Allowed, Comparison, Rule, RuleOutcome, Verdict, json, markdown};
use syncline_report::{Error, compare};

pub(crate) fn compare(first: &Record, second: &Record, unequal: bool) -> Result<Comparison, Error> {
    let allowed = if unequal { Allowed::Everything } else { Allowed::Nothing };
    compare::compare(std::slice::from_ref(first), std::slice::from_ref(second), allowed)
}

/// The verdict on throughput.
fn throughput(comparison: &Comparison) -> Verdict {
    let row = comparison.rows.iter().find(|row| row.name == "throughput");
    row.expect("every run has it").verdict
}

fn record(run: RunRecord) -> Record {
    Record::from(run)
}

fn refusal(first: RunRecord, second: RunRecord) -> String {
    compare(&record(first), &record(second), false).unwrap_err().to_string()
}

#[test]
fn unlike_runs_are_refused_unless_asked_for() {
    let base = || fixture::run(SQLITE, 8, 9_000.0, 1.0);
    let os = fixture::run(Store { durability: "os", ..SQLITE }, 8, 90_000.0, 8.0);
    let refused = refusal(base(), os.clone());
    assert!(
        refused.contains("durability data and os") && refused.contains("--unequal"),
        "{refused}"
    );
    let allowed = compare(&record(base()), &record(os), true).unwrap();
    assert_eq!(allowed.differences, ["durability data and os"]);

    let mut elsewhere = base();
    elsewhere.head.machine.cores = Some(64);
    assert!(refusal(base(), elsewhere).contains("machine (2 x Example"));
    let queue = fixture::run(SQLITE_QUEUE, 8, 9_000.0, 1.0);
    assert!(refusal(base(), queue).contains("client model threads and queue"));
    let mut other = base();
    other.head.workload.options.insert("commit-every".to_owned(), "100".to_owned());
    assert!(refusal(base(), other).contains("commit-every=100"));
    let mut empty = base();
    empty.end.outcomes.committed = 0;
    assert!(refusal(base(), empty).contains("no committed transactions"));
    let probe = Record::from(fixture::probe());
    let mixed = compare(&record(base()), &probe, true).unwrap_err().to_string();
    assert!(mixed.contains("cannot be compared with a probe"));
}

// B.F5
#[test]
fn a_run_on_a_disk_that_drops_syncs_is_not_compared_with_one_on_a_disk_that_may_keep_them() {
    let on_disk = || fixture::run(SQLITE, 8, 1_490.0, 1.0);
    let mut in_memory = fixture::run(SQLITE, 8, 84_900.0, 1.0);
    let why = "tmpfs at /t keeps its files in memory".to_owned();
    in_memory.head.target.disk_drops_syncs = Some(why);
    let difference =
        "disk below the log not known to drop syncs and keeps nothing over a power cut";
    let refused = refusal(on_disk(), in_memory.clone());
    assert!(refused.contains(difference) && refused.contains("--unequal"), "{refused}");
    let allowed = compare(&record(on_disk()), &record(in_memory.clone()), true).unwrap();
    assert_eq!(allowed.differences, [difference]);
    // Two disks that both drop syncs are compared.
    let both = compare(&record(in_memory.clone()), &record(in_memory), false).unwrap();
    assert_eq!(both.differences, Vec::<String>::new());
}

#[test]
fn the_verdict_is_faster_only_if_ranges_do_not_overlap() {
    // Ranges reach from 0.98 to 1.03 of the median.
    let at = |rate| record(fixture::run(SQLITE, 8, rate, 1.0));
    let verdict = |second| {
        let comparison = compare(&at(10_000.0), &at(second), false).unwrap();
        (throughput(&comparison), comparison.regression)
    };
    assert_eq!(verdict(10_400.0), (Verdict::NoDifferenceShown, false));
    assert_eq!(verdict(10_600.0), (Verdict::Faster, false));
    assert_eq!(verdict(9_600.0), (Verdict::NoDifferenceShown, false));
    assert_eq!(verdict(9_400.0), (Verdict::Slower, true));
}

#[test]
fn another_store_with_the_same_model_may_be_compared() {
    let engine = Store { model: "threads", ..ENGINE };
    let comparison = compare(
        &record(fixture::run(SQLITE, 8, 9_000.0, 1.0)),
        &record(fixture::run(engine, 8, 60_000.0, 5.0)),
        false,
    );
    assert!(!comparison.unwrap().regression);
}

#[test]
fn one_run_a_side_is_judged_by_its_intervals() {
    let once = |rate| {
        let mut run = fixture::run(SQLITE, 8, rate, 1.0);
        run.end.repetitions.truncate(1);
        record(run)
    };
    let comparison = compare(&once(10_000.0), &once(5_000.0), false).unwrap();
    assert!(comparison.basis.contains("--repeat 5"), "{}", comparison.basis);
    assert!(comparison.regression);
    let five = record(repeated(5));
    let compared = compare(&five, &five, false).unwrap();
    assert!(
        compared.basis.contains("if A and B are identical is at most 1 %"),
        "{}",
        compared.basis
    );
    assert!(!compared.regression);
}

/// A run of `count` repetitions.
fn repeated(count: usize) -> RunRecord {
    let mut run = fixture::run(SQLITE, 8, 10_000.0, 1.0);
    while run.end.repetitions.len() < count {
        let one = run.end.repetitions[1].clone();
        run.end.repetitions.push(one);
    }
    run
}

/// D4: two equal runs of a second were called a regression.
#[test]
fn runs_of_a_second_are_too_short_to_judge() {
    let short = |rate| {
        let mut run = fixture::run(SQLITE, 8, rate, 1.0);
        run.end.repetitions.truncate(1);
        run.intervals.truncate(1);
        record(run)
    };
    let compared = compare(&short(4.82e6), &short(4.74e6), false).unwrap();
    assert_eq!(throughput(&compared), Verdict::TooShort);
    assert!(!compared.regression);
    let why = compared.too_short.unwrap();
    assert!(why.contains("too short to judge") && why.contains("--repeat 5"), "{why}");
}

/// D5
#[test]
fn unlike_clients_workers_lengths_and_versions_are_refused() {
    let base = || fixture::run(SQLITE, 8, 9_000.0, 1.0);
    let one_client = fixture::run(SQLITE, 1, 9_000.0, 1.0);
    assert!(refusal(base(), one_client).contains("clients 8 and 1"));
    let mut workers = base();
    if let Some(client) = &mut workers.end.client {
        client.workers = 2;
    }
    assert!(refusal(base(), workers).contains("workers 8 and 2"));
    let mut length = base();
    length.head.plan.duration_ns = Some(1_000_000_000);
    let refused = refusal(base(), length);
    assert!(refused.contains("length 2") && refused.contains("and 1"), "{refused}");
    let mut version = base();
    version.identity.syncline = "9.9.9".to_owned();
    assert!(refusal(base(), version).contains("version of syncline"));
}

/// D7: in a closed loop the response times are the service times, and were judged otherwise.
#[test]
fn in_a_closed_loop_no_figure_is_judged_twice() {
    let names = |first: RunRecord, second: RunRecord, unequal| -> Vec<&'static str> {
        let compared = compare(&record(first), &record(second), unequal).unwrap();
        compared.rows.iter().map(|row| row.name).collect()
    };
    let closed = || fixture::run(SQLITE, 8, 9_000.0, 1.0);
    let response = |names: &[&str]| names.iter().any(|name| name.starts_with("response"));
    assert!(!response(&names(closed(), closed(), false)));
    let open = fixture::overloaded();
    assert!(response(&names(open.clone(), open.clone(), false)));
    assert!(response(&names(closed(), open, true)));
}

/// One run of an open loop whose service times and response times are the same figures.
fn open_once(factor: u64) -> RunRecord {
    let mut run = fixture::overloaded();
    run.end.repetitions.truncate(1);
    for one in &mut run.end.repetitions[0].transactions {
        one.service_ns = Some(fixture::latency(1_000_000 * factor));
        one.response_ns = one.service_ns;
    }
    for one in &mut run.intervals {
        one.service_p50_ns = Some(1_000_000 * factor);
        one.service_p99_ns = Some(2_000_000 * factor);
        one.response_p50_ns = one.service_p50_ns;
        one.response_p99_ns = one.service_p99_ns;
    }
    run
}

/// D7: response times had no windows, so that the same figures had two verdicts.
#[test]
fn in_an_open_loop_response_times_are_judged_like_equal_service_times() {
    for (factor, verdict) in [(1, Verdict::NoDifferenceShown), (2, Verdict::Slower)] {
        let second = record(open_once(factor));
        let compared = compare(&record(open_once(1)), &second, false).unwrap();
        let times = compared.rows.iter().filter(|row| row.name.contains("time"));
        let verdicts: Vec<Verdict> = times.map(|row| row.verdict).collect();
        assert_eq!(verdicts, [verdict; 4], "{factor}");
        assert_eq!(compared.regression, verdict == Verdict::Slower);
        assert_eq!(compared.too_short, None);
    }
}

/// D7: a record of an older version, in which no interval has response times.
#[test]
fn an_old_record_of_an_open_loop_has_no_verdict_and_a_reason() {
    let mut old = open_once(2);
    for one in &mut old.intervals {
        (one.response_p50_ns, one.response_p99_ns) = (None, None);
    }
    let id = old.identity.id.clone();
    let compared = compare(&record(open_once(1)), &record(old), false).unwrap();
    assert!(!compared.regression);
    let why = compared.too_short.unwrap();
    assert!(why.contains(&id) && why.contains("run it again"), "{why}");
}

/// D6: memory is 83 times as fast as a disk, and keeps nothing.
#[test]
fn a_probe_that_is_not_durable_is_a_regression_however_fast() {
    let probe = |factor: f64, word: &str| {
        let mut probe = fixture::probe();
        let line = &mut probe.body.sync_line;
        line.line_1 = line.line_1.map(|rate| rate * factor);
        line.before.iter_mut().for_each(|rate| *rate *= factor);
        word.clone_into(&mut probe.body.verdicts[0].word);
        Record::from(probe)
    };
    let disk = || probe(1.0, "unknown");
    for word in ["not durable", "implausible"] {
        let compared = compare(&disk(), &probe(83.0, word), false).unwrap();
        assert!(compared.regression, "{word}");
        assert_eq!(compared.rows[0].verdict, Verdict::NotJudged);
        assert!(compared.worse.unwrap().contains(word));
        let back = compare(&probe(83.0, word), &disk(), false).unwrap();
        assert!(!back.regression, "to a disk that keeps what it acknowledges");
        assert_eq!(back.rows[0].verdict, Verdict::NotJudged);
    }
    let both = compare(&probe(1.0, "not durable"), &probe(0.5, "not durable"), false);
    assert!(both.unwrap().regression, "two of a kind are judged by speed");
}

#[test]
fn in_an_open_loop_response_time_decides() {
    let slow = |factor: u64| {
        let mut run = fixture::overloaded();
        let one = run.end.repetitions[1].clone();
        run.end.repetitions.extend([one.clone(), one]);
        for repetition in &mut run.end.repetitions {
            for one in &mut repetition.transactions {
                one.response_ns = Some(fixture::latency(1_000_000 * factor));
            }
        }
        record(run)
    };
    assert!(compare(&slow(1), &slow(3), false).unwrap().regression);
    assert!(!compare(&slow(3), &slow(1), false).unwrap().regression);
}

#[test]
fn probes_are_compared_by_their_lines() {
    let probe = |factor: f64| {
        let mut probe = fixture::probe();
        let line = &mut probe.body.sync_line;
        line.line_1 = line.line_1.map(|rate| rate * factor);
        line.before.iter_mut().for_each(|rate| *rate *= factor);
        Record::from(probe)
    };
    assert!(compare(&probe(1.0), &probe(0.5), false).unwrap().regression);
    assert!(!compare(&probe(1.0), &probe(1.005), false).unwrap().regression);
}

/// Runs whose costs per commit are those of the fixture times a factor, each a little different.
fn runs_costing(factor: f64, count: usize) -> Vec<Record> {
    let runs = (0..count).map(|number| {
        let noise = 1.0 + 0.001 * (number as f64 - 2.0);
        let mut run = fixture::run(SQLITE, 8, 9_000.0, 1.0);
        run.identity.id = format!("run{number}");
        run.end.repetitions.truncate(1);
        run.end.per_commit.device_bytes.value = Some(4_096.0 * factor * noise);
        run.end.per_commit.client_cpu_ns.value = Some(20_000.0 * noise);
        record(run)
    });
    runs.collect()
}

fn compared(factor: f64, count: usize) -> Comparison {
    let (first, second) = (runs_costing(1.0, count), runs_costing(factor, count));
    compare::compare(&first, &second, Allowed::Nothing).unwrap()
}

fn of_bytes(comparison: &Comparison) -> &compare::Row {
    comparison.rows.iter().find(|row| row.key == "per_commit.device_bytes").unwrap()
}

#[test]
fn the_runs_of_a_side_are_repetitions_by_which_costs_per_commit_are_judged() {
    let more = compared(1.02, 5);
    let row = of_bytes(&more);
    assert_eq!((row.verdict, row.verdict_words()), (Verdict::Slower, "more"));
    let interval = row.interval.unwrap();
    assert!(interval.least > 1.01 && interval.most < 1.03, "{interval:?}");
    assert!(more.titles[1].ends_with("5 runs"), "{:?}", more.titles);
    assert!(!more.regression, "no cost makes a regression unasked");
    let equal = compared(1.0, 5);
    let interval = of_bytes(&equal).interval.unwrap();
    assert_eq!(of_bytes(&equal).verdict, Verdict::NoDifferenceShown);
    assert!(interval.least <= 1.0 && interval.most >= 1.0, "{interval:?}");
    // Three runs a side are too few; one a side has no interval.
    assert_eq!(of_bytes(&compared(1.5, 3)).verdict, Verdict::NotJudged);
    assert_eq!(of_bytes(&compared(1.5, 1)).interval, None);
}

#[test]
fn runs_of_a_side_that_differ_are_refused() {
    let mut mixed = runs_costing(1.0, 4);
    mixed.push(record(fixture::run(SQLITE, 1, 9_000.0, 1.0)));
    let refused = compare::compare(&runs_costing(1.0, 5), &mixed, Allowed::Nothing).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("the runs of B differ: clients 8 and 1"), "{text}");
}

#[test]
fn programs_of_two_versions_are_compared_if_that_is_the_question() {
    let first = runs_costing(1.0, 1);
    let mut other = fixture::run(SQLITE, 8, 9_000.0, 1.0);
    other.identity.syncline = "9.9.9".to_owned();
    let second = [record(other)];
    assert!(compare::compare(&first, &second, Allowed::Nothing).is_err());
    assert!(compare::compare(&first, &second, Allowed::Versions).is_ok());
}

#[test]
fn a_rule_fails_only_beyond_its_limit_and_by_more_than_chance() {
    let outcome =
        |rule: &str, comparison: &Comparison| rule.parse::<Rule>().unwrap().apply(comparison);
    let more = compared(1.02, 5);
    let fails = outcome("per_commit.device_bytes > +1%", &more);
    assert!(
        matches!(&fails, RuleOutcome::Fails(change) if change.starts_with("+2.0 %")),
        "{fails:?}"
    );
    assert_eq!(outcome("per_commit.device_bytes > +3%", &more), RuleOutcome::Holds);
    assert_eq!(outcome("per_commit.device_bytes < -1%", &more), RuleOutcome::Holds);
    assert_eq!(outcome("per_commit.device_bytes > +1%", &compared(1.0, 5)), RuleOutcome::Holds);
    for unknown in ["per_commit.device_bytes > +1%", "response_ns.p99 > +1%"] {
        let outcome = outcome(unknown, &compared(1.5, 3));
        assert!(matches!(outcome, RuleOutcome::Unknown(_)), "{unknown}: {outcome:?}");
    }
}

#[test]
fn what_was_none_and_is_some_fails_a_rule_on_more_whatever_its_limit() {
    let none = compare::compare(&runs_costing(0.0, 5), &runs_costing(1.0, 5), Allowed::Nothing);
    let none = none.unwrap();
    let outcome = |rule: &str| rule.parse::<Rule>().unwrap().apply(&none);
    let fails = outcome("per_commit.device_bytes > +50%");
    assert!(matches!(&fails, RuleOutcome::Fails(change) if change.contains("none")), "{fails:?}");
    assert_eq!(outcome("per_commit.device_bytes < -1%"), RuleOutcome::Holds);
    let both = compare::compare(&runs_costing(0.0, 5), &runs_costing(0.0, 5), Allowed::Nothing);
    let rule: Rule = "per_commit.device_bytes > +1%".parse().unwrap();
    assert_eq!(rule.apply(&both.unwrap()), RuleOutcome::Holds);
    // One run a side shows nothing.
    let single = compare::compare(&runs_costing(0.0, 1), &runs_costing(1.0, 1), Allowed::Nothing);
    assert!(matches!(rule.apply(&single.unwrap()), RuleOutcome::Unknown(_)));
}

#[test]
fn markdown_and_json_hold_what_the_table_holds() {
    let more = compared(1.02, 5);
    let rule: Rule = "per_commit.device_bytes > +1%".parse().unwrap();
    let rules = [(rule.clone(), rule.apply(&more))];
    let text = markdown(&more, &rules);
    assert!(text.contains("| device bytes per commit |") && text.contains("| more |"), "{text}");
    assert!(text.contains("`per_commit.device_bytes > +1%: fails: +2.0 %"), "{text}");
    let value = json(&more, &rules);
    let figures = value["figures"].as_array().unwrap();
    let bytes = figures.iter().find(|one| one["key"] == "per_commit.device_bytes").unwrap();
    assert_eq!(bytes["verdict"], "more");
    assert!((bytes["ratio"].as_f64().unwrap() - 1.02).abs() < 1e-9);
    assert_eq!(value["rules"][0]["outcome"], "fails");
    assert_eq!(value["regression"], false);
    // A name from a record is no markup.
    let mut odd = more.clone();
    odd.titles[0] = "a | b\n# <b>".to_owned();
    assert!(markdown(&odd, &[]).contains("A: a \\| b \\# &lt;b>"), "{}", markdown(&odd, &[]));
}
