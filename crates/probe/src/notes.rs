//! Notes that follow from the figures, one sentence each.

use crate::{Cell, FileState};
use syncline_record::ReadCell;

/// The largest file, in bytes, that may fit in a device's cache.
const SMALL_FILE_BYTES: u64 = 8 << 30;

/// More flushes for each sync than this come partly from other programs.
const FLUSHES_OF_OTHERS: f64 = 1.2;

/// The notes of a result; `counting` if the disk's counters are valid.
pub(crate) fn notes(cells: &[Cell], reads: &[ReadCell], counting: bool) -> Vec<String> {
    let any_measured = cells.iter().any(|cell| cell.measured().is_some());
    let counters = (counting && any_measured).then(|| {
        "Device writes per sync are requests, and the kernel counts empty flushes among them."
            .to_owned()
    });
    [small_file(reads), flushes_of_others(cells), counters].into_iter().flatten().collect()
}

fn small_file(reads: &[ReadCell]) -> Option<String> {
    let file_bytes =
        reads.iter().filter(|read| read.rate_per_s.is_some()).map(|read| read.file_bytes).max()?;
    (file_bytes <= SMALL_FILE_BYTES).then(|| {
        format!(
            "Reads are spread over a file of {} MiB only, which a device's cache may hold and which \
             lies on few tracks of a spinning disk.",
            file_bytes >> 20
        )
    })
}

/// The kernel merges flushes under concurrency, so more flushes than syncs come from other programs. With one
/// outstanding a sync may need two, so there is no note.
fn flushes_of_others(cells: &[Cell]) -> Option<String> {
    let merged =
        cells.iter().filter(|cell| cell.outstanding > 1 && cell.file_state == FileState::Overwrite);
    let flushes = merged.filter_map(|cell| cell.measured()?.flushes_per_sync.value);
    let most = flushes.reduce(f64::max).filter(|most| *most > FLUSHES_OF_OTHERS)?;
    Some(format!(
        "With several outstanding {most:.2} flushes per sync were counted, more than one: another \
         program syncs to this disk, so the rates are lower than the disk allows."
    ))
}

#[cfg(test)]
mod tests {
    use super::notes;
    use crate::test_support::{cell, counted, figures, latency};
    use syncline_record::ReadCell;
    use syncline_vfs::SyncMethod;

    fn read(file_bytes: u64) -> ReadCell {
        ReadCell {
            read_bytes: 4096,
            depth: 1,
            file_bytes,
            rate_per_s: Some(1e9),
            latency_ns: Some(latency(1)),
            reason: None,
        }
    }

    #[test]
    fn reads_over_a_small_file_are_noted() {
        assert!(notes(&[], &[read(1 << 30)], false)[0].contains("1024 MiB only"));
        assert!(notes(&[], &[read(16 << 30)], false).is_empty());
        let failed = ReadCell { rate_per_s: None, reason: Some("no".to_owned()), ..read(1 << 30) };
        assert!(notes(&[], &[failed], false).is_empty());
    }

    #[test]
    fn more_flushes_than_syncs_under_concurrency_come_from_other_programs() {
        let with_flushes = |outstanding, flushes| {
            let mut cell = cell(SyncMethod::Fdatasync, outstanding, 10_000.0);
            figures(&mut cell).flushes_per_sync = counted(flushes);
            notes(&[cell], &[], false)
        };
        assert!(with_flushes(4, 1.5)[0].contains("1.50 flushes per sync"));
        assert!(with_flushes(4, 0.3).is_empty());
        assert!(with_flushes(1, 2.0).is_empty());
    }

    #[test]
    fn device_writes_are_explained_only_if_they_are_counted() {
        let cells = [cell(SyncMethod::Fsync, 1, 100.0)];
        assert!(notes(&cells, &[], true)[0].contains("empty flushes"));
        assert!(notes(&cells, &[], false).is_empty());
        assert!(notes(&[], &[], true).is_empty());
    }
}
