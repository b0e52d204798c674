//! The witness's ledger: one append-only file per run, synced before the witness answers.
//!
//! `run-000001.jsonl`, `run-000002.jsonl`, ...: each starts with the run's description, followed by its
//! promises, the end of its connection, and its judgements, of which the last one counts. A truncated last
//! line and anything after it was never acknowledged; opening the ledger removes it. A lock file prevents a
//! second witness from using the directory.

use super::cut_kind::End;
use super::finding::Cuts;
use super::judgement::Judgement;
use super::protocol::Begin;
use crate::disk::test_files::failed;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use syncline_instrument::clock;
use syncline_vfs::{Create, Disk, File, OpenOptions};

/// A line of a run's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Begin { begin: Begin, at_ns: u64 },
    Promise(u64, u32),
    End { how: End, at_ns: u64 },
    Judged { judgement: Judgement, at_ns: u64 },
}

/// A run without its promises.
#[derive(Debug)]
pub(super) struct Run<F> {
    pub(super) begin: Begin,
    /// Number of promises.
    pub(super) promised: u64,
    /// None while the run is being written.
    pub(super) end: Option<End>,
    pub(super) judged: Option<Judgement>,
    file: F,
    bytes: u64,
}

/// The ledger of one witness. Runs are identified by their number, from 0.
#[derive(Debug)]
pub(super) struct Ledger<D: Disk> {
    disk: D,
    directory: PathBuf,
    runs: Vec<Run<D::File>>,
    /// Keeps the lock.
    _lock: D::File,
}

impl<D: Disk> Ledger<D> {
    /// Opens the ledger in a directory, which is created if missing.
    pub(super) fn open(disk: &D, directory: &Path) -> Result<Ledger<D>> {
        match disk.create_directory(directory) {
            Err(error) if error.kind() != Some(ErrorKind::AlreadyExists) => {
                return Err(failed(error));
            }
            _ => {}
        }
        let parent = directory.parent().unwrap_or(directory);
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        disk.sync_directory(parent).map_err(failed)?;
        let lock = directory.join("lock");
        let lock = disk.open(&lock, OpenOptions::READ_WRITE).map_err(failed)?;
        lock.try_lock().map_err(failed)?;
        let mut ledger = Ledger {
            disk: disk.clone(),
            directory: directory.to_owned(),
            runs: Vec::new(),
            _lock: lock,
        };
        for number in 0.. {
            let path = ledger.path(number);
            let options = OpenOptions { create: Create::Never, ..OpenOptions::READ_WRITE };
            match disk.open(&path, options) {
                Ok(file) => ledger.runs.push(Run::read(file, &path)?),
                Err(error) if error.kind() == Some(ErrorKind::NotFound) => break,
                Err(error) => return Err(failed(error)),
            }
        }
        for number in 0..ledger.runs.len() {
            ledger.end(number, End::Unseen)?;
        }
        Ok(ledger)
    }

    pub(super) fn run(&self, number: usize) -> &Run<D::File> {
        &self.runs[number]
    }

    /// The last run of a subject.
    pub(super) fn latest(&self, subject: &str) -> Option<usize> {
        let mut runs = self.runs.iter().enumerate().rev();
        runs.find(|(_, run)| run.begin.subject == subject).map(|(number, _)| number)
    }

    /// Begins a run. Fails if the subject's last run was interrupted and not judged, unless it may be
    /// abandoned.
    pub(super) fn begin(&mut self, begin: Begin) -> Result<usize> {
        if let Some(number) = self.latest(&begin.subject) {
            let run = &self.runs[number];
            let is_open = run.promised > 0 && run.judged.is_none() && run.end != Some(End::Leave);
            if is_open && !begin.abandon {
                return Err(Error::cannot(format!(
                    "{} promised blocks of {} have not been checked; run --check first, or \
                     discard them with --abandon",
                    run.promised, begin.subject
                )));
            }
            self.end(number, End::Silent)?;
        }
        let path = self.path(self.runs.len());
        let new = OpenOptions { create: Create::IfMissing, ..OpenOptions::READ_WRITE };
        let file = self.disk.open(&path, new).map_err(failed)?;
        file.set_len(0).map_err(failed)?;
        let mut run =
            Run { begin: begin.clone(), promised: 0, end: None, judged: None, file, bytes: 0 };
        let at_ns = clock::wall();
        run.add(&[Line::Begin { begin, at_ns }])?;
        self.disk.sync_directory(&self.directory).map_err(failed)?;
        self.runs.push(run);
        Ok(self.runs.len() - 1)
    }

    /// Appends promises, which must continue the sequence; returns the number of promises.
    pub(super) fn promise(&mut self, number: usize, promises: &[(u64, u32)]) -> Result<u64> {
        let run = &mut self.runs[number];
        if run.end.is_some() {
            return Err(Error::cannot("this run has ended"));
        }
        for (next, (sequence, _)) in (run.promised..).zip(promises) {
            if *sequence != next {
                return Err(Error::cannot(format!(
                    "block {sequence} is promised, but block {next} is next"
                )));
            }
        }
        let lines = promises.iter().map(|(one, sum)| Line::Promise(*one, *sum));
        run.add(&lines.collect::<Vec<_>>())?;
        run.promised += promises.len() as u64;
        Ok(run.promised)
    }

    /// Records how a run ended, once.
    pub(super) fn end(&mut self, number: usize, how: End) -> Result<()> {
        let run = &mut self.runs[number];
        if run.end.is_none() {
            let at_ns = clock::wall();
            run.add(&[Line::End { how, at_ns }])?;
            run.end = Some(how);
        }
        Ok(())
    }

    pub(super) fn judged(&mut self, number: usize, judgement: Judgement) -> Result<()> {
        let run = &mut self.runs[number];
        let at_ns = clock::wall();
        let line = Line::Judged { judgement: judgement.clone(), at_ns };
        run.add(&[line])?;
        run.judged = Some(judgement);
        Ok(())
    }

    /// The latest promises of a run, up to `most`, oldest first.
    pub(super) fn promises(&self, number: usize, most: u64) -> Result<Vec<(u64, u32)>> {
        let mut latest = VecDeque::new();
        let run = &self.runs[number];
        lines(&run.file, run.bytes, |line| {
            if let Line::Promise(sequence, checksum) = line {
                if latest.len() as u64 >= most {
                    latest.pop_front();
                }
                latest.push_back((sequence, checksum));
            }
        })?;
        Ok(latest.into())
    }

    /// All judged runs with the subject, method and block size of run `number`, by kind of cut.
    pub(super) fn sum(&self, number: usize) -> Vec<Cuts> {
        let of = &self.runs[number].begin;
        let alike = self.runs.iter().filter(|run| {
            let begin = &run.begin;
            begin.subject == of.subject
                && begin.method == of.method
                && begin.block_bytes == of.block_bytes
        });
        Cuts::of(alike.filter_map(|run| run.judged.as_ref()))
    }

    fn path(&self, number: usize) -> PathBuf {
        self.directory.join(format!("run-{:06}.jsonl", number + 1))
    }
}

impl<F: File> Run<F> {
    fn read(file: F, path: &Path) -> Result<Run<F>> {
        let (mut begun, mut promised, mut end, mut judged) = (None, 0, None, None);
        let bytes = lines(&file, file.len().map_err(failed)?, |line| match line {
            Line::Begin { begin, .. } => begun = Some(begin),
            Line::Promise(sequence, _) => promised = sequence + 1,
            Line::End { how, .. } => end = Some(how),
            Line::Judged { judgement, .. } => judged = Some(judgement),
        })?;
        file.set_len(bytes).map_err(failed)?;
        let begin = begun.ok_or_else(|| {
            let path = path.display();
            Error::cannot(format!(
                "{path} does not begin with the description of its run; move it and the later files away"
            ))
        })?;
        Ok(Run { begin, promised, end, judged, file, bytes })
    }

    /// Appends lines and syncs the file.
    fn add(&mut self, lines: &[Line]) -> Result<()> {
        let mut text = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut text, line)
                .map_err(|error| Error::cannot(format!("cannot encode a ledger line: {error}")))?;
            text.push(b'\n');
        }
        self.file.write_at(&text, self.bytes).map_err(failed)?;
        self.file.sync_data().map_err(failed)?;
        self.bytes += text.len() as u64;
        Ok(())
    }
}

/// Passes each line of the first `bytes` bytes of a file to `handle`; returns the length of the valid lines.
fn lines(file: &impl File, bytes: u64, mut handle: impl FnMut(Line)) -> Result<u64> {
    let (mut read, mut good, mut rest) = (0, 0, Vec::new());
    let mut piece = vec![0; 1 << 16];
    while read < bytes {
        let most = piece.len().min((bytes - read) as usize);
        let got = file.read_at(&mut piece[..most], read).map_err(failed)?;
        if got == 0 {
            break;
        }
        read += got as u64;
        rest.extend_from_slice(&piece[..got]);
        let mut taken = 0;
        while let Some(end) = rest[taken..].iter().position(|byte| *byte == b'\n') {
            let Ok(line) = serde_json::from_slice(&rest[taken..taken + end]) else {
                return Ok(good);
            };
            handle(line);
            taken += end + 1;
            good += end as u64 + 1;
        }
        rest.drain(..taken);
    }
    Ok(good)
}

#[cfg(test)]
mod tests {
    use super::{End, Ledger};
    use crate::disk::protocol::{Begin, RunName};
    use std::path::Path;
    use syncline_vfs::SimulatedDisk;
    use syncline_vfs::simulated::{Crash, Metadata};

    fn begin(subject: &str, abandon: bool) -> Begin {
        Begin {
            subject: subject.to_owned(),
            run: RunName(5),
            boot: "boot".to_owned(),
            method: "fsync".to_owned(),
            block_bytes: 512,
            slots: 8,
            abandon,
        }
    }

    fn open(disk: &SimulatedDisk) -> Ledger<SimulatedDisk> {
        Ledger::open(disk, Path::new("kept")).unwrap()
    }

    #[test]
    fn the_ledger_survives_any_power_loss_of_the_witness() {
        for cut in 0..60 {
            for seed in 0..8 {
                let disk = SimulatedDisk::new(seed, Metadata::Strict);
                let mut ledger = open(&disk);
                let number = ledger.begin(begin("a", false)).unwrap();
                disk.crash_after(cut);
                let mut kept = 0;
                while let Ok(promised) =
                    ledger.promise(number, &[(kept, 1), (kept + 1, 2), (kept + 2, 3)])
                {
                    kept = promised;
                }
                let after = disk.crash(Crash::Torn { seed });
                let ledger = open(&after);
                let run = ledger.run(ledger.latest("a").unwrap());
                assert!((kept..kept + 3).contains(&run.promised) || run.promised == kept + 3);
                let promises = ledger.promises(0, 5).unwrap();
                let last = run.promised;
                let expected = (last.saturating_sub(5)..last).map(|one| (one, one as u32 % 3 + 1));
                assert!(promises.into_iter().eq(expected));
            }
        }
    }

    #[test]
    fn promises_are_gapless_until_the_run_ends() {
        let disk = SimulatedDisk::new(1, Metadata::Strict);
        let mut ledger = open(&disk);
        let number = ledger.begin(begin("a", false)).unwrap();
        assert_eq!(ledger.promise(number, &[(0, 1), (1, 1)]).unwrap(), 2);
        for wrong in [1, 3, u64::MAX] {
            let error = ledger.promise(number, &[(wrong, 1)]).unwrap_err();
            assert!(error.to_string().contains("block 2 is next"), "{error}");
        }
        ledger.end(number, End::Closed).unwrap();
        ledger.end(number, End::Silent).unwrap();
        assert_eq!(ledger.run(number).end, Some(End::Closed));
        assert!(ledger.promise(number, &[(2, 1)]).is_err());
    }

    #[test]
    fn an_unjudged_cut_is_not_overwritten_without_abandon() {
        let disk = SimulatedDisk::new(1, Metadata::Strict);
        let mut ledger = open(&disk);
        let number = ledger.begin(begin("a", false)).unwrap();
        ledger.begin(begin("b", false)).unwrap();
        ledger.promise(number, &[(0, 1)]).unwrap();
        let error = ledger.begin(begin("a", false)).unwrap_err().to_string();
        assert!(error.contains("--check") && error.contains("--abandon"), "{error}");
        let second = ledger.begin(begin("a", true)).unwrap();
        assert_eq!(ledger.run(number).end, Some(End::Silent));
        assert_eq!(ledger.latest("a"), Some(second));
        assert_eq!(ledger.latest("b"), Some(1));
        assert_eq!(ledger.latest("c"), None);
    }

    #[test]
    fn a_second_witness_is_refused() {
        let disk = SimulatedDisk::new(1, Metadata::Strict);
        let ledger = open(&disk);
        assert!(Ledger::open(&disk, Path::new("kept")).is_err());
        drop(ledger);
        open(&disk);
    }
}
