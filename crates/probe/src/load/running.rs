//! A load while it runs: a thread of the probe, or a command.
//!
//! The buffered writer fills a file, syncs it every 256 MiB as programs that write much do, and starts again
//! with an empty one, so that it allocates blocks all the time. The competing syncs append 4 KiB each. The
//! reader first writes its file, then reads it with direct I/O. A file takes at most an eighth of the free
//! space.

use super::choice::Load;
use super::process_group::ProcessGroup;
use crate::device;
use crate::measure::filled;
use crate::scratch::Scratch;
use crate::{Error, Result};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use syncline_vfs::{AlignedBuffer, File};

/// Bytes of one write or read of the writer and the reader.
const CHUNK_BYTES: usize = 1 << 20;
/// Bytes of one competing write.
const SYNC_BYTES: usize = 4_096;
/// The writer syncs after this many bytes.
const SYNC_EVERY_BYTES: u64 = 256 << 20;
/// The largest file, and the divisor of the free space.
const FILE_BYTES: u64 = 4 << 30;
const READ_FILE_BYTES: u64 = 256 << 20;
const FREE_PART: u64 = 8;
/// The smallest file with which a load is one.
const LEAST_BYTES: u64 = 4 << 20;

/// A running load; ended when dropped.
#[derive(Debug)]
pub(crate) struct RunningLoad {
    kind: Kind,
    load: Load,
}

#[derive(Debug)]
enum Kind {
    Thread { end: Arc<AtomicBool>, thread: Option<JoinHandle<syncline_vfs::Result<()>>> },
    Command(ProcessGroup),
}

impl RunningLoad {
    /// Starts the load; one of the probe's own in that directory.
    pub(crate) fn start(load: &Load, directory: &Path) -> Result<RunningLoad> {
        let kind = match load {
            Load::Command(line) => {
                let failed = |source| Error::Load { load: load.to_string(), source };
                Kind::Command(ProcessGroup::start(line).map_err(failed)?)
            }
            own => in_thread(own, directory)?,
        };
        Ok(RunningLoad { kind, load: load.clone() })
    }

    /// Why it no longer runs; `None` while it does.
    pub(crate) fn ended(&mut self) -> Option<String> {
        let load = &self.load;
        match &mut self.kind {
            Kind::Thread { thread, .. } => {
                let over = thread.as_ref().is_none_or(JoinHandle::is_finished);
                let result = over.then(|| thread.take().map(join)).flatten();
                match (over, result) {
                    (false, _) => None,
                    (true, Some(Err(error))) => Some(format!("{load} failed: {error}")),
                    (true, _) => Some(format!("{load} ended")),
                }
            }
            Kind::Command(group) => {
                let status = group.has_ended().then(|| group.end())?;
                let status =
                    status.map_or_else(|| "already".to_owned(), |status| status.to_string());
                Some(format!("{load} ended before the measurement beside it ({status})"))
            }
        }
    }
}

impl Drop for RunningLoad {
    fn drop(&mut self) {
        match &mut self.kind {
            Kind::Thread { end, thread } => {
                end.store(true, Ordering::Relaxed);
                // A failure was reported by `ended`, or comes too late to matter.
                drop(thread.take().map(join));
            }
            Kind::Command(group) => drop(group.end()),
        }
    }
}

fn join(thread: JoinHandle<syncline_vfs::Result<()>>) -> syncline_vfs::Result<()> {
    match thread.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn in_thread(load: &Load, directory: &Path) -> Result<Kind> {
    let room = device::free_bytes(directory).unwrap_or(u64::MAX) / FREE_PART;
    let file_bytes = room.min(FILE_BYTES) >> 20 << 20;
    if file_bytes < LEAST_BYTES {
        return Err(Error::LoadSpace { directory: directory.to_owned() });
    }
    let scratch = Scratch::create(directory)?;
    let end = Arc::new(AtomicBool::new(false));
    let (seen, load) = (Arc::clone(&end), load.clone());
    let work = move || match load {
        Load::Syncs => sync_often(&scratch, file_bytes, &seen),
        Load::Read => read_on(&scratch, file_bytes.min(READ_FILE_BYTES), &seen),
        Load::Writer | Load::Command(_) => write_on(&scratch, file_bytes, &seen),
    };
    let thread = Some(std::thread::spawn(work));
    Ok(Kind::Thread { end, thread })
}

fn write_on(scratch: &Scratch, file_bytes: u64, end: &AtomicBool) -> syncline_vfs::Result<()> {
    let buffer = filled(CHUNK_BYTES, 7);
    let (mut at, mut unsynced) = (0, 0);
    while !end.load(Ordering::Relaxed) {
        if at + CHUNK_BYTES as u64 > file_bytes {
            scratch.file().set_len(0)?;
            at = 0;
        }
        scratch.file().write_at(&buffer, at)?;
        at += CHUNK_BYTES as u64;
        unsynced += CHUNK_BYTES as u64;
        if unsynced >= SYNC_EVERY_BYTES {
            scratch.file().sync_data()?;
            unsynced = 0;
        }
    }
    Ok(())
}

fn sync_often(scratch: &Scratch, file_bytes: u64, end: &AtomicBool) -> syncline_vfs::Result<()> {
    let buffer = filled(SYNC_BYTES, 7);
    let mut at = 0;
    while !end.load(Ordering::Relaxed) {
        if at + SYNC_BYTES as u64 > file_bytes {
            scratch.file().set_len(0)?;
            at = 0;
        }
        scratch.file().write_at(&buffer, at)?;
        scratch.file().sync_data()?;
        at += SYNC_BYTES as u64;
    }
    Ok(())
}

fn read_on(scratch: &Scratch, file_bytes: u64, end: &AtomicBool) -> syncline_vfs::Result<()> {
    let chunk = filled(CHUNK_BYTES, 7);
    for at in (0..file_bytes).step_by(CHUNK_BYTES) {
        if end.load(Ordering::Relaxed) {
            return Ok(());
        }
        scratch.file().write_at(&chunk, at)?;
    }
    scratch.file().sync_data()?;
    let direct = match scratch.open_direct() {
        Ok(file) => file,
        Err(Error::Disk(error)) => return Err(error),
        Err(other) => unreachable!("opening a file fails with an error of the disk: {other}"),
    };
    let mut buffer = AlignedBuffer::zeroed(CHUNK_BYTES);
    let mut at = 0;
    while !end.load(Ordering::Relaxed) {
        direct.read_at(&mut buffer, at)?;
        at = (at + CHUNK_BYTES as u64) % file_bytes;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::RunningLoad;
    use crate::Load;

    #[test]
    fn every_load_of_the_probe_runs_until_it_is_ended_and_leaves_no_file() {
        for load in [Load::Writer, Load::Syncs, Load::Read] {
            let folder = tempfile::tempdir_in(crate::test_folder()).unwrap();
            let mut running = RunningLoad::start(&load, folder.path()).unwrap();
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
            assert_eq!(running.ended(), None, "{load}");
            drop(running);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{load}");
        }
    }

    #[test]
    fn a_command_that_fails_says_how() {
        let folder = tempfile::tempdir().unwrap();
        let load = Load::Command("exit 7".to_owned());
        let mut running = RunningLoad::start(&load, folder.path()).unwrap();
        let reason = (0..1_000).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            running.ended()
        });
        let reason = reason.unwrap();
        assert!(reason.contains("exit 7") && reason.contains("exit status: 7"), "{reason}");
    }
}
