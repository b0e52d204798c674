//! Small probes of real directories.

use super::{Observer, Progress, Silent, probe};
use crate::{
    Cell, CellOutcome, Direction, FileState, MethodChoice, Placement, Plan, Span, Step, SyncStep,
    VerdictWord,
};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use syncline_vfs::SyncMethod;

const SHORT_NS: u64 = 20_000_000;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(crate::test_folder()).unwrap()
}

fn sync_step(method: MethodChoice, write_bytes: usize, outstanding: usize) -> Step {
    Step::Sync(SyncStep {
        method,
        write_bytes,
        file_state: FileState::Overwrite,
        placement: Placement::Walk,
        outstanding,
        span: Span::fixed(SHORT_NS, SHORT_NS / 2),
    })
}

/// A miniature of the quick plan.
fn miniature() -> Plan {
    let fastest = MethodChoice::Fastest;
    let mut steps = vec![Step::Idle { span_ns: SHORT_NS }];
    steps.extend(SyncMethod::ALL.map(|method| sync_step(MethodChoice::Named(method), 4096, 1)));
    steps.push(sync_step(MethodChoice::Named(SyncMethod::DirectODsync), 256, 1));
    steps.push(sync_step(fastest, 256, 1));
    steps.push(sync_step(fastest, 4096, 4));
    steps.push(Step::Line1 { method: fastest, span_ns: SHORT_NS });
    steps.push(Step::LineMax { method: fastest, outstanding: None, span_ns: SHORT_NS });
    steps.push(Step::PlainWrite { span_ns: SHORT_NS });
    for direction in [Direction::Write, Direction::Read] {
        steps.push(Step::Sequential { direction, span_ns: SHORT_NS });
    }
    steps.push(Step::RandomReads { depth: 2, span_ns: SHORT_NS });
    Plan { read_file_bytes: 16 << 20, ..Plan::custom(steps) }
}

#[derive(Default)]
struct RecordedProgress(Vec<(PathBuf, usize, u64)>);

impl Observer for RecordedProgress {
    fn step(&mut self, progress: &Progress<'_>) {
        assert!(progress.step <= progress.steps && !progress.what.is_empty());
        self.0.push((progress.directory.to_owned(), progress.step, progress.remaining_ns));
    }
}

#[test]
fn two_directories_take_turns_and_leave_nothing() {
    let (one, other) = (folder(), folder());
    let directories = [one.path().to_owned(), other.path().to_owned()];
    let mut observer = RecordedProgress::default();
    let plan = miniature();
    let results = probe(&directories, &plan, &AtomicBool::new(false), &mut observer).unwrap();

    assert_eq!(observer.0.len(), 2 * plan.steps.len());
    assert!(observer.0.iter().map(|(_, step, _)| *step).eq(1..=2 * plan.steps.len()));
    assert!(observer.0.chunks(2).all(|turn| turn[0].0 != turn[1].0));
    assert!(observer.0.is_sorted_by(|a, b| a.2 > b.2), "the remaining time falls");
    for (result, directory) in results.iter().zip(&directories) {
        assert_eq!(&result.directory, &directory.canonicalize().unwrap());
        assert_eq!(result.incomplete, None);
        assert_eq!(result.label, "burst");
        assert_eq!(result.cells.len(), 16);
        check_line(result);
        assert_eq!((result.sequential.len(), result.reads.len()), (2, 1));
        assert!(result.plain_write.is_some());
        assert_eq!(result.verdicts[0].subject, result.directory.display().to_string());
        assert_eq!(result.verdicts[1].word, VerdictWord::NotDurable, "sync_file_range");
        assert_eq!(fs::read_dir(directory).unwrap().count(), 0);
    }
}

fn check_line(result: &crate::ProbeResult) {
    let line = result.line.as_ref().unwrap();
    assert_ne!(line.method, SyncMethod::SyncFileRange);
    assert!(line.line_1 > 0.0 && line.line_max.unwrap() > 0.0);
    assert_eq!(line.line_max_outstanding, Some(4));
    let small: Vec<&Cell> = result.cells.iter().filter(|cell| cell.write_bytes == 256).collect();
    let refused = matches!(&small[0].outcome, CellOutcome::NotPossible(reason) if reason.contains("256 bytes"));
    assert!(refused, "{:?}", small[0].outcome);
    assert!(!small[1].method.is_direct() && small[1].measured().is_some());
}

#[test]
fn a_stop_returns_the_measured_part_and_reports_the_stop() {
    struct StopAt<'a>(usize, &'a AtomicBool);
    impl Observer for StopAt<'_> {
        fn step(&mut self, progress: &Progress<'_>) {
            if progress.step == self.0 {
                self.1.store(true, Ordering::Relaxed);
            }
        }
    }
    let folder = folder();
    let stop = AtomicBool::new(false);
    let directories = [folder.path().to_owned()];
    let results = probe(&directories, &miniature(), &stop, &mut StopAt(4, &stop)).unwrap();
    assert_eq!(results[0].incomplete.as_deref(), Some("stopped after 3 of 23 steps"));
    assert_eq!(results[0].cells.len(), 3);
    assert!(results[0].cells[0].measured().is_some());
    assert!(matches!(results[0].cells[2].outcome, CellOutcome::NotRun(_)));
    assert!(results[0].line.is_none());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_deadline_leaves_rows_with_the_reason() {
    let folder = folder();
    let steps = (0..6).map(|_| sync_step(MethodChoice::Named(SyncMethod::Fdatasync), 4096, 1));
    let plan = Plan { deadline_ns: Some(1), ..Plan::custom(steps.collect()) };
    let directories = [folder.path().to_owned()];
    let results = probe(&directories, &plan, &AtomicBool::new(false), &mut Silent).unwrap();
    assert_eq!(results[0].cells.len(), 6);
    assert!(results[0].cells.iter().all(|cell| matches!(
        &cell.outcome,
        CellOutcome::NotRun(reason) if reason.contains("used up")
    )));
}

#[test]
fn absent_directories_and_files_are_refused_before_anything() {
    let folder = folder();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let absent = folder.path().join("absent");
    for (directories, words) in [
        (vec![], "name at least one directory"),
        (vec![folder.path().to_owned(), absent], "absent: No such file"),
        (vec![file], "it is not a directory"),
    ] {
        let plan = miniature();
        let error = probe(&directories, &plan, &AtomicBool::new(false), &mut Silent).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn a_read_only_directory_has_facts_and_a_reason() {
    // Root may write in spite of the mode, but even root cannot create files in proc.
    let folder = folder();
    let mut permissions = fs::metadata(folder.path()).unwrap().permissions();
    permissions.set_mode(0o555);
    fs::set_permissions(folder.path(), permissions).unwrap();
    let read_only = if rustix::process::geteuid().is_root() {
        PathBuf::from("/proc")
    } else {
        folder.path().to_owned()
    };
    let results = probe(&[read_only], &miniature(), &AtomicBool::new(false), &mut Silent).unwrap();
    let reason = results[0].incomplete.as_ref().unwrap();
    assert!(reason.contains('/'), "{reason}");
    assert!(results[0].cells.is_empty() && results[0].line.is_none());
    assert_eq!(results[0].verdicts[0].word, VerdictWord::Unknown);
    assert!(!results[0].device.mount.is_empty());
}

// B.F17
#[test]
fn without_direct_io_no_row_shows_the_rate_of_the_page_cache() {
    let folder = folder();
    let plan = miniature();
    let stop = AtomicBool::new(false);
    let mut probe = crate::directory_probe::DirectoryProbe::begin(
        folder.path().canonicalize().unwrap(),
        &plan,
        &stop,
    );
    probe.offer_no_direct_io();
    for step in &plan.steps {
        probe.step(step);
    }
    let result = probe.finish(None);
    let why = "without direct I/O the page cache would be measured";
    assert!(result.plain_write.is_none());
    assert!(result.notes.iter().any(|note| note.contains(why)), "{:?}", result.notes);
    assert_eq!((result.reads.len(), result.sequential.len()), (1, 2));
    let reads = result.reads.iter().map(|read| read.reason.as_ref());
    let transfers = result.sequential.iter().map(|one| one.reason.as_ref());
    for refused in reads.chain(transfers) {
        assert!(refused.unwrap().contains(why), "{refused:?}");
    }
    assert!(result.line.is_some(), "buffered methods have a line");
}

// B.F15
#[test]
fn a_cell_without_enough_space_has_a_reason_and_the_others_are_measured() {
    use crate::measure::Sizes;
    let sizes = Sizes { overwrite: 2 << 20, lap: 1 << 20, transfer: 4 << 20 };
    let step = |write_bytes, file_state, outstanding| SyncStep {
        method: MethodChoice::Fastest,
        write_bytes,
        file_state,
        placement: Placement::Walk,
        outstanding,
        span: Span::fixed(SHORT_NS, SHORT_NS),
    };
    let too_large = crate::directory_probe::too_large;
    for state in FileState::ALL {
        assert_eq!(too_large(sizes, &step(4_096, state, 16)), None);
        let why = too_large(sizes, &step(1 << 20, state, 4)).unwrap();
        assert!(why.contains("because little space is free"), "{why}");
    }
}
