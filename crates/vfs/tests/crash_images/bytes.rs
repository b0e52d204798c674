//! The possible values of each byte of a file after a crash.
//!
//! The model keeps, for each file, the bytes at its last sync and the steps since. It follows every byte
//! through these steps: a stable step decides the byte, a pending one adds a possibility, a torn one adds any
//! value where it wrote. For crashes without randomness it also knows the one image that must result.

use crate::mutated_disk::{MutatedDisk, MutatedFile, Mutation};
use fastrand::Rng;
use std::path::{Path, PathBuf};
use syncline_vfs::simulated::{Crash, Metadata};
use syncline_vfs::{Disk, File, OpenOptions, SimulatedDisk, WriteSync};

const FILES: usize = 3;
const FILE_BYTES: usize = 3000;

/// An operation on a file since its last sync.
struct Step {
    operation: Operation,
    /// In the order of all files, as the disk numbers pending changes; `None` is stable.
    pending: Option<u64>,
}

enum Operation {
    Write(usize, Vec<u8>),
    SetLen(usize),
}

#[derive(Default)]
struct Model {
    /// The bytes at the last sync.
    synced: Vec<u8>,
    visible: Vec<u8>,
    steps: Vec<Step>,
}

/// What occurred over all images, so that a test that exercised nothing fails.
#[derive(Debug, Default)]
struct Coverage {
    images: usize,
    old_bytes: usize,
    new_bytes: usize,
    garbled_bytes: usize,
    lengths_lost: usize,
}

#[test]
fn every_byte_of_every_crash_image_is_explained() {
    let mut coverage = Coverage::default();
    for seed in 0..200 {
        let metadata = [Metadata::Strict, Metadata::OrderedJournal][seed as usize % 2];
        if let Err(reason) = run(Mutation::Nothing, metadata, seed, &mut coverage) {
            panic!("seed {seed}: {reason}");
        }
    }
    let least =
        [coverage.old_bytes, coverage.new_bytes, coverage.garbled_bytes, coverage.lengths_lost];
    assert!(coverage.images > 10_000 && least.iter().all(|&count| count > 1000), "{coverage:?}");
}

#[test]
fn a_disk_that_breaks_a_promise_is_detected() {
    for mutation in
        [Mutation::NoSync, Mutation::SyncSometimes, Mutation::NoSyncedWrite, Mutation::SyncOnClose]
    {
        let noticed = (0..100).filter(|&seed| {
            run(mutation, Metadata::Strict, seed, &mut Coverage::default()).is_err()
        });
        // Not by luck: most runs detect it.
        let noticed = noticed.count();
        assert!(noticed > 50, "{mutation:?}: {noticed}");
    }
}

fn path(file: usize) -> PathBuf {
    PathBuf::from(format!("file-{file}"))
}

fn run(
    mutation: Mutation,
    metadata: Metadata,
    seed: u64,
    coverage: &mut Coverage,
) -> Result<(), String> {
    let mut random = Rng::with_seed(seed);
    let disk = MutatedDisk { disk: SimulatedDisk::new(seed, metadata), mutation };
    let mut models: Vec<Model> = (0..FILES).map(|_| Model::default()).collect();
    let mut handles: Vec<MutatedFile> =
        (0..FILES).map(|file| disk.open(&path(file), OpenOptions::READ_WRITE).unwrap()).collect();
    disk.sync_directory(Path::new("/")).unwrap();
    for number in 0..40 {
        let file = random.usize(..FILES);
        step(&disk, &mut handles[file], file, &mut models[file], number, &mut random);
        if random.u8(..3) == 0 {
            check_crashes(&disk.disk, &models, &mut random, coverage)
                .map_err(|reason| format!("after step {number}: {reason}"))?;
        }
    }
    Ok(())
}

/// Applies one random operation to a file and to its model.
fn step(
    disk: &MutatedDisk,
    handle: &mut MutatedFile,
    file: usize,
    model: &mut Model,
    number: u64,
    random: &mut Rng,
) {
    match random.u8(..12) {
        0..5 => {
            let (offset, bytes) = random_write(random);
            handle.write_at(&bytes, offset as u64).unwrap();
            model.push(Operation::Write(offset, bytes), Some(number));
        }
        5 => {
            let (offset, bytes) = random_write(random);
            let options = OpenOptions { write_sync: WriteSync::Data, ..OpenOptions::READ_WRITE };
            disk.open(&path(file), options).unwrap().write_at(&bytes, offset as u64).unwrap();
            model.push_synced_write(offset, bytes);
        }
        6 => {
            let len = random.usize(..FILE_BYTES);
            handle.set_len(len as u64).unwrap();
            if len != model.visible.len() {
                model.push(Operation::SetLen(len), Some(number));
            }
        }
        7 => {
            let (from, to) = (model.visible.len(), random.usize(..FILE_BYTES));
            handle.preallocate(to as u64).unwrap();
            if to > from {
                model.push(Operation::Write(from, vec![0; to - from]), Some(number));
            }
        }
        8 => {
            handle.sync_data().unwrap();
            model.sync();
        }
        9 => {
            handle.sync_all().unwrap();
            model.sync();
        }
        _ => *handle = disk.open(&path(file), OpenOptions::READ_WRITE).unwrap(),
    }
    assert!(read(&disk.disk, file) == model.visible, "reads must see the newest bytes");
}

/// Whole sectors or any range, never a zero byte, so that zeros come only from growth.
fn random_write(random: &mut Rng) -> (usize, Vec<u8>) {
    let unit = [1, 512][random.usize(..2)];
    let offset = random.usize(..FILE_BYTES / 2 / unit) * unit;
    let mut bytes = vec![0; random.usize(1..=FILE_BYTES / 2 / unit) * unit];
    bytes.fill_with(|| random.u8(1..));
    (offset, bytes)
}

fn read(disk: &SimulatedDisk, file: usize) -> Vec<u8> {
    let file = disk.open(&path(file), OpenOptions::READ).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
    bytes
}

fn check_crashes(
    disk: &SimulatedDisk,
    models: &[Model],
    random: &mut Rng,
    coverage: &mut Coverage,
) -> Result<(), String> {
    let mut pending: Vec<u64> =
        models.iter().flat_map(|model| &model.steps).filter_map(|step| step.pending).collect();
    pending.sort_unstable();
    if disk.pending() != pending.len() {
        return Err(format!("{} changes pending, not {}", disk.pending(), pending.len()));
    }
    let mut crashes = vec![Crash::DropAll, Crash::KeepAll];
    crashes.extend((0..3).map(|_| Crash::Subset { seed: random.u64(..) }));
    crashes.extend((0..3).map(|_| Crash::Torn { seed: random.u64(..) }));
    if !pending.is_empty() {
        crashes.push(Crash::Only(random.usize(..pending.len())));
    }
    let whole: Vec<_> = models.iter().map(|model| model.possible(false)).collect();
    let torn: Vec<_> = models.iter().map(|model| model.possible(true)).collect();
    for crash in crashes {
        let image = disk.crash(crash);
        for (file, model) in models.iter().enumerate() {
            let bytes = read(&image, file);
            let explained = match crash {
                Crash::DropAll => model.check_exact(&bytes, |_| false),
                Crash::KeepAll => model.check_exact(&bytes, |_| true),
                Crash::Only(index) => model.check_exact(&bytes, |step| step == pending[index]),
                Crash::Subset { .. } => model.check_possible(&bytes, &whole[file], coverage),
                Crash::Torn { .. } => model.check_possible(&bytes, &torn[file], coverage),
            };
            explained.map_err(|reason| format!("{crash:?}, file {file}: {reason}"))?;
        }
        coverage.images += 1;
    }
    Ok(())
}

impl Model {
    fn push(&mut self, operation: Operation, pending: Option<u64>) {
        operation.apply(&mut self.visible);
        self.steps.push(Step { operation, pending });
    }

    /// A synced write needs the earlier length changes, up to the last one that would truncate it.
    fn push_synced_write(&mut self, offset: usize, bytes: Vec<u8>) {
        let end = offset + bytes.len();
        let cuts = |step: &Step| matches!(step.operation, Operation::SetLen(len) if len < end);
        let needed = self.steps.iter().rposition(cuts).map_or(0, |last| last + 1);
        for step in &mut self.steps[..needed] {
            if matches!(step.operation, Operation::SetLen(_)) {
                step.pending = None;
            }
        }
        self.push(Operation::Write(offset, bytes), None);
    }

    fn sync(&mut self) {
        self.synced.clone_from(&self.visible);
        self.steps.clear();
    }

    /// The one image that must result if exactly these pending steps survive.
    fn check_exact(&self, image: &[u8], survives: impl Fn(u64) -> bool) -> Result<(), String> {
        let mut expected = self.synced.clone();
        for step in &self.steps {
            if step.pending.is_none_or(&survives) {
                step.operation.apply(&mut expected);
            }
        }
        if image == expected {
            return Ok(());
        }
        let differs = image.iter().zip(&expected).position(|(found, expected)| found != expected);
        let (found, expected) = (image.len(), expected.len());
        Err(format!("{found} bytes, expected {expected}, first difference at {differs:?}"))
    }

    fn check_possible(
        &self,
        image: &[u8],
        possible: &[Possible],
        coverage: &mut Coverage,
    ) -> Result<(), String> {
        if image.len() > possible.len() {
            return Err(format!("{} bytes are more than the file ever had", image.len()));
        }
        coverage.lengths_lost += usize::from(image.len() != self.visible.len());
        for (at, possible) in possible.iter().enumerate() {
            let (found, old) = (image.get(at).copied(), self.synced.get(at).copied());
            let is_explained = possible.holds(found) || (possible.any && found.is_some());
            if !is_explained {
                return Err(format!("byte {at} is {found:?}, which no step explains"));
            }
            if found == old {
                coverage.old_bytes += usize::from(possible.is_open);
            } else if possible.holds(found) {
                coverage.new_bytes += 1;
            } else {
                coverage.garbled_bytes += 1;
            }
        }
        Ok(())
    }

    /// The possible values at each position after a random crash.
    fn possible(&self, torn: bool) -> Vec<Possible> {
        let ends = self.steps.iter().map(|step| step.operation.end());
        let longest = ends.chain([self.synced.len()]).max().unwrap_or(0);
        let mut all: Vec<_> =
            (0..longest).map(|at| Possible::only(self.synced.get(at).copied())).collect();
        for step in &self.steps {
            let is_pending = step.pending.is_some();
            let start = match &step.operation {
                Operation::Write(offset, _) => *offset,
                Operation::SetLen(len) => *len,
            };
            for possible in &mut all[..start] {
                possible.grow(is_pending);
            }
            match &step.operation {
                Operation::Write(_, bytes) => {
                    for (possible, byte) in all[start..].iter_mut().zip(bytes) {
                        possible.write(*byte, is_pending, torn);
                    }
                }
                Operation::SetLen(len) => {
                    for possible in &mut all[*len..] {
                        possible.put(None, is_pending);
                    }
                }
            }
        }
        all
    }
}

impl Operation {
    fn end(&self) -> usize {
        match self {
            Operation::Write(offset, bytes) => offset + bytes.len(),
            Operation::SetLen(len) => *len,
        }
    }

    fn apply(&self, image: &mut Vec<u8>) {
        match self {
            Operation::SetLen(len) => image.resize(*len, 0),
            Operation::Write(offset, bytes) => {
                image.resize(image.len().max(self.end()), 0);
                image[*offset..self.end()].copy_from_slice(bytes);
            }
        }
    }
}

/// The possible values at one position.
#[derive(Clone)]
struct Possible {
    /// One bit for each value.
    values: [u64; 4],
    /// Past the end.
    absent: bool,
    /// Garbled: any value.
    any: bool,
    /// A pending step touches it.
    is_open: bool,
}

impl Possible {
    fn only(value: Option<u8>) -> Possible {
        let mut possible = Possible { values: [0; 4], absent: false, any: false, is_open: false };
        possible.add(value);
        possible
    }

    fn add(&mut self, value: Option<u8>) {
        match value {
            Some(value) => self.values[usize::from(value / 64)] |= 1 << (value % 64),
            None => self.absent = true,
        }
    }

    fn holds(&self, value: Option<u8>) -> bool {
        match value {
            Some(value) => self.values[usize::from(value / 64)] >> (value % 64) & 1 == 1,
            None => self.absent,
        }
    }

    /// Sets a value, or adds it to the others if it is pending.
    fn put(&mut self, value: Option<u8>, is_pending: bool) {
        if is_pending {
            self.add(value);
            self.is_open = true;
        } else {
            *self = Possible::only(value);
        }
    }

    fn write(&mut self, byte: u8, is_pending: bool, torn: bool) {
        // The length may have grown without the bytes.
        if is_pending && torn && self.absent {
            self.add(Some(0));
        }
        self.put(Some(byte), is_pending);
        self.any |= is_pending && torn;
    }

    /// The file now extends beyond this position: a missing byte becomes zero.
    fn grow(&mut self, is_pending: bool) {
        if self.absent {
            self.add(Some(0));
            self.absent = is_pending;
        }
    }
}
