//! The fio command that is equivalent to a cell.
//!
//! fio's writers are jobs on one file, as the probe's writers are threads; `--overwrite=1 --fallocate=none`
//! first writes all blocks of the file. fio (up to 3.33) has no equivalent for `RWF_DSYNC`, for a linked
//! io_uring chain, and for several writers that share one growing file.

use crate::measure::Sizes;
use crate::plan::SyncStep;
use crate::{FileState, Placement};
use std::path::Path;
use syncline_vfs::SyncMethod;

/// The command for a step by one method on a file in that directory; `None` if fio has no equivalent. The
/// sizes assume enough free space; with little space the probe's files are smaller.
pub fn fio_command(directory: &Path, method: SyncMethod, step: &SyncStep) -> Option<String> {
    command(directory, method, step, Sizes::most(0))
}

/// The same for files of those sizes.
pub(crate) fn command(
    directory: &Path,
    method: SyncMethod,
    step: &SyncStep,
    sizes: Sizes,
) -> Option<String> {
    let sync = sync_flags(method)?;
    let place = placement_flags(step, sizes)?;
    let file = shell_word(&directory.join("fio-syncline.tmp").display().to_string());
    Some(format!(
        "fio --name=syncline --filename={file} --rw=write --bs={} {sync} {place} --unlink=1",
        size(step.write_bytes as u64),
    ))
}

fn sync_flags(method: SyncMethod) -> Option<&'static str> {
    match method {
        SyncMethod::Fsync => Some("--ioengine=psync --fsync=1"),
        SyncMethod::Fdatasync => Some("--ioengine=psync --fdatasync=1"),
        SyncMethod::OSync => Some("--ioengine=psync --sync=sync"),
        SyncMethod::ODsync => Some("--ioengine=psync --sync=dsync"),
        SyncMethod::DirectFsync => Some("--ioengine=psync --direct=1 --fsync=1"),
        SyncMethod::DirectFdatasync => Some("--ioengine=psync --direct=1 --fdatasync=1"),
        SyncMethod::DirectOSync => Some("--ioengine=psync --direct=1 --sync=sync"),
        SyncMethod::DirectODsync => Some("--ioengine=psync --direct=1 --sync=dsync"),
        SyncMethod::UringUnlinked => {
            Some("--ioengine=io_uring --iodepth=1 --direct=1 --fdatasync=1")
        }
        SyncMethod::SyncFileRange => {
            Some("--ioengine=psync --sync_file_range=wait_before,write,wait_after:1")
        }
        SyncMethod::RwfDsync | SyncMethod::DirectRwfDsync | SyncMethod::UringLinked => None,
    }
}

fn placement_flags(step: &SyncStep, sizes: Sizes) -> Option<String> {
    let timed = "--time_based --runtime=3";
    let jobs = step.outstanding as u64;
    match (step.file_state, step.placement) {
        (FileState::Overwrite, Placement::SameBlock) => {
            let one = size(step.write_bytes as u64);
            (jobs == 1).then(|| format!("--overwrite=1 --fallocate=none --size={one} {timed}"))
        }
        (FileState::Overwrite, Placement::Walk) => {
            let region = size(sizes.overwrite / jobs);
            let several = if jobs == 1 {
                String::new()
            } else {
                format!(" --numjobs={jobs} --offset_increment={region} --thread --group_reporting")
            };
            Some(format!("--overwrite=1 --fallocate=none --size={region}{several} {timed}"))
        }
        // Without --time_based: a second lap would find the blocks written. The size is that of the probe's
        // files, because changing the extents of a larger file may cost more.
        (FileState::Unwritten, _) => (jobs == 1).then(|| {
            format!("--overwrite=0 --fallocate=posix --size={} --runtime=3", size(sizes.lap))
        }),
        (FileState::Append, _) => (jobs == 1).then(|| {
            format!("--file_append=1 --fallocate=none --size={} --runtime=3", size(sizes.lap))
        }),
    }
}

/// A size in fio's syntax: 256, 4k, 1m.
fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1 << 20) => format!("{}m", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{}k", bytes >> 10),
        _ => bytes.to_string(),
    }
}

/// The text as one shell word; quoted only if necessary.
fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::fio_command;
    use crate::plan::{Span, SyncStep};
    use crate::{FileState, MethodChoice, Placement};
    use std::path::Path;
    use syncline_vfs::SyncMethod;

    fn step(write_bytes: usize, file_state: FileState, outstanding: usize) -> SyncStep {
        let method = MethodChoice::Fastest;
        let placement = Placement::Walk;
        SyncStep { method, write_bytes, file_state, placement, outstanding, span: Span::burst() }
    }

    #[test]
    fn buffered_fdatasync_overwrite() {
        let step = step(4096, FileState::Overwrite, 1);
        assert_eq!(
            fio_command(Path::new("/data"), SyncMethod::Fdatasync, &step).unwrap(),
            "fio --name=syncline --filename=/data/fio-syncline.tmp --rw=write --bs=4k \
             --ioengine=psync --fdatasync=1 --overwrite=1 --fallocate=none --size=64m \
             --time_based --runtime=3 --unlink=1"
        );
    }

    #[test]
    fn several_writers_are_jobs_on_regions_of_their_own() {
        let step = step(65_536, FileState::Overwrite, 16);
        let command = fio_command(Path::new("/a b"), SyncMethod::DirectODsync, &step).unwrap();
        assert!(command.contains("--filename='/a b/fio-syncline.tmp'"), "{command}");
        assert!(command.contains("--bs=64k --ioengine=psync --direct=1 --sync=dsync"), "{command}");
        assert!(command.contains("--size=4m --numjobs=16 --offset_increment=4m"), "{command}");
    }

    #[test]
    fn states_that_a_second_lap_would_change_are_not_time_based() {
        for state in [FileState::Unwritten, FileState::Append] {
            let one =
                fio_command(Path::new("/d"), SyncMethod::Fsync, &step(256, state, 1)).unwrap();
            assert!(!one.contains("time_based") && one.contains("--bs=256 "), "{one}");
            assert!(one.contains("--size=256m --runtime=3"), "{one}");
            assert_eq!(fio_command(Path::new("/d"), SyncMethod::Fsync, &step(256, state, 2)), None);
        }
    }

    #[test]
    fn methods_without_an_equivalent_in_fio_have_no_command() {
        let step = step(4096, FileState::Overwrite, 1);
        let lacking: Vec<_> = SyncMethod::ALL
            .into_iter()
            .filter(|method| fio_command(Path::new("/d"), *method, &step).is_none())
            .collect();
        let expected = [SyncMethod::RwfDsync, SyncMethod::DirectRwfDsync, SyncMethod::UringLinked];
        assert_eq!(lacking, expected);
    }
}
