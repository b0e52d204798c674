//! Views next to published figures: golden files, required texts, and refusals.

use crate::fixture::{self, ENGINE, SQLITE, Store};
use crate::golden;
use crate::published_fixture::{
    commit_every, concurrent_tx, mrmw, mrow, run_of, select, tpcc, tpcc_elsewhere, update, ycsb,
};
use serde_json::Value;
use std::collections::BTreeMap;
use syncline_record::{Record, RunEnd, RunRecord};
use syncline_report::html;
use syncline_report::table::{PublishedSource, as_published};

fn records(runs: Vec<RunRecord>) -> Vec<Record> {
    runs.into_iter().map(Record::from).collect()
}

fn survey_of_singles() -> Vec<Record> {
    let mut records = fixture::survey();
    // A store in another directory, which was not probed.
    let mut alone = fixture::run(SQLITE, 1, 410.0, 1.0);
    alone.identity.survey = None;
    alone.end.sync_line.directory = Some("/mnt/hdd".to_owned());
    alone.end.sync_line.line_1 = Some(118.0);
    records.push(alone.into());
    records.push(postgres(NATIVE, 812.0, 21_000.0));
    records.push(postgres(BY_JDBC, 640.0, 65_000.0));
    records
}

const NATIVE: Store = Store {
    name: "postgres",
    version: "15.14",
    evidence: "fsync=on read back",
    isolation: "read committed",
    ..ENGINE
};

const BY_JDBC: Store = Store { name: "jdbc:postgres", model: "threads", ..NATIVE };

/// A run of one client on a server whose log is in another directory.
fn postgres(store: Store, per_s: f64, client_cpu_ns: f64) -> Record {
    let mut run = fixture::run(store, 1, per_s, 1.0);
    run.identity.survey = None;
    run.end.sync_line.directory = Some("/srv/pg_wal".to_owned());
    if let Some(client) = &mut run.end.client {
        client.cpu_ns_per_transaction = Some(client_cpu_ns);
    }
    run.into()
}

fn from_dual_records() -> Vec<Record> {
    let mut records = commit_every();
    records.insert(0, fixture::probe().into());
    records
}

fn every_view() -> Vec<(&'static str, PublishedSource, Vec<Record>)> {
    use PublishedSource::{Bigdata, Derby, FromDual, K2, Mail2002};
    vec![
        ("as_k2_tpcc.txt", K2, records(vec![tpcc(), tpcc_elsewhere()])),
        ("as_k2_ycsb.txt", K2, records(vec![ycsb()])),
        ("as_mail2002.txt", Mail2002, survey_of_singles()),
        ("as_bigdata.txt", Bigdata, records(vec![concurrent_tx(), mrow(), mrmw()])),
        ("as_fromdual.txt", FromDual, from_dual_records()),
        ("as_derby.txt", Derby, records(vec![select(), update()])),
    ]
}

/// The source of a published file, read directly.
fn source(published: PublishedSource) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data/published");
    let path = format!("{folder}/{}.json", published.word());
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    file["source"].clone()
}

/// The text as one line, so that a sentence is found wherever its lines break.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn views_of_sources_match_their_golden_files() {
    for (name, published, records) in every_view() {
        golden::check(name, &as_published(published, &records).unwrap());
    }
}

/// The run as an open loop.
fn open(mut run: RunRecord) -> RunRecord {
    run.head.plan.arrival = "poisson".to_owned();
    run.head.plan.rate_per_s = Some(50.0);
    run
}

#[test]
fn the_rate_of_an_open_loop_is_not_a_rate_of_single_inserts() {
    let of = |run: RunRecord| records(vec![run]);
    let run = || fixture::run(ENGINE, 1, 40.0, 1.0);
    for view in [PublishedSource::Mail2002, PublishedSource::FromDual] {
        let shown = |run| as_published(view, &of(run)).map(|text| unwrapped(&text));
        assert!(shown(run()).unwrap().contains("40"), "{view:?}");
        match shown(open(run())) {
            Ok(text) => assert!(text.contains("no run of one client that commits"), "{text}"),
            Err(refused) => assert!(refused.to_string().contains("mail2002"), "{refused}"),
        }
    }
}

#[test]
fn an_open_loop_is_named_in_every_view() {
    for (view, run) in [
        (PublishedSource::K2, tpcc()),
        (PublishedSource::Bigdata, mrow()),
        (PublishedSource::Derby, select()),
    ] {
        let text = |run| unwrapped(&as_published(view, &records(vec![run])).unwrap());
        assert!(!text(run.clone()).contains("open loop"), "{view:?}");
        let text = text(open(run));
        assert!(text.contains("an open loop of 50/s (poisson)"), "{text}");
        assert!(text.contains("not the most that the store does"), "{text}");
    }
}

#[test]
fn views_of_sources_keep_the_width_and_print_no_infinite_figure() {
    for (name, published, records) in every_view() {
        for line in as_published(published, &records).unwrap().lines() {
            assert!(line.chars().count() <= 100, "{name}: {line}");
            assert_eq!(line.trim_end(), line, "{name} ends a line in spaces");
            let mut words = line.split(|character: char| !character.is_alphanumeric());
            let infinite = words.any(|word| ["inf", "nan"].contains(&&*word.to_lowercase()));
            assert!(!infinite, "{name}: {line}");
        }
    }
}

/// The widest tables: several runs of the load with the largest figures, profiled and not.
#[test]
fn several_runs_of_one_load_keep_the_width_too() {
    let join = |metered: bool| {
        let mut run = run_of("join", "", 4, 1_850.0);
        run.end.cost = update().end.cost.filter(|_| metered);
        run
    };
    for metered in [false, true] {
        let runs = vec![join(metered), join(metered), join(metered), join(false)];
        let text = as_published(PublishedSource::Derby, &records(runs)).unwrap();
        let headings =
            text.lines().filter(|line| line.starts_with("module ") || line.starts_with("now "));
        let headings = unwrapped(&headings.collect::<Vec<_>>().join(" "));
        for number in 1..=4 {
            assert!(headings.contains(&format!("now {number}")), "{headings}");
        }
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(100), "{text}");
    }
    let many = records((0..12).map(|_| tpcc()).collect());
    let text = as_published(PublishedSource::K2, &many).unwrap();
    assert!(text.contains("  now 12: stock-level"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

/// Every view prints the source and the known errors of its published figures.
#[test]
fn no_published_figure_is_printed_without_its_source_and_its_errors() {
    for (name, published, records) in every_view() {
        let text = unwrapped(&as_published(published, &records).unwrap());
        let source = source(published);
        let fields = ["title", "date", "machine", "counts"].map(|field| &source[field]);
        let errors = source["known_errors"].as_array().unwrap();
        for part in fields.into_iter().chain(errors) {
            let part = unwrapped(part.as_str().unwrap());
            assert!(text.contains(&part), "{name} does not print: {part}");
        }
    }
}

/// Syncline's figures are printed with as much context as the published ones.
#[test]
fn synclines_figures_are_printed_with_durability_machine_and_notice() {
    for (name, published, records) in every_view() {
        let text = unwrapped(&as_published(published, &records).unwrap());
        assert!(text.contains("power loss not tested"), "{name}: {text}");
        assert!(text.contains("2 x Example Xeon 8370C"), "{name}: {text}");
        for notice in records.iter().filter_map(Record::as_run) {
            let notice = notice.head.workload.notice.as_deref().unwrap_or_default();
            assert!(text.contains(notice), "{name}: {notice}");
        }
    }
}

#[test]
fn a_record_that_does_not_fit_is_refused_with_the_command_that_makes_one() {
    let insert = || Record::from(fixture::run(SQLITE, 8, 9_120.0, 1.0));
    let probe = || Record::from(fixture::probe());
    let other_mix = run_of("tpcc", "profile=k2 weights=20,20,20,20,20", 8, 900.0);
    let zipfian = run_of("ycsb", "read=0.95 update=0.05 distribution=zipfian", 8, 900.0);
    let no_weights = run_of("tpcc", "warehouses=1", 8, 900.0);
    for (published, record, is, command) in [
        (PublishedSource::K2, insert(), "a run of insert", "run tpcc --profile k2"),
        (PublishedSource::K2, probe(), "a probe", "run tpcc --profile k2"),
        (PublishedSource::K2, other_mix.into(), "a mix that K2 did not publish", "run tpcc"),
        (PublishedSource::K2, zipfian.into(), "a mix that K2 did not publish", "run tpcc"),
        (PublishedSource::K2, no_weights.into(), "a mix that K2 did not publish", "run tpcc"),
        (PublishedSource::Mail2002, select().into(), "a run of select", "run insert --clients 1"),
        (PublishedSource::Bigdata, insert(), "a run of insert", "run concurrent-tx"),
        (PublishedSource::Bigdata, probe(), "a probe", "run mrow"),
        (PublishedSource::FromDual, mrow().into(), "a run of mrow", "run insert"),
        (PublishedSource::Derby, insert(), "a run of insert", "run select"),
    ] {
        let id = record.identity().id.clone();
        let refusal = as_published(published, &[record]).unwrap_err().to_string();
        for word in [&id, published.word(), is, command] {
            assert!(refusal.contains(word), "{word}: {refusal}");
        }
        assert_eq!(refusal.lines().count(), 1);
    }
    // A matrix needs a run of one client that commits every insert; with one, other runs are not refused.
    let refusal = as_published(PublishedSource::Mail2002, &[insert(), probe()]).unwrap_err();
    assert!(refusal.to_string().contains("run insert --clients 1"), "{refusal}");
    for published in PublishedSource::ALL {
        assert!(as_published(published, &[]).is_err(), "{published:?}");
    }
}

#[test]
fn one_record_that_does_not_fit_refuses_all() {
    let mixed = records(vec![concurrent_tx(), select()]);
    assert!(as_published(PublishedSource::Bigdata, &mixed).is_err());
}

/// 1,102 aborted of 9,957 that 2007 would have printed as committed, in 5,123 ms.
#[test]
fn printed_and_corrected_rates_of_a_run_are_in_one_row() {
    let text = as_published(PublishedSource::Bigdata, &records(vec![concurrent_tx()])).unwrap();
    let cells: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("now: engine"))
        .nth(1)
        .unwrap()
        .split_whitespace()
        .collect();
    let expected = ["20", "9957", "1102", "24", "19", "5123", "1943", "1728.3", "11.1", "%"];
    assert_eq!(cells, expected);
    assert!(text.contains("21 by cause serialization, 3 by cause limit"), "{text}");
    let text = as_published(PublishedSource::Bigdata, &records(vec![mrow()])).unwrap();
    let cells: Vec<&str> = text
        .lines()
        .find(|line| line.starts_with("now: engine"))
        .unwrap()
        .split_whitespace()
        .skip(3)
        .collect();
    assert_eq!(cells, ["400000", "20", "0", "10047", "39812", "5290", "3.98M/s"]);
}

#[test]
fn rates_above_the_rotation_ceiling_are_marked_and_only_they() {
    let text = as_published(PublishedSource::Mail2002, &survey_of_singles()).unwrap();
    let marked: Vec<&str> = text
        .lines()
        .filter(|line| line.ends_with("above the ceiling"))
        .filter_map(|line| line.split_whitespace().find(|word| word.ends_with("/s")))
        .collect();
    assert_eq!(marked, ["600/s", "620/s", "~2.60k/s", "100k/s", "45.5k/s"]);
    assert!(text.contains("no time passed"), "{text}");
}

#[test]
fn what_was_not_metered_or_counted_is_never_zero() {
    let text = as_published(PublishedSource::Derby, &records(vec![select()])).unwrap();
    assert_eq!(text.matches("not metered").count(), 14 + 10 + 1, "{text}");
    let text = as_published(PublishedSource::K2, &records(vec![tpcc_elsewhere()])).unwrap();
    let unknown = "now: unknown, the store counts nothing inside";
    assert_eq!(text.matches(unknown).count(), 6, "{text}");
}

#[test]
fn modules_of_a_metered_run_have_their_shares_by_user_kernel_and_both() {
    let text = as_published(PublishedSource::Derby, &records(vec![update()])).unwrap();
    let lines = |name: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with(name)).map(unwrapped).collect()
    };
    assert_eq!(lines("logging ")[0], "logging 10.5 18.7 20.0 19.6 51.5 34.8 93 unknown");
    assert_eq!(lines("logging ")[1], "logging 3 unknown 2.0 0.700 1.6+0.3 unknown");
    // Waits for monitors, sleeps, and writes that were waited for or not.
    assert_eq!(
        lines("logging ")[2],
        "logging 0.2 unknown 1.9 unknown 0.300 unknown 5.5e-6 unknown"
    );
    // No samples there is a figure, zero; objects were not measured and are unknown.
    assert_eq!(lines("data store")[0], "data store 21.3 0.0 0.0 0.0 2.7 0.0 1327 unknown");
    let all = unwrapped(&lines("all ")[0]);
    assert_eq!(all, "all 100.0 100.0 100.0 100.0 100.0 100.0 5811 unknown");
}

/// Conflicts and retries over the three phases of two seconds.
#[test]
fn aborts_are_conflicts_and_retries_per_second() {
    let text = as_published(PublishedSource::K2, &records(vec![tpcc()])).unwrap();
    let aborts = text.lines().skip_while(|line| !line.starts_with("aborts:"));
    let now = aborts.skip(1).find(|line| line.trim_start().starts_with("now"));
    assert_eq!(unwrapped(now.unwrap()), "now 1.60k/s");
}

#[test]
fn records_that_were_cut_short_are_shown_with_what_they_have() {
    for (name, published, records) in every_view() {
        let cut: Vec<Record> = records
            .into_iter()
            .map(|record| match record {
                Record::Run(run) => {
                    let reason = "the record was cut short: it has no end";
                    let end = RunEnd::from_intervals(&run.intervals[..0], reason);
                    Record::from(RunRecord { end, ..*run })
                }
                other @ (Record::Probe(_) | Record::Observation(_) | Record::Verification(_)) => {
                    other
                }
            })
            .collect();
        let text = as_published(published, &cut).unwrap();
        assert!(text.contains("cut short"), "{name}: {text}");
        for line in text.lines() {
            let mut words = line.split(|character: char| !character.is_alphanumeric());
            assert!(!words.any(|word| ["inf", "NaN"].contains(&word)), "{name}: {line}");
            assert!(line.chars().count() <= 100, "{name}: {line}");
        }
    }
}

#[test]
fn names_of_views_are_distinct_and_each_has_its_file() {
    let words: BTreeMap<&str, Value> = PublishedSource::ALL
        .iter()
        .map(|published| (published.word(), source(*published)))
        .collect();
    assert_eq!(words.len(), PublishedSource::ALL.len());
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/data/published"));
    assert_eq!(folder.unwrap().count(), words.len());
}

#[test]
fn the_page_draws_inserts_by_inserts_per_commit_if_they_differ() {
    let page = html::report(&commit_every(), &[]);
    assert!(page.contains("aria-label=\"Inserts per second by inserts per commit\""));
    assert!(page.contains("sqlite, threads, data, 1 client"));
    assert!(!page.contains("engine, futures, data, 1 client"), "one point is not a curve");
    let page = html::report(&[fixture::run(ENGINE, 1, 11_300.0, 1.0).into()], &[]);
    assert!(!page.contains("Inserts per second by inserts per commit"));
}
