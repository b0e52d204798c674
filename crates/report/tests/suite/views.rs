//! Every terminal view compared with its golden file, and rules that hold for all views.

use crate::comparison::compare;
use crate::fitness_fixture::{fitness_probe, probe_over_time};
use crate::fixture::{self, ENGINE, SQLITE};
use crate::golden;
use syncline_record::{
    CommitPathFigures, Interval, PathFigures, ProbeRecord, Record, RunRecord, Summary,
};
use syncline_report::DiskModel;
use syncline_report::html;
use syncline_report::survey::Survey;
use syncline_report::table::{self, Detail};

fn every_view() -> Vec<(&'static str, String)> {
    let records = fixture::survey();
    let surveys = Survey::all(&records);
    let mut elsewhere = fixture::survey();
    move_to(&mut elsewhere, "/mnt/hdd", 118.0);
    let two: Vec<Record> = records.iter().chain(&elsewhere).cloned().collect();
    let slower = Record::from(fixture::run(SQLITE, 8, 8_100.0, 1.0));
    let compared = compare(&Record::from(fixture::run(SQLITE, 8, 9_120.0, 1.0)), &slower, false);
    let model = DiskModel::parse("seek=8.8ms,rpm=7200,transfer=96.4MB/s,block=16k").unwrap();
    let listed: Vec<Summary> = records.iter().map(Record::summary).collect();
    vec![
        ("survey.txt", table::survey(&surveys[0])),
        ("matrix.txt", table::matrix(&Survey::all(&two))),
        ("probe.txt", table::probe(&fixture::probe(), Detail::Short)),
        ("probe_fitness.txt", table::fitness(&fitness_probes())),
        ("probe_over_time.txt", table::over_time(&probe_over_time())),
        ("probe_wide.txt", table::probe(&fixture::probe(), Detail::Wide)),
        ("run.txt", table::run(&fixture::run(SQLITE, 8, 9_120.0, 1.0))),
        (
            "series.txt",
            table::series(&[
                &fixture::run(SQLITE, 8, 9_120.0, 1.0),
                &fixture::run(ENGINE, 8, 45_600.0, 6.5),
            ]),
        ),
        ("run_open_loop.txt", table::run(&fixture::overloaded())),
        ("compare.txt", table::compare(&compared.unwrap())),
        (
            "from_dual.txt",
            table::from_dual(Some(&model.access_time()), &fixture::probe(), &surveys[0].runs),
        ),
        ("list.txt", table::list(&listed, &[])),
    ]
}

/// Two directories side by side; of the second nothing could be measured.
pub(crate) fn fitness_probes() -> Vec<ProbeRecord> {
    let mut unmeasured = fitness_probe();
    unmeasured.body.directory = "/mnt/slow".to_owned();
    let etcd = &mut unmeasured.body.fitness[0];
    etcd.word = "not known".to_owned();
    etcd.reason = "wal: cannot write in /mnt/slow: Read-only file system".to_owned();
    etcd.consequence = None;
    etcd.shapes[0].windows.clear();
    etcd.shapes[0].worst_window = None;
    etcd.shapes[0].latency_ns = None;
    vec![fitness_probe(), unmeasured]
}

#[test]
fn a_probe_for_products_is_shown_with_its_verdicts() {
    let text = table::probe(&fitness_probe(), Detail::Short);
    assert!(text.contains("etcd in /home/ann/bench: unfit"), "{text}");
    assert!(text.contains("too few: 368 are needed"), "{text}");
    let text = table::probe(&probe_over_time(), Detail::Short);
    assert!(text.contains("beside: a buffered writer"), "{text}");
    assert_eq!(table::over_time(&fitness_probe()), "", "it measured none");
}

#[test]
fn views_fit_a_terminal_of_eighty_columns_and_list_the_columns_left_out() {
    let views = table::at_width(Some(80), every_view);
    for (name, view) in views {
        // The wide view needs a wide terminal, and commands are not wrapped, so that they can be copied.
        let excused = |line: &str| name == "probe_wide.txt" || line.contains("echo '");
        let too_long = |line: &&str| line.chars().count() > 80 && !excused(line);
        let found: Vec<&str> = view.lines().filter(too_long).collect();
        assert_eq!(found, Vec::<&str>::new(), "{name}\n{view}");
        if name == "survey.txt" {
            assert!(view.contains("left out: from-to"), "{view}");
        }
    }
}

/// The same survey of another directory with another line.
pub(crate) fn move_to(records: &mut [Record], directory: &str, line_1: f64) {
    for record in records {
        match record {
            Record::Run(run) => {
                run.end.sync_line.directory = Some(directory.to_owned());
                run.end.sync_line.line_1 = Some(line_1);
                run.end.sync_line.before = vec![line_1];
                run.end.sync_line.after = vec![line_1];
                run.identity.id += "b";
            }
            Record::Probe(probe) => {
                probe.body.directory = directory.to_owned();
                probe.body.sync_line.directory = Some(directory.to_owned());
                probe.body.sync_line.line_1 = Some(line_1);
                probe.body.device.rpm = Some(7_200);
                probe.identity.id += "b";
            }
            Record::Observation(_) | Record::Verification(_) => {
                unreachable!("a survey observes and verifies nothing")
            }
        }
    }
}

#[test]
fn views_match_their_golden_files() {
    for (name, text) in every_view() {
        golden::check(name, &text);
    }
}

#[test]
fn views_fit_the_terminal_and_print_no_infinite_figure() {
    for (name, text) in every_view() {
        for line in text.lines() {
            let width = line.chars().count();
            assert!(width <= 104 || name == "probe_wide.txt", "{name}, {width} columns: {line}");
            let words: Vec<String> = line
                .split(|character: char| !character.is_alphanumeric())
                .map(str::to_lowercase)
                .collect();
            let infinite = words.iter().any(|word| word == "inf" || word == "nan");
            assert!(!infinite, "{name}: {line}");
            assert_eq!(line.trim_end(), line, "{name} ends a line in spaces");
        }
    }
}

#[test]
fn the_survey_prints_what_was_not_run_and_what_is_not_known() {
    let records = fixture::survey();
    let surveys = Survey::all(&records);
    let text = table::survey(&surveys[0]);
    assert!(text.contains("1000  not run: a thread a client"), "{text}");
    assert!(text.contains("3 of 64 clients starved"), "{text}");
    let [directory, stores, unknown] = surveys[0].sentences();
    assert!(
        directory.contains("12.1k syncs/s") && directory.contains("60.2k syncs/s"),
        "{directory}"
    );
    assert!(stores.contains("1.87M/s with 1000 clients"), "{stores}");
    assert!(unknown.starts_with("Not known here: whether an acknowledged commit survives"));
}

#[test]
fn a_store_that_never_promised_is_not_the_best_one() {
    let mut records = fixture::survey();
    let os = fixture::Store { durability: "os", ..ENGINE };
    records.push(Record::from(fixture::run(os, 64, 9e6, 64.0)));
    let surveys = Survey::all(&records);
    assert!(surveys[0].best().iter().all(|run| run.head.target.syncs()));
    assert!(surveys[0].sentences()[1].contains("1.87M/s"));
}

/// D8: 1.42 times the line at one counted commit per sync.
#[test]
fn a_rate_above_what_counted_syncs_allow_is_shown_without_a_ratio() {
    let view = table::run(&fixture::run(SQLITE, 1, 17_150.0, 1.0));
    let flat = view.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("cannot be compared with the disk's sync rate: 17"), "{view}");
    assert!(!flat.contains(" x the disk's sync rate"), "{view}");
}

/// A view prints missing values as unknown, never as zero.
#[test]
fn a_record_that_was_cut_short_is_shown_with_its_remaining_figures() {
    let whole = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    let reason = "the record was cut short: it has no end";
    let end = syncline_record::RunEnd::from_intervals(&whole.intervals, reason);
    let run = RunRecord { end, ..whole };
    let text = table::run(&run);
    assert!(text.contains("cut short: the record was cut short"), "{text}");
    assert!(text.contains("9.1"), "the rate comes from the intervals: {text}");
    assert!(text.contains("cannot be compared with the disk's sync rate"), "{text}");
    assert!(text.contains("unknown  the record was cut short"), "{text}");
}

#[test]
fn surveys_are_separated_by_directory() {
    let mut records = fixture::survey();
    let mut elsewhere = fixture::survey();
    move_to(&mut elsewhere, "/mnt/hdd", 118.0);
    let count = records.len() - 1;
    records.extend(elsewhere);
    let surveys = Survey::all(&records);
    assert_eq!(surveys.len(), 2);
    assert!(surveys.iter().all(|survey| survey.runs.len() == count));
    let text = table::show(&records);
    assert!(text.contains("commits per second of one client"), "{text}");
    assert!(html::report(&records, &[]).contains("Directories side by side"));
}

#[test]
fn the_notice_of_a_load_is_next_to_its_rate_and_not_only_in_the_collapsed_part() {
    let mut run = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    let notice = "derived from something, not comparable to it";
    run.head.workload.notice = Some(notice.to_owned());
    let page = html::report(&[Record::from(run)], &[]);
    let (shown, _folded) = page.split_once("<details").unwrap();
    assert!(shown.contains(notice), "{shown}");
}

#[test]
fn several_runs_of_group_commit_show_what_a_commit_waits_for_at_the_end() {
    let run = |clients: u64, path: Option<[f64; 2]>| {
        let mut run = fixture::run(ENGINE, clients, 45_600.0, 6.5);
        run.identity.survey = None;
        run.head.workload.name = "group-commit".to_owned();
        run.end.commit_path = path.map(|step_ns| CommitPathFigures {
            steps: ["wait for group", "sync"].map(str::to_owned).to_vec(),
            timed: 10,
            timed_one_in: 64,
            rows: vec![PathFigures {
                name: "mean".to_owned(),
                total_ns: step_ns.iter().sum(),
                step_ns: step_ns.to_vec(),
                mean_of: 10,
            }],
        });
        run
    };
    let runs = [run(8, Some([2_000.0, 5_000_000.0])), run(64, None)];
    let text = table::show(&runs.map(Record::from));
    let (_, last) = text.rsplit_once("\n\n").unwrap();
    assert!(last.starts_with("per sync:"), "{last}");
    let row = |clients: &str| {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let of = |line: &Vec<String>| {
            line.first().is_some_and(|word| word == "engine,") && line[3] == clients
        };
        text.lines().map(words).find(of).unwrap().join(" ")
    };
    assert!(row("8").ends_with(" 2.00 us 5.00 ms"), "{}", row("8"));
    assert!(row("64").ends_with(" unknown unknown"), "{}", row("64"));
}

/// Private words that must not be in the output, which uses standard terms.
const PRIVATE_WORDS: [&str; 18] = [
    "line_1",
    "line_max",
    "at its limit",
    "nothing saturated",
    "way of a commit",
    "tried again",
    "laboratory",
    "looks",
    "looked at",
    "spells",
    "strikes",
    "heaps",
    "said by",
    "stands",
    "or why not",
    "figures to be kept",
    "by the meter",
    "beside the run",
];

// Section 5 of the users' page
#[test]
fn no_view_prints_a_word_that_only_this_project_knows() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut checked = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        // Published figures keep the words of their source.
        if name.starts_with("as_") || path.extension().is_none_or(|ending| ending != "txt") {
            continue;
        }
        checked += 1;
        let text = std::fs::read_to_string(&path).unwrap().to_lowercase();
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in PRIVATE_WORDS {
            assert!(!flat.contains(word), "{word} is in {}", path.display());
        }
    }
    assert!(checked > 10, "{checked}");
}

// Section 5 of the users' page; a record keeps the published name of the verdict
#[test]
fn an_unknown_bottleneck_and_the_causes_of_retries_are_printed_in_plain_words() {
    let mut run = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    let found = run.end.saturation.as_mut().unwrap();
    found.verdict = "nothing saturated".to_owned();
    found.reason = "no measured figure reached its threshold".to_owned();
    let causes = &mut run.end.outcomes.retry_causes;
    causes.insert("locked".to_owned(), 3);
    let text = table::run(&run);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("Bottleneck not identified: no measured figure"), "{text}");
    assert!(flat.contains("3 retries (database locked)"), "{text}");
    assert!(!flat.contains("nothing saturated"), "{text}");
}

// D18
#[test]
fn a_run_without_statements_prints_the_reason_that_applies() {
    let mut run = fixture::run(SQLITE, 1, 9_120.0, 1.0);
    let text = table::statements(&run);
    assert!(text.contains("no statements: the store runs in this process"), "{text}");
    assert!(!text.contains("older"), "{text}");
    run.head.target.statements_reason = None;
    let text = table::statements(&run);
    assert!(text.contains("no statements: the record is of an older version"), "{text}");
}

/// Runs of one command, outside of any survey.
pub(crate) fn swept(clients: &[u64], every: &[&str]) -> Vec<Record> {
    let mut runs = Vec::new();
    for clients in clients {
        for every in every {
            let mut run = fixture::run(SQLITE, *clients, 9_120.0 + *clients as f64 * 100.0, 1.0);
            run.identity.survey = None;
            run.identity.id = format!("x{clients}y{every}");
            let options = &mut run.head.workload.options;
            options.insert("commit_every".to_owned(), (*every).to_owned());
            run.head.workload.unit_per_transaction = every.parse().unwrap_or(1);
            runs.push(Record::from(run));
        }
    }
    runs
}

// D11
#[test]
fn rows_of_a_sweep_have_the_swept_value_in_the_list_and_on_the_page() {
    let records = swept(&[1], &["1", "10", "<i>"]);
    let page = html::report(&records, &[]);
    let (shown, _folded) = page.split_once("<details").unwrap();
    let listed: Vec<Summary> = records.iter().map(Record::summary).collect();
    let list = table::list(&listed, &[]);
    for value in ["1", "10"] {
        let words = format!("commit_every={value}");
        assert!(shown.contains(&words), "{words}: {shown}");
        assert!(list.contains(&words), "{words}: {list}");
    }
    assert!(!page.contains("<i>"));
    let alone = table::list(&listed[..1], &[]);
    assert!(!alone.contains("commit_every"), "one run needs no such word: {alone}");
}

// D12
#[test]
fn a_sweep_over_clients_has_a_curve_with_a_value_at_each_point() {
    let page = html::report(&swept(&[1, 8, 64], &["1"]), &[]);
    assert!(page.contains("<h2>Commits per second by clients</h2>"));
    assert!(page.contains("<title>8 clients, 9.92k commits per second</title>"), "{page}");
    let flat = html::report(&swept(&[8], &["1"]), &[]);
    assert!(!flat.contains("by clients</h2>"));
}

// D12
#[test]
fn a_sweep_over_another_option_and_several_stores_are_bars_with_values() {
    let page = html::report(&swept(&[8], &["1", "10"]), &[]);
    assert!(page.contains("<h2>Commits per second: insert</h2>"));
    let title =
        "<title>9.92k commits per second, insert on sqlite, 8 clients, commit_every=10</title>";
    assert!(page.contains(title), "{page}");
    let stores = [SQLITE, ENGINE].map(|store| {
        let mut run = fixture::run(store, 8, 9_120.0, 1.0);
        run.identity.survey = None;
        Record::from(run)
    });
    let page = html::report(&stores, &[]);
    for store in ["sqlite", "engine"] {
        let title =
            format!("<title>9.12k commits per second, insert on {store}, 8 clients</title>");
        assert!(page.contains(&title), "{title}: {page}");
    }
}

// D12
#[test]
fn the_page_of_one_run_has_its_charts_its_limit_its_warnings_and_its_checks() {
    let mut run = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    run.identity.survey = None;
    run.end.warnings[0].what = "<b>short</b>".to_owned();
    let page = html::report(&[Record::from(run)], &[]);
    let (shown, _folded) = page.split_once("<details").unwrap();
    for words in [
        "Throughput over time",
        "Percentiles of service time",
        "the store syncs at 75 % of the sync line",
        "&lt;b&gt;short&lt;/b&gt;; use --warm-up 5s",
        "every acknowledged row is there",
        "<title>p99, ",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

#[test]
fn a_run_names_its_warm_up_and_its_outliers_and_how_far_its_rate_is_known() {
    let mut run = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    let one = Interval { repetition: 1, ..run.intervals[0].clone() };
    let commits: Vec<u64> = (0..30).map(|second| 9_000 + second * 37 % 101).collect();
    run.end.repetitions.truncate(1);
    let with = |run: &mut RunRecord, commits: &[u64]| {
        let seconds = (0_u64..).zip(commits);
        let interval = |(second, committed): (u64, &u64)| Interval {
            start_ns: second * 1_000_000_000,
            end_ns: (second + 1) * 1_000_000_000,
            committed: *committed,
            ..one.clone()
        };
        run.intervals = seconds.map(interval).collect();
        table::run(run)
    };
    let text = with(&mut run, &commits);
    assert!(text.contains("95 % interval of the mean 9.0"), "{text}");
    assert!(!text.contains("outlier") && !text.contains("warm-up within"), "{text}");
    let mut stalled = commits.clone();
    stalled[12] = 900;
    let text = with(&mut run, &stalled);
    assert!(text.contains("outlier at 12.0 s: 900/s, 0.10 x the median"), "{text}");
    let mut cold = commits.clone();
    cold[..5].fill(4_000);
    let text = with(&mut run, &cold);
    assert!(text.contains("the first 5.00 s have 0.44 x the rate of the rest"), "{text}");
    assert!(text.contains("--warm-up 6s"), "{text}");
    let page = html::report(&[run.clone().into()], &[]);
    assert!(page.contains("warm-up within the measured time"), "{page}");
    let text = with(&mut run, &commits[..3]);
    assert!(text.contains("95 % interval unknown: it requires 8 intervals"), "{text}");
}
