//! Chooses the fastest method, which determines the sync line.
//!
//! Only cells with the line's own parameters count: 4 KiB, advancing through written blocks, by an honest
//! method.

use crate::plan::{LINE_BYTES, is_honest};
use crate::{Cell, FileState, Placement};
use syncline_record::CellFigures;
use syncline_vfs::SyncMethod;

/// The honest method with the highest rate at one outstanding; `None` if none was measured.
pub(crate) fn fastest(cells: &[Cell], may_be_direct: bool) -> Option<SyncMethod> {
    let candidates = of_line(cells)
        .filter(|(cell, _)| cell.outstanding == 1 && is_honest(cell.method))
        .filter(|(cell, _)| may_be_direct || !cell.method.is_direct());
    let best = candidates.max_by(|(_, a), (_, b)| a.rate_per_s.total_cmp(&b.rate_per_s));
    best.map(|(cell, _)| cell.method)
}

/// The number outstanding, above one, at which the method was fastest, and its rate there.
pub(crate) fn best_outstanding(cells: &[Cell], method: SyncMethod) -> Option<(usize, f64)> {
    let candidates =
        of_line(cells).filter(|(cell, _)| cell.method == method && cell.outstanding > 1);
    let best = candidates.max_by(|(_, a), (_, b)| a.rate_per_s.total_cmp(&b.rate_per_s));
    best.map(|(cell, measured)| (cell.outstanding, measured.rate_per_s))
}

fn of_line(cells: &[Cell]) -> impl Iterator<Item = (&Cell, &CellFigures)> {
    cells
        .iter()
        .filter(|cell| cell.write_bytes == LINE_BYTES && cell.file_state == FileState::Overwrite)
        .filter(|cell| cell.placement == Placement::Walk)
        .filter_map(|cell| Some((cell, cell.measured()?)))
}

#[cfg(test)]
mod tests {
    use super::{best_outstanding, fastest};
    use crate::test_support::cell;
    use crate::{CellOutcome, FileState};
    use syncline_vfs::SyncMethod;

    #[test]
    fn the_fastest_honest_method_at_one_outstanding() {
        let mut cells = vec![
            cell(SyncMethod::Fdatasync, 1, 9_000.0),
            cell(SyncMethod::DirectODsync, 1, 10_000.0),
            cell(SyncMethod::SyncFileRange, 1, 30_000.0),
            cell(SyncMethod::Fsync, 16, 50_000.0),
            cell(SyncMethod::UringLinked, 1, 20_000.0),
        ];
        cells[4].outcome = CellOutcome::NotPossible("io_uring is blocked".to_owned());
        let mut appended = cell(SyncMethod::OSync, 1, 40_000.0);
        appended.file_state = FileState::Append;
        cells.push(appended);
        assert_eq!(fastest(&cells, true), Some(SyncMethod::DirectODsync));
        assert_eq!(fastest(&cells, false), Some(SyncMethod::Fdatasync));
        assert_eq!(fastest(&cells[2..4], true), None);
    }

    #[test]
    fn the_best_number_outstanding_is_of_the_same_method() {
        let cells = [
            cell(SyncMethod::Fdatasync, 1, 90_000.0),
            cell(SyncMethod::Fdatasync, 4, 25_000.0),
            cell(SyncMethod::Fdatasync, 16, 24_000.0),
            cell(SyncMethod::DirectODsync, 16, 60_000.0),
        ];
        assert_eq!(best_outstanding(&cells, SyncMethod::Fdatasync), Some((4, 25_000.0)));
        assert_eq!(best_outstanding(&cells, SyncMethod::Fsync), None);
    }
}
