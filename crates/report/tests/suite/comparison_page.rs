//! The page of a comparison: the texts of the terminal, a strip for each ratio, refusals with their reason.

use crate::comparison::compare;
use crate::fixture::{self, ENGINE, SQLITE};
use crate::golden;
use crate::html_tree::parse;
use crate::page_outline::outline;
use syncline_record::{Record, RunRecord};
use syncline_report::compare::Row;
use syncline_report::{html, table};

fn record(run: RunRecord) -> Record {
    Record::from(run)
}

pub(crate) fn page(first: &Record, second: &Record, unequal: bool) -> String {
    html::comparison([first, second], &compare(first, second, unequal))
}

/// The page before the collapsed records.
fn shown(page: &str) -> &str {
    page.split_once("<h2 class=\"screen\">").unwrap().0
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;")
}

#[test]
fn the_page_of_a_comparison_matches_its_golden_file() {
    let slower = record(fixture::run(SQLITE, 8, 8_100.0, 1.0));
    let base = record(fixture::run(SQLITE, 8, 9_120.0, 1.0));
    golden::check("compare_page.txt", &outline(&parse(&page(&base, &slower, false))));
}

// Section 7, point 4: a comparison had no page.
#[test]
fn a_comparison_has_a_strip_for_each_ratio_and_the_words_of_the_terminal() {
    let [base, slower] = [9_120.0, 8_100.0].map(|rate| record(fixture::run(SQLITE, 8, rate, 1.0)));
    let compared = compare(&base, &slower, false).unwrap();
    let page = page(&base, &slower, false);
    let shown = shown(&page);
    let ratios = compared.rows.iter().filter_map(Row::ratio);
    assert_eq!(count(shown, "<svg class=\"strip\" role=\"img\""), ratios.count());
    for sentence in compared.sentences() {
        assert!(shown.contains(&escaped(&sentence)), "{sentence}");
    }
    assert_eq!(count(shown, "B is a regression."), 1);
    // Each word of the table is on the page, except what draws it.
    let text = table::compare(&compared);
    for word in text.split_whitespace().filter(|word| !word.contains('─')) {
        assert!(shown.contains(&escaped(word)), "{word}");
    }
    // The title under the pointer: ratio, its range, both sides, verdict.
    let value = "<title>throughput: B/A 0.89 x, 0.84 x to 0.94 x; A 9.12k/s (8.92k to 9.39k/s), \
                 B 8.10k/s (7.92k to 8.34k/s); slower</title>";
    assert!(shown.contains(value), "{shown}");
    assert!(shown.contains("class=\"worse\"") && !shown.contains("class=\"better\""));
    assert!(page.contains("default-src 'none'; style-src 'unsafe-inline'"));
    assert_eq!(count(&page, "<script"), 1, "the records, which are data");
    assert!(!page.contains("NaN") && !page.contains("inf%"));
}

#[test]
fn costs_per_commit_are_judged_by_repetitions_as_less_or_more() {
    let of = |commits_per_sync: f64, cpu_ns: f64| {
        let mut run = fixture::run(SQLITE, 8, 9_000.0, 1.0);
        let one = run.end.repetitions[1].clone();
        run.end.repetitions = vec![one; 5];
        for one in &mut run.end.repetitions {
            one.commits_per_sync = Some(commits_per_sync);
        }
        run.end.per_commit.target_cpu_ns.value = Some(cpu_ns);
        record(run)
    };
    let words = |first: &Record, second: &Record, name: &str| {
        let compared = compare(first, second, false).unwrap();
        let row = compared.rows.iter().find(|row| row.name == name).unwrap();
        assert!(!compared.regression);
        row.verdict_words()
    };
    let (one, four) = (of(1.0, 100.0), of(4.0, 900.0));
    assert_eq!(words(&one, &four, "syncs per commit"), "less");
    assert_eq!(words(&four, &one, "syncs per commit"), "more");
    assert_eq!(words(&one, &one, "syncs per commit"), "no difference shown");
    let cpu = "store CPU per commit";
    assert_eq!(words(&one, &four, cpu), "", "one value for the whole run");
    assert!(page(&one, &four, false).contains("<title>store CPU per commit: B/A 9.00 x; A 100"));
}

#[test]
fn a_refused_comparison_has_a_page_with_the_reason_and_no_chart() {
    let base = record(fixture::run(SQLITE, 8, 9_000.0, 1.0));
    let other = record(fixture::run(ENGINE, 1, 9_000.0, 1.0));
    let probe = Record::from(fixture::probe());
    for second in [&other, &probe] {
        let page = page(&base, second, false);
        let why = compare(&base, second, false).unwrap_err().to_string();
        let shown = shown(&page);
        assert!(shown.contains(&escaped(&why)), "{why}");
        assert_eq!(count(shown, "class=\"strip"), 0);
        assert!(!shown.contains("No regression shown."));
    }
    let anyway = page(&base, &other, true);
    assert!(shown(&anyway).contains("difference: clients 8 and 1"));
}

#[test]
fn a_page_of_hostile_records_runs_no_script() {
    let markup = "</title><script>alert(1)</script>";
    let mut hostile = fixture::run(SQLITE, 8, 9_000.0, 1.0);
    hostile.head.target.name = markup.to_owned();
    hostile.head.workload.name = markup.to_owned();
    let page = page(&record(hostile.clone()), &record(hostile), false);
    assert!(!page.contains("<script>alert"), "{page}");
}
