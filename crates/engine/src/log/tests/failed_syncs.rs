//! A process that restarts after a failed sync reads the page cache, which may hold data that the disk does
//! not: its later commits must survive a power loss.

use super::behaviour::{commit, simulated};
use crate::log::{Log, Options, Threads};
use crate::seeds::finds;
use crate::{Csn, DatabaseId};
use std::path::Path;
use syncline_vfs::simulated::{Crash, Fault, FaultRule, SyncFailure};

/// Commits before the restart: three segments.
const COMMITS: u64 = 80;

/// Cases: every sync of these commits fails once, in each of two ways.
const CASES: u64 = 400;

fn content(number: u64) -> Vec<u8> {
    vec![number as u8; 100]
}

/// One sync fails, the process restarts and commits, and the power fails.
fn restart(case: u64) -> Result<(), String> {
    let failures = [SyncFailure::PagesKeptUntilEviction, SyncFailure::OneHandleOnly];
    let (failure, skip) = (failures[(case % 2) as usize], case / 2);
    let (disk, directory) = (simulated(), Path::new("log"));
    let options = Options { direct: false, ..Options::tiny() };
    let id = DatabaseId([9; 16]);
    let log = Log::create_with(&disk, directory, id, options.clone(), Threads::None)
        .map_err(|error| error.to_string())?;
    disk.arm(FaultRule { skip, ..FaultRule::next(Fault::SyncError(failure), "log") });
    let mut acknowledged = 0;
    for number in 1..=COMMITS {
        while let Ok(true) = log.shared().prepare_segment(false) {}
        if commit(&log, &content(number)).is_err() {
            break;
        }
        acknowledged = number;
    }
    disk.disarm();
    drop(log);
    let open = |disk: &_, at_least: u64| {
        let mut last = 0;
        let replay = &mut |csn: Csn, record: &[u8]| {
            assert_eq!((csn.0, record), (last + 1, &content(csn.0)[..]));
            last = csn.0;
        };
        let log = Log::open(disk, directory, None, Csn::ZERO, &options, replay);
        let log = log.map_err(|error| format!("{failure:?} after {skip} syncs: {error}"))?;
        if last < at_least {
            return Err(format!("{failure:?} after {skip} syncs: {last} of {at_least} commits"));
        }
        Ok((log, last))
    };
    let (log, last) = open(&disk, acknowledged)?;
    commit(&log, &content(last + 1)).map_err(|error| error.to_string())?;
    drop(log);
    open(&disk.crash(Crash::DropAll), last + 1).map(drop)
}

#[test]
fn a_commit_after_a_failed_sync_and_a_restart_survives_a_power_loss() {
    for case in 0..CASES {
        restart(case).unwrap();
    }
}

finds! {
    restart;
    a_header_read_behind_a_failed_sync_is_found: TrustReadHeader within 400,
}
