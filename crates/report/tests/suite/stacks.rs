//! Profiles: folded into the record, saved next to it, folded again, shown function by function.

use crate::conversion::{result, run_inputs};
use crate::{closed_schema, fixture};
use std::path::{Path, PathBuf};
use syncline_contract::Meaning;
use syncline_profile::{
    Account, Frame, Histogram, Map, Metric, Name, Precision, Profile, ProfileBuilder, Space,
    Thread, Total, View,
};
use syncline_record::Counted;
use syncline_record::{
    Record, RunRecord, Stacks, Writer, list, read, refold, share, stacks_of_record,
};
use syncline_report::{CostChoice, CostThreads, FunctionsBy, html, table};
use syncline_runner::record::{RunInputs, from_run, head_from_run, stacks_of};
use syncline_runner::{CounterUnit, RunResult, StoreCounter};

const MAP: &str = r#"
product = "toy"
[[module]]
name = "lock_manager"
blame = "outward"
match = [{ symbol = "lock_*" }]
[[module]]
name = "logging"
match = [{ symbol = "log_*" }]
[[module]]
name = "access"
match = [{ symbol = "tree_*" }]
[[thread]]
class = "connection"
name = "client*"
[[thread]]
class = "background"
name = "writer"
"#;

fn frame(space: Space, function: &str) -> Frame {
    Frame {
        space,
        object: if space == Space::Kernel { "kernel" } else { "toy" }.to_owned(),
        name: Name::Function(function.to_owned()),
        offset: 0,
        inlined: false,
    }
}

/// Frames from the innermost outwards; the prefix `k:` marks the kernel's.
fn stack(words: &str) -> Vec<Frame> {
    let one = |word: &str| match word.strip_prefix("k:") {
        Some(name) => frame(Space::Kernel, name),
        None => frame(Space::Native, word),
    };
    words.split(' ').map(one).collect()
}

fn profile() -> Profile {
    let mut builder = ProfileBuilder::default();
    let mut add = |metric, thread: &str, words: &str, weight, count| {
        let thread = builder.thread(Thread { name: thread.to_owned(), title: None });
        let stack = builder.stack(stack(words));
        builder.add(metric, thread, stack, weight, count);
    };
    add(Metric::CpuUser, "client 1", "tree_search main", 4_000_000, 400);
    add(Metric::CpuUser, "client 2", "tree_search tree_search main", 1_000_000, 100);
    add(Metric::CpuUser, "client 1", "memcpy log_append main", 2_000_000, 200);
    add(Metric::CpuKernel, "client 1", "k:ext4_sync k:do_sync fsync log_sync main", 3_000_000, 300);
    add(Metric::CpuUser, "client 1", "strange main", 500_000, 50);
    add(Metric::CpuUser, "writer", "log_clean", 700_000, 70);
    add(Metric::OffCpu, "client 1", "k:schedule futex lock_wait log_sync main", 9_000_000, 90);
    add(Metric::OffCpu, "client 1", "k:schedule poll main", 1_000_000, 10);
    for metric in [Metric::CpuUser, Metric::CpuKernel] {
        builder.account(Account {
            metric,
            collector: "perf events".to_owned(),
            how: Precision::Sampled("99 samples/s per CPU".to_owned()),
            lost: 2,
            total: (metric == Metric::CpuUser)
                .then(|| Total { amount: 8_000_000, source: "/proc/PID/stat".to_owned() }),
        });
    }
    builder.account(Account {
        metric: Metric::OffCpu,
        collector: "BPF".to_owned(),
        how: Precision::Exact,
        lost: 0,
        total: None,
    });
    builder.account(Account {
        metric: Metric::SystemCalls,
        collector: "BPF".to_owned(),
        how: Precision::NotAttributable("run as root".to_owned()),
        lost: 0,
        total: None,
    });
    builder.histogram(Histogram::new(Metric::OffCpu, vec![0, 0, 0, 0, 0, 0, 10, 90]));
    builder.finish(2_000_000_000)
}

fn map() -> Map {
    Map::parse(MAP, "toy.toml").unwrap()
}

fn metered(committed: u64) -> RunResult {
    RunResult {
        profile: Some(profile()),
        commits_in_whole: committed + 30,
        ..result(committed, Some(0.5))
    }
}

/// A profile without access to kernel time.
fn without_kernel() -> Profile {
    let mut builder = ProfileBuilder::default();
    let thread = builder.thread(Thread { name: "client 1".to_owned(), title: None });
    let stack = builder.stack(stack("tree_search main"));
    builder.add(Metric::CpuUser, thread, stack, 4_000_000, 400);
    for (metric, how) in [
        (Metric::CpuUser, Precision::Sampled("99 samples/s per CPU".to_owned())),
        (
            Metric::CpuKernel,
            Precision::NotAttributable("kernel.perf_event_paranoid is 2".to_owned()),
        ),
    ] {
        builder.account(Account {
            metric,
            collector: "perf events".to_owned(),
            how,
            lost: 0,
            total: None,
        });
    }
    builder.finish(2_000_000_000)
}

/// Three repetitions; the one with the median throughput committed a thousand.
fn recorded(folder: &Path) -> (PathBuf, RunRecord) {
    recorded_of(folder, &[metered(1_100), metered(1_000), metered(900)])
}

/// A metered run with its stacks.
pub(crate) fn recorded_with_stacks() -> (Record, Stacks) {
    let folder = tempfile::tempdir().unwrap();
    let (path, record) = recorded(folder.path());
    let stacks = stacks_of_record(&path, &record, Some(&map())).unwrap();
    (Record::from(record), stacks)
}

fn recorded_of(folder: &Path, runs: &[RunResult]) -> (PathBuf, RunRecord) {
    let given = RunInputs { map: Some(map()), ..run_inputs() };
    let mut record = from_run(runs, &given);
    let head = head_from_run(&runs[0].head, &given);
    let mut writer = Writer::create_run(folder, &given.identity, &head).unwrap();
    for interval in &record.intervals {
        writer.interval(interval).unwrap();
    }
    let path = writer.finish_run(&mut record, stacks_of(runs, &given)).unwrap();
    (path, record)
}

#[test]
fn a_profile_is_folded_by_the_commits_of_the_median_repetition() {
    let folder = tempfile::tempdir().unwrap();
    let (_, record) = recorded(folder.path());
    let cost = record.end.cost.as_ref().unwrap();
    assert_eq!(cost.commits, 1_000);
    let user = cost.metric("cpu_user").unwrap();
    let of = |module: Option<&str>, class: &str| {
        user.innermost
            .iter()
            .find(|row| row.module.as_deref() == module && row.threads == class)
            .unwrap_or_else(|| panic!("{module:?} of {class}: {user:?}"))
    };
    let access = of(Some("access"), "connection");
    assert_eq!((access.amount, access.count), (5_000_000, 500));
    assert_eq!(access.per_transaction, Some(5_000.0));
    let range = access.share_range.as_ref().unwrap();
    assert!((access.share.unwrap() - 5.0 / 7.5).abs() < 1e-9);
    assert!(range.least < 0.65 && range.most > 0.68, "{range:?}");
    assert_eq!(of(None, "connection").amount, 500_000);
    assert_eq!(of(None, "background").amount, 0, "unknown is always a row");
    let off = cost.metric("off_cpu").unwrap();
    let module = |rows: &[syncline_record::CostRow]| rows[0].module.clone();
    assert_eq!(module(off.rows(View::Innermost)).as_deref(), Some("lock_manager"));
    assert_eq!(module(off.rows(View::OnBehalfOf)).as_deref(), Some("logging"));
    assert_eq!(off.lengths.as_ref().map(Vec::len), Some(8));
    let calls = cost.metric("system_calls").unwrap();
    assert_eq!(calls.how, "not attributable");
    assert!(calls.innermost.is_empty(), "never a zero that was not measured");
    let wall = cost.metric("wall").unwrap();
    assert!(wall.innermost.iter().all(|row| row.share_range.is_none()));
    closed_schema::check(&[Record::from(record)]);
}

#[test]
fn stacks_are_next_to_the_record_and_fold_to_the_same_cost() {
    let folder = tempfile::tempdir().unwrap();
    let (path, record) = recorded(folder.path());
    let stacks_file = path.with_extension("stacks");
    let name = stacks_file.file_name().and_then(|name| name.to_str());
    assert_eq!(record.end.cost.as_ref().unwrap().stacks.as_deref(), name);
    assert!(stacks_file.exists());
    assert_eq!(list(folder.path()).unwrap().len(), 1, "lists skip stacks");
    let read = read(&path).unwrap();
    assert!(read == Record::from(record.clone()), "the record changed on the way through the file");
    let stacks = stacks_of_record(&path, &record, Some(&map())).unwrap();
    let again = refold(&record, &stacks);
    assert_eq!(again, record.end.cost);
    let better = MAP.replace("log_*\" }]", "log_*\" }, { symbol = \"strange\" }]");
    let better = Map::parse(&better, "better.toml").unwrap();
    let stacks = stacks_of_record(&path, &record, Some(&better)).unwrap();
    let cost = refold(&record, &stacks).unwrap();
    let unknown = |cost: &syncline_record::Cost| {
        let rows = &cost.metric("cpu_user").unwrap().innermost;
        let mut unknown = rows.iter().filter(|row| row.module.is_none());
        unknown.find(|row| row.threads == "connection").unwrap().amount
    };
    assert_eq!((unknown(record.end.cost.as_ref().unwrap()), unknown(&cost)), (500_000, 0));
}

#[test]
fn a_shared_record_names_no_stacks_and_a_withheld_product_keeps_none() {
    let folder = tempfile::tempdir().unwrap();
    let (path, record) = recorded(folder.path());
    let shared = share(&Record::from(record));
    let shared = shared.as_run().unwrap();
    assert_eq!(shared.end.cost.as_ref().unwrap().stacks, None);
    let error = stacks_of_record(&path, shared, None).unwrap_err().to_string();
    assert!(error.contains("has no stacks"), "{error}");
    let runs = [metered(1_000)];
    let aliased = RunInputs { alias: Some("Store A".to_owned()), map: Some(map()), ..run_inputs() };
    assert!(stacks_of(&runs, &aliased).is_none());
    let cost = from_run(&runs, &aliased).end.cost.unwrap();
    assert!(!format!("{cost:?}").contains("toy"), "{cost:?}");
}

#[test]
fn a_withheld_product_keeps_the_warning_that_two_counts_disagree() {
    let run = RunResult {
        counters: vec![StoreCounter {
            name: "xact_commit of pg_stat_database".to_owned(),
            meaning: Meaning::Commits,
            unit: CounterUnit::Count,
            said_by: "a query".to_owned(),
            before: Some(0),
            after: Some(5_000),
            grown: Ok(5_000),
        }],
        ..metered(1_000)
    };
    let aliased = RunInputs { alias: Some("Store A".to_owned()), map: Some(map()), ..run_inputs() };
    let cost = from_run(&[run], &aliased).end.cost.unwrap();
    let text = format!("{cost:?}");
    assert!(!text.contains("toy") && !text.contains("pg_stat"), "{text}");
    assert_eq!(cost.warnings.len(), 1, "{:?}", cost.warnings);
    assert!(cost.warnings[0].starts_with("the store counted 5000 commits"), "{:?}", cost.warnings);
}

#[test]
fn a_map_of_another_product_is_used_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let (path, record) = recorded(folder.path());
    let warning = "the map of toy was used for SQLite";
    let warns = |cost: &syncline_record::Cost| {
        cost.warnings.iter().filter(|one| one.starts_with(warning)).count() == 1
    };
    assert!(warns(record.end.cost.as_ref().unwrap()));
    let again = |map: &str| {
        let map = Map::parse(map, "toy.toml").unwrap();
        let stacks = stacks_of_record(&path, &record, Some(&map)).unwrap();
        refold(&record, &stacks).unwrap()
    };
    assert!(warns(&again(MAP)));
    let own = MAP.replace("\"toy\"", "\"SQLite\"");
    assert_eq!(again(&own).warnings, Vec::<String>::new());
    let later = again(&format!("versions = \">=99\"{own}"));
    assert!(later.warnings[0].contains("was not made for version"), "{:?}", later.warnings);
}

#[test]
fn flushes_are_compared_with_sync_calls_if_synchronous_writes_are_not_counted() {
    let compared = |flushes: f64, writes: Counted| {
        let mut run = metered(1_000);
        run.per_commit.flushes = Counted::by(Some(flushes), "the disk's counter");
        run.per_commit.synced_writes = writes;
        let record = from_run(&[run], &run_inputs());
        let cost = record.end.cost.as_ref().unwrap();
        let text = table::cost(&record, &CostChoice::default());
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        (cost.syncs.flushes_within_syncs, text)
    };
    let unknown = || Counted::unknown("not counted");
    let (within, text) = compared(0.4, unknown());
    assert_eq!(within, Some(true));
    assert!(text.contains("flushes per commit: 0.400, not more than syncs"), "{text}");
    let (within, text) = compared(0.7, unknown());
    assert_eq!(within, None);
    assert!(
        text.contains("flushes per commit: 0.700, whether more than syncs is unknown"),
        "{text}"
    );
    assert_eq!(compared(0.7, Counted::by(Some(0.3), "the store")).0, Some(true));
    assert_eq!(compared(0.9, Counted::by(Some(0.3), "the store")).0, Some(false));
}

#[test]
fn hidden_kernel_time_is_not_zero() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunResult { profile: Some(without_kernel()), ..metered(1_000) };
    let (path, record) = recorded_of(folder.path(), &[run]);
    let stacks = stacks_of_record(&path, &record, Some(&map())).unwrap();
    let choice = CostChoice::default();
    let text = table::functions_of(&record, &stacks, FunctionsBy::Cpu, &choice, 3).unwrap();
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("tree_search 4.00 - 100 4.00 400 access"), "{text}");
    assert!(flat.contains("of all user CPU alone (the other kind is not known)"), "{text}");
    let text = table::cost(&record, &choice);
    assert!(text.contains("user %") && !text.contains("CPU %"), "{text}");
    assert!(text.contains("coverage: 100 % of user CPU alone belongs to a module"), "{text}");
}

#[test]
fn a_record_without_its_stacks_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (path, record) = recorded(folder.path());
    let stacks_file = path.with_extension("stacks");
    std::fs::write(&stacks_file, "{\"head\":").unwrap();
    let error = stacks_of_record(&path, &record, None).unwrap_err().to_string();
    assert!(error.contains(".stacks") && error.contains("line 1"), "{error}");
    std::fs::remove_file(&stacks_file).unwrap();
    let error = stacks_of_record(&path, &record, None).unwrap_err().to_string();
    assert!(error.contains("cannot read"), "{error}");
    let plain = fixture::run(fixture::SQLITE, 1, 9_120.0, 1.0);
    let error = stacks_of_record(&path, &plain, None).unwrap_err().to_string();
    assert!(error.contains("was not profiled"), "{error}");
}

fn lines(folder: &Path, by: FunctionsBy, threads: CostThreads) -> Vec<String> {
    let (path, record) = recorded(folder);
    let stacks = stacks_of_record(&path, &record, Some(&map())).unwrap();
    let choice = CostChoice { threads, ..CostChoice::default() };
    let text = table::functions_of(&record, &stacks, by, &choice, 3).unwrap();
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().map(words).collect()
}

#[test]
fn functions_are_in_the_order_of_their_own_time() {
    let folder = tempfile::tempdir().unwrap();
    let all = lines(folder.path(), FunctionsBy::Cpu, CostThreads::Serving);
    // A function that calls itself is counted once; kernel time is charged to the caller.
    assert_eq!(all[5], "tree_search 5.00 0 47.6 5.00 500 access", "{all:#?}");
    assert_eq!(all[6], "fsync 0 3.00 28.6 3.00 300 logging", "{all:#?}");
    assert_eq!(all[7], "memcpy 2.00 0 19.0 2.00 200 logging", "{all:#?}");
}

#[test]
fn a_wait_is_charged_to_the_store_s_function_and_not_the_library_s() {
    let folder = tempfile::tempdir().unwrap();
    let all = lines(folder.path(), FunctionsBy::WaitTime, CostThreads::Serving);
    assert_eq!(all[5], "lock_wait 9.00 90.0 90 lock manager", "{all:#?}");
    assert_eq!(all[6], "poll 1.00 10.0 10 unknown", "{all:#?}");
}

#[test]
fn threads_of_functions_are_chosen_by_class_or_by_name() {
    for threads in ["background", "wri*"] {
        let folder = tempfile::tempdir().unwrap();
        let threads = CostThreads::Class(threads.to_owned());
        let all = lines(folder.path(), FunctionsBy::Cpu, threads);
        assert_eq!(all[5], "log_clean 0.700 0 100 0.700 70 logging", "{all:#?}");
    }
}

#[test]
fn the_page_of_a_metered_run_draws_its_stacks_and_waits() {
    let folder = tempfile::tempdir().unwrap();
    let (path, record) = recorded(folder.path());
    let stacks = stacks_of_record(&path, &record, Some(&map())).unwrap();
    let records = [Record::from(record)];
    let page = html::report(&records, &[stacks]);
    assert!(page.contains("Where the time goes"));
    assert!(page.contains("<title>tree_search (toy), access: 47.6 %, 500 samples</title>"));
    assert!(page.contains("<title>64 ns to 128 ns: 10 waits, 10.0 %</title>"), "{page}");
    assert!(!page.contains("<script>"), "the page is read without scripts");
    let without = html::report(&records, &[]);
    assert!(without.contains("Where the time goes") && !without.contains("class=\"flame\""));
}
