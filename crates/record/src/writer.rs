//! Writes a record's file during the run, so that a crash loses at most one interval.
//!
//! States: open (head written) → open (each interval) → finished (end written). A line that could not be
//! written completely is truncated away, so that the file never holds a partial line; if even that fails, the
//! reader drops the partial line.

use super::identity::Identity;
use super::interval::Interval;
use super::json_lines::{FlattenedPair, Line, ProbeHead, RunWithoutIntervals};
use super::observation::ObservationRecord;
use super::probe::ProbeRecord;
use super::run::{RunHead, RunRecord};
use super::stacks::write_stacks;
use super::time;
use super::verification::VerificationRecord;
use crate::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use syncline_profile::Profile;

/// The default folder for records.
pub const RUNS_FOLDER: &str = "syncline-runs";

/// Creates the folder for records if it is missing, and checks that a file can be created in it, so that this
/// fails before a run and not after it.
pub fn prepare_folder(folder: &Path) -> Result<()> {
    let path = folder.join(format!(".syncline-{}", std::process::id()));
    let tried = std::fs::create_dir_all(folder)
        .and_then(|()| OpenOptions::new().write(true).create_new(true).open(&path))
        .and_then(|_file| std::fs::remove_file(&path));
    tried.map_err(|source| Error::Folder { path: folder.to_owned(), source })
}

/// A record's file, open for further lines.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    lines: Lines<File>,
}

impl Writer {
    /// Creates the file of a run in `folder`, and the folder if it is missing, and writes the head.
    pub fn create_run(folder: &Path, identity: &Identity, head: &RunHead) -> Result<Writer> {
        let clients = head.plan.clients;
        let subject = format!("{}-{}-{clients}c", head.workload.name, head.target.name);
        let line = Line::RunHead(FlattenedPair { first: identity, second: head });
        Writer::create(folder, &file_name(identity, &subject), &line)
    }

    /// Creates the file of a probe of `directory` in `folder` and writes its head.
    pub fn create_probe(folder: &Path, identity: &Identity, directory: &str) -> Result<Writer> {
        let line = Line::ProbeHead(ProbeHead { identity, directory });
        Writer::create(folder, &file_name(identity, "probe"), &line)
    }

    /// Creates the file of an observation in `folder` and writes its head.
    pub fn create_observation(folder: &Path, identity: &Identity, store: &str) -> Result<Writer> {
        let line = Line::ObservationHead(identity);
        let subject = format!("observed-{store}");
        Writer::create(folder, &file_name(identity, &subject), &line)
    }

    /// Writes the file of a finished verification, whole or not at all, and returns its path.
    pub fn write_verification(folder: &Path, record: &VerificationRecord) -> Result<PathBuf> {
        let identity = &record.identity;
        let body = &record.body;
        let subject = format!("verified-{}-{}", body.verified, short(&body.subject));
        let head = Line::VerificationHead(identity);
        let writer = Writer::create(folder, &file_name(identity, &subject), &head)?;
        writer.finish(&Line::VerificationEnd(record))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends an interval that is over.
    pub fn interval(&mut self, interval: &Interval) -> Result<()> {
        self.append(&Line::Interval(interval))
    }

    /// Writes the end of a run and returns the file's path. The record's intervals are not written again:
    /// they have their own lines. Stacks are written to a file next to it first, whose name is set in the
    /// record; if that fails, the record is finished without them and the error is returned.
    pub fn finish_run(
        mut self,
        record: &mut RunRecord,
        stacks: Option<&Profile>,
    ) -> Result<PathBuf> {
        let stacks_written = match (&mut record.end.cost, stacks) {
            (Some(cost), Some(stacks)) => {
                let written = write_stacks(&self.path, stacks);
                cost.stacks = written.as_ref().ok().cloned();
                written.map(drop)
            }
            _ => Ok(()),
        };
        self.append(&Line::RunEnd(RunWithoutIntervals::of(record)))?;
        stacks_written.map(|()| self.path)
    }

    /// Writes the end of a probe and returns the file's path; without space for it no file is left.
    pub fn finish_probe(self, record: &ProbeRecord) -> Result<PathBuf> {
        self.finish(&Line::ProbeEnd(record))
    }

    /// Writes the end of an observation and returns the file's path; without space for it no file is left.
    pub fn finish_observation(self, record: &ObservationRecord) -> Result<PathBuf> {
        self.finish(&Line::ObservationEnd(record))
    }

    /// Writes the last line, or removes the file: a head alone holds no measurement.
    fn finish(mut self, end: &Line<'_>) -> Result<PathBuf> {
        match self.append(end) {
            Ok(()) => Ok(self.path),
            Err(error) => Err(self.remove_after(error)),
        }
    }

    /// Removes the file of a run that never began.
    pub fn discard(self) -> Result<()> {
        std::fs::remove_file(&self.path).map_err(|source| Error::Append { path: self.path, source })
    }

    fn create(folder: &Path, name: &str, head: &Line<'_>) -> Result<Writer> {
        let path = folder.join(name);
        let made = std::fs::create_dir_all(folder)
            .and_then(|()| OpenOptions::new().append(true).create_new(true).open(&path));
        let file = made.map_err(|source| Error::Create { path: path.clone(), source })?;
        let mut writer = Writer { path, lines: Lines::new(file) };
        if let Err(error) = writer.append(head) {
            return Err(writer.remove_after(error));
        }
        Ok(writer)
    }

    /// Removes a file without measurements and returns why there is no record. If it cannot be removed,
    /// reading it reports what is wrong with it.
    fn remove_after(&self, error: Error) -> Error {
        match (std::fs::remove_file(&self.path), error) {
            (Ok(()), Error::Append { path, source }) => Error::Create { path, source },
            (_, error) => error,
        }
    }

    fn append(&mut self, line: &Line<'_>) -> Result<()> {
        let appended = self.lines.append(&line.to_bytes());
        appended.map_err(|source| Error::Append { path: self.path.clone(), source })
    }
}

/// A file that can be appended to and truncated.
trait AppendFile: Write {
    fn truncate(&mut self, length: u64) -> io::Result<()>;
}

impl AppendFile for File {
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// A file of whole lines: each is appended whole or not at all.
#[derive(Debug)]
struct Lines<T> {
    file: T,
    /// Bytes of whole lines.
    length: u64,
    /// True if a partial line follows them that could not be truncated away yet.
    torn: bool,
}

impl<T: AppendFile> Lines<T> {
    fn new(file: T) -> Lines<T> {
        Lines { file, length: 0, torn: false }
    }

    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if self.torn {
            self.file.truncate(self.length)?;
            self.torn = false;
        }
        let written = self.file.write_all(line);
        match written {
            Ok(()) => self.length += line.len() as u64,
            // The first error is the one to report; the partial line goes now or before the next line.
            Err(_) => self.torn = self.file.truncate(self.length).is_err(),
        }
        written
    }
}

/// "2026-11-20T0915Z-insert-sqlite-8c-k3f9a.jsonl".
fn file_name(identity: &Identity, subject: &str) -> String {
    let stamp = time::file_stamp(identity.started_wall_ns);
    format!("{stamp}-{}-{}.jsonl", plain(subject), identity.id)
}

/// The first part of a subject, which may be longer than a file's name: "sqlite" of "sqlite?cache=1".
fn short(subject: &str) -> &str {
    let subject = subject.split('?').next().unwrap_or_default();
    let end = subject.char_indices().nth(40).map_or(subject.len(), |(at, _)| at);
    &subject[..end]
}

/// The text in letters, digits and single hyphens only, so that the name needs no quotes in a shell.
fn plain(text: &str) -> String {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::{AppendFile, Lines, file_name, plain};
    use crate::Identity;
    use std::io::{self, Write};

    /// A file on a disk of a few bytes.
    struct SmallDisk {
        bytes: Vec<u8>,
        capacity: usize,
        /// True while it cannot be truncated.
        stuck: bool,
    }

    impl Write for SmallDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.capacity - self.bytes.len() {
                0 => Err(io::ErrorKind::StorageFull.into()),
                free => {
                    let part = &bytes[..free.min(bytes.len())];
                    self.bytes.extend_from_slice(part);
                    Ok(part.len())
                }
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl AppendFile for SmallDisk {
        fn truncate(&mut self, length: u64) -> io::Result<()> {
            if self.stuck {
                return Err(io::ErrorKind::Other.into());
            }
            self.bytes.truncate(usize::try_from(length).unwrap());
            Ok(())
        }
    }

    #[test]
    fn a_line_that_does_not_fit_leaves_nothing_and_a_later_one_may_fit() {
        let mut lines = Lines::new(SmallDisk { bytes: Vec::new(), capacity: 9, stuck: false });
        lines.append(b"head\n").unwrap();
        let error = lines.append(b"interval\n").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(lines.file.bytes, b"head\n");
        lines.file.capacity = 20;
        lines.append(b"interval\n").unwrap();
        assert_eq!(lines.file.bytes, b"head\ninterval\n");
    }

    #[test]
    fn a_partial_line_that_could_not_be_truncated_is_truncated_before_the_next() {
        let mut lines = Lines::new(SmallDisk { bytes: Vec::new(), capacity: 9, stuck: true });
        lines.append(b"head\n").unwrap();
        assert!(lines.append(b"interval\n").is_err());
        assert_eq!(lines.file.bytes, b"head\ninte");
        lines.file.capacity = 20;
        assert!(
            lines.append(b"interval\n").is_err(),
            "still stuck: nothing may follow a partial line"
        );
        lines.file.stuck = false;
        lines.append(b"interval\n").unwrap();
        assert_eq!(lines.file.bytes, b"head\ninterval\n");
    }

    #[test]
    fn names_need_no_quotes_and_sort_by_time() {
        let identity = Identity::new("run", 1_795_166_100_000_000_000, 1);
        let name = file_name(&identity, "insert-engine (transient)-8c");
        let expected = format!("2026-11-20T0915Z-insert-engine-transient-8c-{}.jsonl", identity.id);
        assert_eq!(name, expected);
        assert_eq!(plain("../../x y"), "x-y");
    }
}
