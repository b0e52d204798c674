//! The classic log writer: the same bytes of one file, written and synced again and again.
//!
//! It repeats the program of 2002: it creates the file (default "testfile"), writes `bytes` bytes at its
//! start, `operations` times, with one writer, one write outstanding, and no warm-up, the first operation
//! included; then it removes the file. With `-e` it opens the file without a sync flag and calls `fsync`
//! after each write (as Berkeley DB's `writetest` does); without it, it opens the file with `O_SYNC`. Only
//! the first operation grows the file.
//!
//! Unlike the original it continues until the time is long enough for the clock, so that its rate is finite,
//! and it refuses an existing file instead of deleting it.

use crate::measure::{Operation, Totals, latency};
use crate::plan::Span;
use crate::scratch::Scratch;
use crate::{Error, Result};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use syncline_instrument::Nanos;
use syncline_record::Latency;
use syncline_vfs::{Disk, DurableWriter, RealDisk, SyncMethod};

/// The largest write, in bytes.
pub const MAX_BYTES: usize = 100 << 10;

/// The shortest time for a rate.
const MIN_NS: Nanos = 200_000_000;

/// The parameters of the test.
#[derive(Clone, Debug)]
pub struct WriteTest {
    /// `-b`: bytes of one write, 1 to 102,400.
    pub bytes: usize,
    /// `-f`: the file to make and remove.
    pub file: PathBuf,
    /// `-o`: the least number of writes.
    pub operations: u64,
    /// `-e`: an fsync after each write, instead of `O_SYNC`.
    pub fsync: bool,
}

/// The result of the test.
#[derive(Clone, Debug)]
pub struct WriteTestResult {
    /// The method that `-e` chose.
    pub method: SyncMethod,
    /// The requested number of writes.
    pub operations_asked: u64,
    /// The completed writes: more than requested if those were too quick for the clock, fewer if stopped.
    pub operations: u64,
    /// The time they took.
    pub elapsed_ns: Nanos,
    /// Operations a second.
    pub rate_per_s: f64,
    /// The latency of one operation.
    pub latency: Latency,
    /// True if it was stopped before all were done.
    pub stopped: bool,
}

impl Default for WriteTest {
    fn default() -> WriteTest {
        WriteTest { bytes: 256, file: PathBuf::from("testfile"), operations: 1_000, fsync: false }
    }
}

impl WriteTest {
    /// Runs the test; `None` if it was stopped before the first write was done.
    pub fn run(&self, stop: &AtomicBool) -> Result<Option<WriteTestResult>> {
        self.check()?;
        let scratch = Scratch::create_named(self.file.clone()).map_err(|error| match error {
            Error::Disk(disk) if disk.kind() == Some(std::io::ErrorKind::AlreadyExists) => {
                Error::NotOurs { path: self.file.clone() }
            }
            other => other,
        })?;
        // Some file systems would otherwise make the new name stable with the first sync.
        RealDisk.sync_directory(self.directory())?;
        let method = if self.fsync { SyncMethod::Fsync } else { SyncMethod::OSync };
        // Without its own end: a round ends when its operations are done.
        let mut tally = Totals::new(Span::fixed(Nanos::MAX, MIN_NS));
        let mut round = self.operations;
        while tally.operations < self.operations || tally.elapsed_ns < MIN_NS {
            let before = tally.operations;
            let durable = DurableWriter::open(scratch.path(), method)?;
            let writer = LogWriter { durable, buffer: vec![0; self.bytes], left: round };
            tally.work(vec![writer], stop)?;
            if tally.operations - before < round {
                break;
            }
            round = round.max(64);
        }
        let latency = latency(&tally.histogram);
        Ok(latency.map(|latency| WriteTestResult {
            method,
            operations_asked: self.operations,
            operations: tally.operations,
            elapsed_ns: tally.elapsed_ns,
            rate_per_s: tally.operations as f64 * 1e9 / tally.elapsed_ns.max(1) as f64,
            latency,
            stopped: tally.operations < self.operations,
        }))
    }

    fn check(&self) -> Result<()> {
        if !(1..=MAX_BYTES).contains(&self.bytes) {
            let must = "it must be 1 to 102400 bytes";
            return Err(Error::Option { option: "-b", given: self.bytes.to_string(), must });
        }
        if self.operations == 0 {
            let must = "there must be at least one operation";
            return Err(Error::Option { option: "-o", given: "0".to_owned(), must });
        }
        Ok(())
    }

    fn directory(&self) -> &std::path::Path {
        let parent = self.file.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.unwrap_or(std::path::Path::new("."))
    }
}

struct LogWriter {
    durable: DurableWriter,
    buffer: Vec<u8>,
    left: u64,
}

impl Operation for LogWriter {
    fn once(&mut self) -> syncline_vfs::Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        self.durable.write(&self.buffer, 0)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_BYTES, WriteTest};
    use std::fs;
    use std::sync::atomic::AtomicBool;
    use syncline_vfs::SyncMethod;

    fn test(folder: &tempfile::TempDir) -> WriteTest {
        WriteTest { file: folder.path().join("testfile"), ..WriteTest::default() }
    }

    #[test]
    fn it_does_at_least_the_requested_writes_and_removes_its_file() {
        let folder = tempfile::tempdir_in(crate::test_folder()).unwrap();
        for (fsync, method) in [(true, SyncMethod::Fsync), (false, SyncMethod::OSync)] {
            let test = WriteTest { operations: 7, fsync, ..test(&folder) };
            let result = test.run(&AtomicBool::new(false)).unwrap().unwrap();
            assert_eq!((result.method, result.operations_asked), (method, 7));
            assert!(result.operations >= 7 && !result.stopped);
            assert!(result.elapsed_ns >= 200_000_000, "long enough for the clock");
            assert!(result.rate_per_s.is_finite() && result.rate_per_s > 0.0);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_existing_file_is_refused_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let test = test(&folder);
        fs::write(&test.file, "precious").unwrap();
        let error = test.run(&AtomicBool::new(false)).unwrap_err().to_string();
        assert!(error.contains("already exists"), "{error}");
        assert_eq!(fs::read(&test.file).unwrap(), b"precious");
    }

    #[test]
    fn options_outside_their_range_are_refused_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        for (test, words) in [
            (WriteTest { bytes: 0, ..test(&folder) }, "-b is 0"),
            (WriteTest { bytes: MAX_BYTES + 1, ..test(&folder) }, "-b is 102401"),
            (WriteTest { operations: 0, ..test(&folder) }, "-o is 0"),
        ] {
            let error = test.run(&AtomicBool::new(false)).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn stopped_before_the_first_write_it_has_no_result() {
        let folder = tempfile::tempdir_in(crate::test_folder()).unwrap();
        assert!(test(&folder).run(&AtomicBool::new(true)).unwrap().is_none());
    }
}
