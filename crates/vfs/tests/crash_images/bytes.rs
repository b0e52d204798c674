//! What each byte of a file may be after a crash.
//!
//! The model keeps, for each file, the bytes at its last sync and what was done since. It follows every
//! byte through these steps: a step that is stable decides the byte, one that is pending adds a
//! possibility, a torn one adds any value where it wrote. For crashes without chance it also knows the
//! one image that must result.

use crate::mutated_disk::{MutatedDisk, MutatedFile, Mutation};
use fastrand::Rng;
use std::path::{Path, PathBuf};
use syncline_vfs::simulated::{Crash, Metadata};
use syncline_vfs::{Disk, File, OpenOptions, SimulatedDisk, WriteSync};

const FILES: usize = 3;
const FILE_BYTES: usize = 3000;

/// Something done to a file since its last sync.
struct Step {
    what: What,
    /// In the order of all files, as the disk numbers what is pending; `None` is stable.
    pending: Option<u64>,
}

enum What {
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

/// What was seen over all images, so that a test that exercised nothing is noticed.
#[derive(Debug, Default)]
struct Seen {
    images: usize,
    old_bytes: usize,
    new_bytes: usize,
    garbled_bytes: usize,
    lengths_lost: usize,
}

#[test]
fn every_byte_of_every_crash_image_is_explained() {
    let mut seen = Seen::default();
    for seed in 0..200 {
        let metadata = [Metadata::Strict, Metadata::OrderedJournal][seed as usize % 2];
        if let Err(reason) = run(Mutation::Nothing, metadata, seed, &mut seen) {
            panic!("seed {seed}: {reason}");
        }
    }
    let least = [seen.old_bytes, seen.new_bytes, seen.garbled_bytes, seen.lengths_lost];
    assert!(seen.images > 10_000 && least.iter().all(|&count| count > 1000), "{seen:?}");
}

#[test]
fn a_disk_that_breaks_a_promise_is_noticed() {
    for plant in
        [Mutation::NoSync, Mutation::SyncSometimes, Mutation::NoSyncedWrite, Mutation::SyncOnClose]
    {
        let noticed = (0..100)
            .filter(|&seed| run(plant, Metadata::Strict, seed, &mut Seen::default()).is_err());
        // Not by luck: most runs notice.
        let noticed = noticed.count();
        assert!(noticed > 50, "{plant:?}: {noticed}");
    }
}

fn path(file: usize) -> PathBuf {
    PathBuf::from(format!("file-{file}"))
}

fn run(plant: Mutation, metadata: Metadata, seed: u64, seen: &mut Seen) -> Result<(), String> {
    let mut random = Rng::with_seed(seed);
    let disk = MutatedDisk { disk: SimulatedDisk::new(seed, metadata), plant };
    let mut models: Vec<Model> = (0..FILES).map(|_| Model::default()).collect();
    let mut handles: Vec<MutatedFile> =
        (0..FILES).map(|file| disk.open(&path(file), OpenOptions::READ_WRITE).unwrap()).collect();
    disk.sync_directory(Path::new("/")).unwrap();
    for number in 0..40 {
        let file = random.usize(..FILES);
        step(&disk, &mut handles[file], file, &mut models[file], number, &mut random);
        if random.u8(..3) == 0 {
            check_crashes(&disk.disk, &models, &mut random, seen)
                .map_err(|reason| format!("after step {number}: {reason}"))?;
        }
    }
    Ok(())
}

/// Does one thing to a file and to its model.
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
            model.push(What::Write(offset, bytes), Some(number));
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
                model.push(What::SetLen(len), Some(number));
            }
        }
        7 => {
            let (from, to) = (model.visible.len(), random.usize(..FILE_BYTES));
            handle.preallocate(to as u64).unwrap();
            if to > from {
                model.push(What::Write(from, vec![0; to - from]), Some(number));
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
    assert!(read(&disk.disk, file) == model.visible, "reads see the newest bytes");
}

/// Whole sectors or any range, never a zero byte, so that zeros come from growth alone.
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
    seen: &mut Seen,
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
                Crash::Subset { .. } => model.check_possible(&bytes, &whole[file], seen),
                Crash::Torn { .. } => model.check_possible(&bytes, &torn[file], seen),
            };
            explained.map_err(|reason| format!("{crash:?}, file {file}: {reason}"))?;
        }
        seen.images += 1;
    }
    Ok(())
}

impl Model {
    fn push(&mut self, what: What, pending: Option<u64>) {
        what.apply(&mut self.visible);
        self.steps.push(Step { what, pending });
    }

    /// A synced write needs the length changes before it, up to the last that would cut it.
    fn push_synced_write(&mut self, offset: usize, bytes: Vec<u8>) {
        let end = offset + bytes.len();
        let cuts = |step: &Step| matches!(step.what, What::SetLen(len) if len < end);
        let needed = self.steps.iter().rposition(cuts).map_or(0, |last| last + 1);
        for step in &mut self.steps[..needed] {
            if matches!(step.what, What::SetLen(_)) {
                step.pending = None;
            }
        }
        self.push(What::Write(offset, bytes), None);
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
                step.what.apply(&mut expected);
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
        seen: &mut Seen,
    ) -> Result<(), String> {
        if image.len() > possible.len() {
            return Err(format!("{} bytes are more than ever were", image.len()));
        }
        seen.lengths_lost += usize::from(image.len() != self.visible.len());
        for (at, possible) in possible.iter().enumerate() {
            let (found, old) = (image.get(at).copied(), self.synced.get(at).copied());
            let is_explained = possible.holds(found) || (possible.any && found.is_some());
            if !is_explained {
                return Err(format!("byte {at} is {found:?}, which nothing explains"));
            }
            if found == old {
                seen.old_bytes += usize::from(possible.is_open);
            } else if possible.holds(found) {
                seen.new_bytes += 1;
            } else {
                seen.garbled_bytes += 1;
            }
        }
        Ok(())
    }

    /// What may be found at each position after a crash that picks at random.
    fn possible(&self, torn: bool) -> Vec<Possible> {
        let ends = self.steps.iter().map(|step| step.what.end());
        let longest = ends.chain([self.synced.len()]).max().unwrap_or(0);
        let mut all: Vec<_> =
            (0..longest).map(|at| Possible::only(self.synced.get(at).copied())).collect();
        for step in &self.steps {
            let is_pending = step.pending.is_some();
            let start = match &step.what {
                What::Write(offset, _) => *offset,
                What::SetLen(len) => *len,
            };
            for possible in &mut all[..start] {
                possible.grow(is_pending);
            }
            match &step.what {
                What::Write(_, bytes) => {
                    for (possible, byte) in all[start..].iter_mut().zip(bytes) {
                        possible.write(*byte, is_pending, torn);
                    }
                }
                What::SetLen(len) => {
                    for possible in &mut all[*len..] {
                        possible.put(None, is_pending);
                    }
                }
            }
        }
        all
    }
}

impl What {
    fn end(&self) -> usize {
        match self {
            What::Write(offset, bytes) => offset + bytes.len(),
            What::SetLen(len) => *len,
        }
    }

    fn apply(&self, image: &mut Vec<u8>) {
        match self {
            What::SetLen(len) => image.resize(*len, 0),
            What::Write(offset, bytes) => {
                image.resize(image.len().max(self.end()), 0);
                image[*offset..self.end()].copy_from_slice(bytes);
            }
        }
    }
}

/// What may be found at one position.
#[derive(Clone)]
struct Possible {
    /// One bit for each value.
    values: [u64; 4],
    /// Past the end.
    absent: bool,
    /// Garbled: any value.
    any: bool,
    /// Something pending touches it.
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

    /// A value is put in place of the others, or beside them if that is pending.
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

    /// The file now goes beyond this position: where there was nothing there are zeros.
    fn grow(&mut self, is_pending: bool) {
        if self.absent {
            self.add(Some(0));
            self.absent = is_pending;
        }
    }
}
