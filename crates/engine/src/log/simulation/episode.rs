//! The harness, and one episode of its log.

use super::oracle::{Oracle, RecoveredRecords};
use crate::error::{Error, Result};
use crate::ids::{Csn, DatabaseId};
use crate::log::Threads;
use crate::log::archive::{self, Archived, Until};
use crate::log::handle::Log;
use crate::log::io_request::{IoCompletion, IoRequest};
use crate::log::open::{self, Guard};
use crate::log::options::{Durability, Options};
use crate::log::ring::NO_WORKER;
use fastrand::Rng;
use std::path::{Path, PathBuf};
use syncline_vfs::simulated::{Crash, Metadata};
use syncline_vfs::{Disk, File, OpenOptions, SimulatedDisk, SimulatedFile};

pub(super) const DIRECTORY: &str = "log";

const ARCHIVE: &str = "archive";

/// The sizes of files, from one opening to the next; the first file has 16 KiB.
const FILE_BYTES: [u64; 3] = [16 << 10, 32 << 10, 48 << 10];

/// The sizes of the largest files of logs with a cap, which is the least that they allow.
const CAPPED_FILE_BYTES: [u64; 2] = [16 << 10, 32 << 10];

const DATABASE: DatabaseId = DatabaseId([0x5e; 16]);
const OTHER_DATABASE: DatabaseId = DatabaseId([0x77; 16]);

/// A simulated disk, the log's options, and what the log has promised.
#[derive(Debug)]
pub(super) struct Harness {
    pub(super) disk: SimulatedDisk,
    pub(super) options: Options,
    pub(super) oracle: Oracle,
    pub(super) random: Rng,
    /// Draws the sizes of files; none for files of one size.
    sizes: Option<Rng>,
    /// Bytes of all files when the log was opened.
    opened_bytes: u64,
    /// True once a log was made and must exist.
    pub(super) is_made: bool,
}

/// I/O requests that an episode has left unfinished.
#[derive(Debug)]
pub(super) struct InFlightRequests {
    begun: Vec<IoRequest<SimulatedFile>>,
    done: Vec<IoCompletion<SimulatedFile>>,
}

impl Harness {
    pub(super) fn new(seed: u64) -> Harness {
        let mut random = Rng::with_seed(seed);
        let metadata = [Metadata::Strict, Metadata::OrderedJournal][random.usize(0..2)];
        let mut options = options(&mut random);
        // At durability none every recovery copies a whole segment, for which no cap leaves space.
        if seed % 4 == 3 && options.durability != Durability::None {
            let bytes = CAPPED_FILE_BYTES[(seed / 4 % 2) as usize];
            options.segment_bytes = bytes;
            options.log_bytes_max = Some(4 * bytes + 4 * options.segment_bytes_min);
        }
        if seed % 4 == 2 {
            options.archive = Some(PathBuf::from(ARCHIVE));
        }
        Harness {
            disk: SimulatedDisk::new(seed, metadata),
            options,
            oracle: Oracle::default(),
            random,
            sizes: (seed % 4 == 1).then(|| Rng::with_seed(!seed)),
            opened_bytes: 0,
            is_made: false,
        }
    }

    /// The log of this harness's disk; made if it does not exist yet.
    pub(super) fn open(&mut self) -> Result<Log<SimulatedDisk>> {
        if let Some(sizes) = &mut self.sizes {
            self.options.segment_bytes = FILE_BYTES[sizes.usize(0..FILE_BYTES.len())];
        }
        if self.is_made {
            let (log, _) = recover(&self.disk, &self.options, &self.oracle)?;
            return Ok(log);
        }
        let opened = open::create(
            &self.disk,
            directory(),
            DATABASE,
            self.options.clone(),
            (Guard::Own, Csn::ZERO),
        );
        if matches!(opened, Err(Error::Exists { .. })) {
            // The interrupted making had got far enough.
            self.is_made = true;
            return self.open();
        }
        let opened = opened?;
        self.is_made = true;
        Log::run(&self.disk, directory(), opened, Threads::None)
    }

    /// Runs the log for some steps, or until it fails; returns the requests still in flight.
    pub(super) fn run_steps(&mut self, log: &Log<SimulatedDisk>, steps: u32) -> InFlightRequests {
        self.opened_bytes = file_bytes(&self.disk);
        let mut begun: Vec<IoRequest<SimulatedFile>> = Vec::new();
        let mut done: Vec<IoCompletion<SimulatedFile>> = Vec::new();
        let shared = log.shared();
        for _ in 0..steps {
            if shared.durable_lsn.failure().is_some() {
                break;
            }
            self.check_cap();
            match self.random.u8(0..20) {
                0..7 => self.commit(log),
                7..11 => begun.extend(shared.begin()),
                11..15 if !begun.is_empty() => {
                    let io_request = begun.swap_remove(self.random.usize(0..begun.len()));
                    done.push(io_request.perform(&shared.stats));
                }
                15..19 if !done.is_empty() => {
                    let done = done.swap_remove(self.random.usize(0..done.len()));
                    shared.end(done, NO_WORKER);
                    self.acknowledge(log);
                }
                19 => self.housekeep(log),
                _ => {}
            }
        }
        InFlightRequests { begun, done }
    }

    /// Drives the log until everything published is complete, or it fails.
    pub(super) fn finish(&mut self, log: &Log<SimulatedDisk>, in_flight: InFlightRequests) {
        let shared = log.shared();
        let begun = in_flight.begun.into_iter().map(|io_request| io_request.perform(&shared.stats));
        for done in begun.chain(in_flight.done) {
            shared.end(done, NO_WORKER);
        }
        while shared.durable_lsn.failure().is_none()
            && shared.durable_lsn.get().0 < self.oracle.last()
        {
            match shared.begin() {
                Some(io_request) => {
                    shared.end(io_request.perform(&shared.stats), NO_WORKER);
                }
                // Published commits had claimed their room: a segment is ready, or can be prepared.
                None => match shared.prepare_segment(false) {
                    Ok(prepared) => assert!(prepared, "published commits can be written"),
                    Err(_) => break,
                },
            }
        }
        self.acknowledge(log);
    }

    /// While the log runs, its files do not grow into the part of the cap that only recovery may use.
    fn check_cap(&self) {
        let for_recovery = self.options.segment_bytes + 4 * self.options.segment_bytes_min;
        if let Some(bytes_max) = self.options.log_bytes_max {
            let (bytes, most) = (file_bytes(&self.disk), bytes_max - for_recovery);
            assert!(bytes <= most.max(self.opened_bytes), "{bytes} bytes, the most is {most}");
        }
    }

    /// After a recovery all files together are below the cap.
    pub(super) fn check_cap_on(&self, disk: &SimulatedDisk) {
        if let Some(bytes_max) = self.options.log_bytes_max {
            let bytes = file_bytes(disk);
            assert!(bytes <= bytes_max, "{bytes} bytes, the cap is {bytes_max}");
        }
    }

    fn acknowledge(&mut self, log: &Log<SimulatedDisk>) {
        if self.options.durability != Durability::None {
            self.oracle.promise(log.durable_lsn().0);
        }
    }

    fn commit(&mut self, log: &Log<SimulatedDisk>) {
        let bytes = match self.random.u8(0..30) {
            0 => self.random.usize(2_000..7_000),
            1..4 => self.random.usize(300..1_500),
            _ => self.random.usize(0..120),
        };
        let Ok(permit) = log.try_reserve(bytes) else {
            self.housekeep(log);
            return;
        };
        let reserved = permit.take();
        let csn = reserved.csn().0;
        if self.random.u8(0..20) == 0 {
            reserved.void();
            self.oracle.publish(csn, None);
            return;
        }
        // Each byte depends on the number and on a random draw, so no two episodes publish the same record.
        let (salt, step) = (self.random.u8(..), csn as u8);
        let mut record: Vec<u8> = (0..bytes).map(|i| salt ^ step.wrapping_add(i as u8)).collect();
        self.oracle.publish(csn, Some(record.clone()));
        reserved.publish(&mut record);
    }

    /// Prepares a file if one is needed, and sometimes releases commits.
    fn housekeep(&mut self, log: &Log<SimulatedDisk>) {
        // A full disk is not a failure: preparing is tried again later.
        if let Err(error) = log.shared().prepare_segment(false) {
            let is_expected = matches!(error, Error::Full { .. } | Error::Disk(_));
            assert!(is_expected, "{error}");
        }
        let stable = log.durable_lsn().0.min(self.oracle.promised);
        if self.random.u8(0..3) == 0 && stable > self.oracle.released {
            self.oracle.released = self.random.u64(self.oracle.released..=stable);
            log.release(Csn(self.oracle.released));
        }
        if self.options.archive.is_some() && self.random.bool() {
            // It is tried again later, like a preparation.
            if let Err(error) = log.archive_segment() {
                let is_expected = matches!(error, Error::Full { .. } | Error::Disk(_));
                assert!(is_expected || log.shared().check().is_err(), "{error}");
            }
        }
    }
}

/// Recovers a disk: the log, and the commits that recovery delivered.
pub(super) fn recover(
    disk: &SimulatedDisk,
    options: &Options,
    oracle: &Oracle,
) -> Result<(Log<SimulatedDisk>, RecoveredRecords)> {
    let mut recovered = RecoveredRecords::new();
    let opened = open::open(
        disk,
        directory(),
        Some(DATABASE),
        Csn(oracle.released),
        options,
        &mut |csn, record| recovered.push((csn.0, record.to_vec())),
    )?;
    Ok((Log::run(disk, directory(), opened, Threads::None)?, recovered))
}

/// All commits of a disk: those in the archive, and those behind them in the log. Returns the last one in the
/// archive, too.
pub(super) fn read_all(disk: &SimulatedDisk) -> Result<(Csn, RecoveredRecords)> {
    let mut records = RecoveredRecords::new();
    let sink = &mut |csn: Csn, record: &[u8]| {
        records.push((csn.0, record.to_vec()));
        Ok(())
    };
    let archived =
        Archived { archive: Path::new(ARCHIVE), log: Some(directory()), database: DATABASE };
    archive::read_archived(disk, archived, (Csn::ZERO, Until::End), sink)?;
    let archived = Archived { log: None, ..archived };
    let sink = &mut |_csn: Csn, _record: &[u8]| Ok(());
    let (last, _) = archive::read_archived(disk, archived, (Csn::ZERO, Until::End), sink)?;
    Ok((last, records))
}

/// True if the log is refused to another database.
pub(super) fn refuses_other_database(disk: &SimulatedDisk, options: &Options) -> bool {
    let copy = disk.crash(Crash::DropAll);
    let opened =
        open::open(&copy, directory(), Some(OTHER_DATABASE), Csn::ZERO, options, &mut |_, _| {});
    matches!(opened, Err(Error::WrongDatabase { .. }))
}

/// Bytes of all files of the log.
fn file_bytes(disk: &SimulatedDisk) -> u64 {
    let length = |name: &PathBuf| {
        let file = disk.open(&directory().join(name), OpenOptions::READ);
        file.and_then(|file| file.len()).unwrap_or(0)
    };
    disk.list(directory()).unwrap_or_default().iter().map(length).sum()
}

pub(super) fn directory() -> &'static Path {
    Path::new(DIRECTORY)
}

/// The names in the log's directory, for messages.
pub(super) fn names(disk: &SimulatedDisk) -> String {
    format!("{:?}", disk.list(directory()))
}

fn options(random: &mut Rng) -> Options {
    let frame_unit_bytes = [512, 1024][random.usize(0..2)];
    Options {
        frame_unit_bytes,
        writes_in_flight_max: [1, 1, 2, 4][random.usize(0..4)],
        direct: random.bool(),
        durability: match random.u8(0..8) {
            0 => Durability::None,
            1 => Durability::Full,
            _ => Durability::Data,
        },
        ..Options::tiny()
    }
}
