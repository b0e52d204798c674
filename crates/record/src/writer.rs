//! Writes a record's file as the run goes on, so that a crash loses at most one interval.
//!
//! States: open (head written) → open (each interval) → finished (end written). A line that could
//! not be written whole is taken back, so that the file never holds a half line that this program
//! wrote; should even that fail, the reader drops it.

use super::identity::Identity;
use super::interval::Interval;
use super::json_lines::{Both, Line, ProbeHead, RunWithoutIntervals};
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

/// The folder for records, unless another is named.
pub const RUNS_FOLDER: &str = "syncline-runs";

/// Makes the folder for records if it is missing, and tries whether it takes a file, so that nobody
/// measures for an hour and then hears that it does not.
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
    /// Makes the file of a run in `folder`, which is made too if it is missing, and writes its head.
    pub fn create_run(folder: &Path, identity: &Identity, head: &RunHead) -> Result<Writer> {
        let clients = head.plan.clients;
        let subject = format!("{}-{}-{clients}c", head.workload.name, head.target.name);
        let line = Line::RunHead(Both { first: identity, second: head });
        Writer::create(folder, &file_name(identity, &subject), &line)
    }

    /// Makes the file of a probe of `directory` in `folder` and writes its head.
    pub fn create_probe(folder: &Path, identity: &Identity, directory: &str) -> Result<Writer> {
        let line = Line::ProbeHead(ProbeHead { identity, directory });
        Writer::create(folder, &file_name(identity, "probe"), &line)
    }

    /// Makes the file of an observation in `folder` and writes its head.
    pub fn create_observation(folder: &Path, identity: &Identity, store: &str) -> Result<Writer> {
        let line = Line::ObservationHead(identity);
        let subject = format!("observed-{store}");
        Writer::create(folder, &file_name(identity, &subject), &line)
    }

    /// Writes the file of a verification that is over, whole or not at all, and gives its path.
    pub fn write_verification(folder: &Path, record: &VerificationRecord) -> Result<PathBuf> {
        let identity = &record.identity;
        let body = &record.body;
        let subject = format!("verified-{}-{}", body.verified, short(&body.subject));
        let head = Line::VerificationHead(identity);
        let writer = Writer::create(folder, &file_name(identity, &subject), &head)?;
        writer.ended(&Line::VerificationEnd(record))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends an interval that is over.
    pub fn interval(&mut self, interval: &Interval) -> Result<()> {
        self.append(&Line::Interval(interval))
    }

    /// Writes the end of a run and gives the file's path. The record's intervals are not written
    /// again: they have lines of their own. Stacks are written beside it first, and the record is told
    /// their file's name; if they cannot be, the record is finished without and the error says so.
    pub fn finish_run(
        mut self,
        record: &mut RunRecord,
        stacks: Option<&Profile>,
    ) -> Result<PathBuf> {
        let beside = match (&mut record.end.cost, stacks) {
            (Some(cost), Some(stacks)) => {
                let written = write_stacks(&self.path, stacks);
                cost.stacks = written.as_ref().ok().cloned();
                written.map(drop)
            }
            _ => Ok(()),
        };
        self.append(&Line::RunEnd(RunWithoutIntervals::of(record)))?;
        beside.map(|()| self.path)
    }

    /// Writes the end of a probe and gives the file's path; without room for it no file is left.
    pub fn finish_probe(self, record: &ProbeRecord) -> Result<PathBuf> {
        self.ended(&Line::ProbeEnd(record))
    }

    /// Writes the end of an observation and gives the file's path; without room for it no file is left.
    pub fn finish_observation(self, record: &ObservationRecord) -> Result<PathBuf> {
        self.ended(&Line::ObservationEnd(record))
    }

    /// With its last line, or gone: a head alone says nothing that was measured.
    fn ended(mut self, end: &Line<'_>) -> Result<PathBuf> {
        match self.append(end) {
            Ok(()) => Ok(self.path),
            Err(error) => Err(self.taken_away(error)),
        }
    }

    /// Takes the file away, for a run that never began.
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
            return Err(writer.taken_away(error));
        }
        Ok(writer)
    }

    /// Removes what helps nobody, and says why there is no record. If it cannot be removed, its reader
    /// says what is wrong with it.
    fn taken_away(&self, error: Error) -> Error {
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

/// Something that can be written at its end and shortened.
trait Tape: Write {
    fn shorten(&mut self, length: u64) -> io::Result<()>;
}

impl Tape for File {
    fn shorten(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// A tape of whole lines: each is appended whole or not at all.
#[derive(Debug)]
struct Lines<T> {
    tape: T,
    /// Bytes of whole lines.
    length: u64,
    /// True if a half line follows them that could not be taken back yet.
    torn: bool,
}

impl<T: Tape> Lines<T> {
    fn new(tape: T) -> Lines<T> {
        Lines { tape, length: 0, torn: false }
    }

    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if self.torn {
            self.tape.shorten(self.length)?;
            self.torn = false;
        }
        let written = self.tape.write_all(line);
        match written {
            Ok(()) => self.length += line.len() as u64,
            // The first error says why; the half line is taken back now or before the next line.
            Err(_) => self.torn = self.tape.shorten(self.length).is_err(),
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

/// Letters, digits and single hyphens only, so that the name needs no quotes in a shell.
fn plain(text: &str) -> String {
    let words = text.split(|sign: char| !sign.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::{Lines, Tape, file_name, plain};
    use crate::Identity;
    use std::io::{self, Write};

    /// A disk of a few bytes.
    struct SmallDisk {
        bytes: Vec<u8>,
        room: usize,
        /// True while it cannot be shortened.
        stuck: bool,
    }

    impl Write for SmallDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.room - self.bytes.len() {
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

    impl Tape for SmallDisk {
        fn shorten(&mut self, length: u64) -> io::Result<()> {
            if self.stuck {
                return Err(io::ErrorKind::Other.into());
            }
            self.bytes.truncate(usize::try_from(length).unwrap());
            Ok(())
        }
    }

    #[test]
    fn a_line_that_found_no_room_leaves_nothing_and_the_next_may_find_some() {
        let mut lines = Lines::new(SmallDisk { bytes: Vec::new(), room: 9, stuck: false });
        lines.append(b"head\n").unwrap();
        let error = lines.append(b"interval\n").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(lines.tape.bytes, b"head\n");
        lines.tape.room = 20;
        lines.append(b"interval\n").unwrap();
        assert_eq!(lines.tape.bytes, b"head\ninterval\n");
    }

    #[test]
    fn a_half_line_that_could_not_be_taken_back_is_taken_back_before_the_next() {
        let mut lines = Lines::new(SmallDisk { bytes: Vec::new(), room: 9, stuck: true });
        lines.append(b"head\n").unwrap();
        assert!(lines.append(b"interval\n").is_err());
        assert_eq!(lines.tape.bytes, b"head\ninte");
        lines.tape.room = 20;
        assert!(
            lines.append(b"interval\n").is_err(),
            "still stuck: nothing may follow half a line"
        );
        lines.tape.stuck = false;
        lines.append(b"interval\n").unwrap();
        assert_eq!(lines.tape.bytes, b"head\ninterval\n");
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
