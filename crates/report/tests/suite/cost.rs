//! The views of a profiled run: the table by module, how each figure was measured, what is left out.

use crate::cost_fixture;
use crate::fixture::{self, SQLITE};
use crate::{closed_schema, golden};
use syncline_profile::View;
use syncline_record::{Cost, Record, RunRecord};
use syncline_report::{CostChoice, CostThreads, table};

fn metered() -> RunRecord {
    cost_fixture::metered(fixture::run(SQLITE, 20, 9_120.0, 1.0))
}

fn with(change: impl Fn(&mut Cost)) -> RunRecord {
    let mut run = metered();
    change(run.end.cost.as_mut().unwrap());
    run
}

fn everyone() -> CostChoice {
    CostChoice { threads: CostThreads::All, ..CostChoice::default() }
}

/// The figures of a column, module by module, the sum left out.
fn column(text: &str, title: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let heads = lines
        .iter()
        .position(|line| line.contains("per transaction ") && line.contains(&format!(" {title}")))
        .unwrap_or_else(|| panic!("no column {title}: {text}"));
    let end = lines[heads].find(&format!(" {title}")).unwrap() + 1 + title.chars().count();
    lines[heads + 2..]
        .iter()
        .take_while(|line| line.starts_with("  ") && !line.trim_start().starts_with("sum"))
        .map(|line| {
            let left: String = line.chars().take(end).collect();
            let mut words = left.trim().split("  ").filter(|word| !word.is_empty());
            let name = words.next().unwrap_or_default().trim().to_owned();
            (name, words.last().unwrap_or_default().trim().to_owned())
        })
        .collect()
}

#[test]
fn the_cost_of_a_metered_run_is_drawn() {
    let run = metered();
    golden::check("cost.txt", &table::cost(&run, &CostChoice::default()));
    let behalf = CostChoice { view: View::OnBehalfOf, threads: CostThreads::All };
    golden::check("cost_behalf_all.txt", &table::cost(&run, &behalf));
    assert!(table::run(&run).contains("Cost of a transaction by module"));
    closed_schema::check(&[Record::from(run)]);
}

#[test]
fn the_shares_of_the_threads_shown_add_up_to_a_hundred() {
    for choice in [CostChoice::default(), everyone()] {
        let text = table::cost(&metered(), &choice);
        for title in ["CPU %", "wall %"] {
            let figures = column(&text, title);
            let shares = figures.iter().filter_map(|(_, one)| one.parse::<f64>().ok());
            let sum: f64 = shares.sum();
            assert!((sum - 100.0).abs() < 0.5, "{title}: {sum}: {text}");
        }
    }
}

#[test]
fn unknown_is_always_a_row_even_if_nothing_is_unknown() {
    let run = with(|cost| {
        for metric in &mut cost.metrics {
            metric.innermost.retain(|row| row.module.is_some());
        }
    });
    let text = table::cost(&run, &CostChoice::default());
    assert!(text.lines().any(|line| line.starts_with("  unknown ")), "{text}");
    assert!(!text.contains("  parse and plan"), "a row without amounts: {text}");
}

#[test]
fn waiting_for_a_request_has_a_row_and_no_share_of_wall_clock() {
    let text = table::cost(&metered(), &CostChoice::default());
    let shares = column(&text, "wall %");
    let waiting = shares.iter().find(|(name, _)| name == "waiting for request");
    assert_eq!(waiting.map(|(_, share)| share.as_str()), Some("left out"));
}

#[test]
fn a_metric_that_could_not_be_split_has_a_reason_and_is_not_zero() {
    let run = with(|cost| {
        let calls = cost.metrics.iter_mut().find(|one| one.metric == "system_calls").unwrap();
        calls.how = "not attributable".to_owned();
        calls.detail =
            Some("tracing is not allowed: sysctl kernel.perf_event_paranoid=-1".to_owned());
        calls.innermost.clear();
        calls.total = Some(syncline_record::CostTotal {
            amount: 48_000,
            per_transaction: Some(4.0),
            source: "/proc/PID/io".to_owned(),
        });
    });
    let text = table::cost(&run, &CostChoice::default());
    let calls = column(&text, "calls");
    assert!(calls.iter().all(|(_, figure)| figure == "-"), "{text}");
    assert!(text.contains("cross-check"), "{text}");
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(whole.contains("tracing is not allowed: sysctl kernel.perf_event_paranoid=-1"));
    assert!(text.contains("not measured by any collector here: CPU by tag"), "{text}");
}

#[test]
fn threads_that_are_not_shown_are_below_without_shares() {
    let text = table::cost(&metered(), &CostChoice::default());
    let line = text
        .lines()
        .find(|line| line.starts_with("  background threads"))
        .unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains("0.900") && line.contains("2.10"), "{line}");
    let one = CostChoice {
        threads: CostThreads::Class("background".to_owned()),
        ..CostChoice::default()
    };
    let text = table::cost(&metered(), &one);
    assert!(text.contains("connection threads"), "{text}");
    assert!(!text.contains("  network server"), "{text}");
}

#[test]
fn tables_fit_eighty_columns() {
    for choice in [CostChoice::default(), everyone()] {
        let text = table::cost(&metered(), &choice);
        let tables = text.lines().filter(|line| line.contains('─'));
        for line in tables {
            assert!(line.chars().count() <= 80, "{text}");
        }
    }
}

#[test]
fn a_run_without_a_profile_has_a_sentence_instead_of_a_table() {
    let run = fixture::run(SQLITE, 1, 9_120.0, 1.0);
    let text = table::cost(&run, &CostChoice::default());
    assert!(text.contains("not profiled") && text.contains("--meter"), "{text}");
}

// 2.7 of the users' page: 133 samples in 4 s give +-8 points, which was not printed
#[test]
fn the_sampling_error_of_shares_is_printed_once_with_advice() {
    let run = with_samples(metered(), |count| count * 10);
    let text = table::cost(&run, &CostChoice::default());
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = "450 samples: CPU shares +-5 points or better (95 %); measure longer or use --sampling-hz 999";
    assert_eq!(flat.matches(sentence).count(), 1, "{text}");
    let few = table::cost(&metered(), &CostChoice::default());
    assert!(!few.contains("CPU shares +-"), "{few}");
}

#[test]
fn too_few_samples_cause_a_sentence() {
    let words = "too few for shares by module";
    let often = with_samples(metered(), |count| count * 10);
    let text = table::cost(&often, &CostChoice::default());
    assert!(!text.contains(words), "{text}");
    let rarely = with_samples(metered(), |count| count.min(3));
    let few = table::cost(&rarely, &CostChoice::default());
    assert!(few.contains(words) && few.contains("network server"), "{few}");
}

/// The same with other counts of samples: with three per module no share is known.
fn with_samples(mut run: RunRecord, counted: fn(u64) -> u64) -> RunRecord {
    let cost = run.end.cost.as_mut().unwrap();
    for metric in &mut cost.metrics {
        for row in metric.innermost.iter_mut().chain(&mut metric.on_behalf_of) {
            row.count = counted(row.count);
        }
    }
    run
}

#[test]
fn stages_of_a_survey_show_their_cost_or_that_they_were_too_short() {
    let mut records = fixture::survey();
    let mut stages = 0;
    for record in &mut records {
        if let Record::Run(run) = record {
            stages += 1;
            let metered = cost_fixture::metered((**run).clone());
            **run = match stages {
                1 => with_samples(metered, |count| count * 10),
                2 => with_samples(metered, |count| count.min(3)),
                _ => continue,
            };
        }
    }
    let text = table::show(&records);
    let count = |words: &str| text.matches(words).count();
    assert_eq!(count("Cost of a transaction by module"), 1, "{text}");
    assert_eq!(count("too short: "), 1, "{text}");
    assert!(text.contains("--duration TIME"), "{text}");
    assert!(!table::show(&fixture::survey()).contains("Cost of a transaction"));
}
