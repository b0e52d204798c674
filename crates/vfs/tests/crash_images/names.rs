//! The possible targets of each name after a crash.
//!
//! Every file carries its own number as contents and is synced before any other operation on it, so only
//! names are uncertain. For strict names the model keeps the possibilities of each path since its directory
//! was synced; for a journal it keeps every state of all names since the last stable one.

use crate::mutated_disk::{MutatedDisk, Mutation};
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syncline_vfs::simulated::{Crash, Metadata};
use syncline_vfs::{Create, Disk, File, OpenOptions, SimulatedDisk};

const DIRECTORIES: [&str; 2] = ["a", "b"];
const NEW: OpenOptions = OpenOptions { create: Create::New, ..OpenOptions::READ_WRITE };

type Tree = BTreeMap<PathBuf, u8>;

struct Model {
    metadata: Metadata,
    /// All states of the names; with a journal the first of them is stable.
    states: Vec<Tree>,
    /// Which directories and which file each state but the first changed.
    changed: Vec<(BTreeSet<PathBuf>, u8)>,
    /// The possible targets of each path, since its directory was synced.
    possible: BTreeMap<PathBuf, Vec<Option<u8>>>,
}

#[test]
fn every_name_of_every_crash_image_is_explained() {
    for metadata in [Metadata::Strict, Metadata::OrderedJournal] {
        let mut images = BTreeSet::new();
        for seed in 0..300 {
            if let Err(reason) = run(Mutation::Nothing, metadata, seed, &mut images) {
                panic!("{metadata:?}, seed {seed}: {reason}");
            }
        }
        assert!(images.len() > 1000, "{metadata:?}: {} different images", images.len());
    }
}

#[test]
fn directory_syncs_that_do_nothing_are_detected() {
    for metadata in [Metadata::Strict, Metadata::OrderedJournal] {
        let mutation = Mutation::NoDirectorySync;
        let noticed =
            (0..100).filter(|&seed| run(mutation, metadata, seed, &mut BTreeSet::new()).is_err());
        assert!(noticed.count() > 50, "{metadata:?}");
    }
}

fn run(
    mutation: Mutation,
    metadata: Metadata,
    seed: u64,
    images: &mut BTreeSet<Tree>,
) -> Result<(), String> {
    let mut random = Rng::with_seed(seed);
    let simulated = SimulatedDisk::new(seed, metadata);
    for directory in DIRECTORIES {
        simulated.create_directory(Path::new(directory)).unwrap();
    }
    simulated.sync_directory(Path::new("")).unwrap();
    let disk = MutatedDisk { disk: simulated, mutation };
    let (states, changed) = (vec![Tree::new()], Vec::new());
    let mut model = Model { metadata, states, changed, possible: BTreeMap::new() };
    for number in 1..30 {
        step(&disk, &mut model, number, &mut random);
        for _ in 0..4 {
            let seed = random.u64(..);
            let crash =
                [Crash::Subset { seed }, Crash::Torn { seed }, Crash::DropAll, Crash::KeepAll]
                    [random.usize(..4)];
            let found = tree(&disk.disk.crash(crash));
            model
                .check(crash, &found)
                .map_err(|reason| format!("{crash:?} after step {number}: {reason}"))?;
            images.insert(found);
        }
    }
    Ok(())
}

fn random_path(random: &mut Rng) -> PathBuf {
    Path::new(DIRECTORIES[random.usize(..2)]).join(["x", "y", "z"][random.usize(..3)])
}

/// Applies one random operation to a name and to its model.
fn step(disk: &MutatedDisk, model: &mut Model, number: u8, random: &mut Rng) {
    let path = random_path(random);
    let current = model.current().get(&path).copied();
    match (random.u8(..6), current) {
        (0..3, None) => {
            let file = disk.open(&path, NEW).unwrap();
            file.write_at(&[number], 0).unwrap();
            model.push(number, &[(&path, Some(number))]);
            file.sync_data().unwrap();
            model.sync_file(number);
        }
        (0, Some(file)) => {
            disk.remove(&path).unwrap();
            model.push(file, &[(&path, None)]);
        }
        (1..4, Some(file)) => {
            let to = random_path(random);
            disk.rename(&path, &to).unwrap();
            if to != path {
                model.push(file, &[(&to, Some(file)), (&path, None)]);
            }
        }
        (4, _) => {
            let directory = path.parent().unwrap();
            disk.sync_directory(directory).unwrap();
            model.sync_directory(directory);
        }
        _ => {}
    }
    assert_eq!(&tree(&disk.disk), model.current(), "lists must show the newest names");
}

/// All names with the numbers of their files.
fn tree(disk: &SimulatedDisk) -> Tree {
    let mut tree = Tree::new();
    for directory in DIRECTORIES {
        for name in disk.list(Path::new(directory)).unwrap() {
            let path = Path::new(directory).join(name);
            let mut number = [0];
            disk.open(&path, OpenOptions::READ).unwrap().read_at(&mut number, 0).unwrap();
            tree.insert(path, number[0]);
        }
    }
    tree
}

impl Model {
    fn current(&self) -> &Tree {
        self.states.last().unwrap()
    }

    fn push(&mut self, file: u8, entries: &[(&PathBuf, Option<u8>)]) {
        let mut state = self.current().clone();
        let mut directories = BTreeSet::new();
        for &(path, leads) in entries {
            let before = state.get(path).copied();
            self.possible.entry(path.clone()).or_insert_with(|| vec![before]).push(leads);
            match leads {
                Some(number) => state.insert(path.clone(), number),
                None => state.remove(path),
            };
            directories.insert(path.parent().unwrap().to_owned());
        }
        self.states.push(state);
        self.changed.push((directories, file));
    }

    fn sync_directory(&mut self, directory: &Path) {
        self.possible.retain(|path, _| path.parent() != Some(directory));
        self.journal_until(|(directories, _)| directories.contains(directory));
    }

    fn sync_file(&mut self, file: u8) {
        self.journal_until(|(_, changed)| *changed == file);
    }

    /// In a journal, everything up to the last such change is stable.
    fn journal_until(&mut self, is_last: impl Fn(&(BTreeSet<PathBuf>, u8)) -> bool) {
        if self.metadata == Metadata::OrderedJournal
            && let Some(last) = self.changed.iter().rposition(is_last)
        {
            self.states.drain(..=last);
            self.changed.drain(..=last);
        }
    }

    fn check(&self, crash: Crash, found: &Tree) -> Result<(), String> {
        let is_possible = match (self.metadata, crash) {
            (_, Crash::KeepAll) => found == self.current(),
            (Metadata::OrderedJournal, Crash::DropAll) => *found == self.states[0],
            (Metadata::OrderedJournal, _) => self.states.contains(found),
            (Metadata::Strict, _) => self.each_is_possible(crash, found),
        };
        if is_possible { Ok(()) } else { Err(format!("no state explains {found:?}")) }
    }

    fn each_is_possible(&self, crash: Crash, found: &Tree) -> bool {
        let paths: BTreeSet<_> =
            found.keys().chain(self.current().keys()).chain(self.possible.keys()).collect();
        paths.into_iter().all(|path| {
            let leads = found.get(path).copied();
            match (self.possible.get(path), crash) {
                (None, _) => leads == self.current().get(path).copied(),
                (Some(possible), Crash::DropAll) => leads == possible[0],
                (Some(possible), _) => possible.contains(&leads),
            }
        })
    }
}
