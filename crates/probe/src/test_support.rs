//! Cells with given figures, and a folder for tests.

use crate::{Cell, CellOutcome, FileState, Placement};
use syncline_record::{CellFigures, Counted, Latency};
use syncline_vfs::SyncMethod;

/// A 4 KiB overwrite cell of 10,000 syncs with one flush each.
pub(crate) fn cell(method: SyncMethod, outstanding: usize, rate_per_s: f64) -> Cell {
    let measured = CellFigures {
        syncs: 10_000,
        elapsed_ns: (10_000.0 / rate_per_s * 1e9) as u64,
        rate_per_s,
        latency_ns: latency((1e9 / rate_per_s) as u64),
        modes: None,
        device_writes_per_sync: counted(1.0),
        device_bytes_per_sync: counted(4096.0),
        flushes_per_sync: counted(1.0),
        windows: vec![rate_per_s],
        window_ns: 100_000_000,
        steady: false,
    };
    Cell {
        method,
        write_bytes: 4096,
        file_state: FileState::Overwrite,
        placement: Placement::Walk,
        outstanding,
        fio: None,
        outcome: CellOutcome::Measured(Box::new(measured)),
    }
}

/// The figures of a cell that was measured.
pub(crate) fn figures(cell: &mut Cell) -> &mut CellFigures {
    match &mut cell.outcome {
        CellOutcome::Measured(measured) => measured,
        other => panic!("not measured: {other:?}"),
    }
}

/// A count per sync.
pub(crate) fn counted(per_sync: f64) -> Counted {
    Counted::by(Some(per_sync), "a test")
}

/// The same latency for every percentile.
pub(crate) fn latency(ns: u64) -> Latency {
    Latency { p50: ns, p90: ns, p99: ns, p999: ns, max: ns, mean: ns as f64 }
}

/// A folder on the disk of the program, because temporary folders are often in memory.
pub(crate) fn test_folder() -> std::path::PathBuf {
    let program = std::env::current_exe().unwrap();
    program.parent().unwrap().to_owned()
}
