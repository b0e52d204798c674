//! Files of a probe after Ctrl-C, when the process ends without waiting for the probe.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use syncline_probe::{
    FileState, MethodChoice, Observer, Placement, Plan, Progress, Span, Step, SyncStep, probe,
    remove_all,
};
use syncline_vfs::SyncMethod;

/// Removes the probe's files during the probe, as a signal's thread would.
struct Interrupt {
    directory: PathBuf,
    removed: usize,
}

impl Observer for Interrupt {
    fn step(&mut self, progress: &Progress<'_>) {
        if progress.step == 2 {
            let before = fs::read_dir(&self.directory).expect("the folder is there").count();
            assert!(before >= 2, "the written file and one lap");
            self.removed = remove_all();
            assert_eq!(self.removed, before);
            assert_eq!(fs::read_dir(&self.directory).expect("the folder is there").count(), 0);
        }
    }
}

#[test]
fn every_temporary_file_is_removed_at_once_and_the_probe_still_ends() {
    let program = std::env::current_exe().unwrap();
    let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
    let step = |file_state| {
        Step::Sync(SyncStep {
            method: MethodChoice::Named(SyncMethod::Fdatasync),
            write_bytes: 4096,
            file_state,
            placement: Placement::Walk,
            outstanding: 1,
            span: Span::fixed(10_000_000, 10_000_000),
        })
    };
    let plan = Plan::custom(vec![step(FileState::Append), step(FileState::Overwrite)]);
    let mut interrupt = Interrupt { directory: folder.path().to_owned(), removed: 0 };
    let directories = [folder.path().to_owned()];
    let results = probe(&directories, &plan, &AtomicBool::new(false), &mut interrupt).unwrap();
    assert_eq!(interrupt.removed, 2);
    assert!(results[0].cells[0].measured().is_some());
    assert!(results[0].cells[1].measured().is_none(), "its file is gone");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
