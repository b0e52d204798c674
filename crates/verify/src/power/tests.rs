//! Images of random recordings, compared with the simulated disk and with the model of torn pages.
//!
//! The simulated disk of `syncline-vfs` was written for the engine and gives the same guarantees: what it
//! leaves when none or all of the unsynced changes survive must equal what a replay leaves, under both models
//! of names. Anything in between is checked by a simple rule: every sector of every file is as it was at some
//! moment since it was last stable.

use super::{Base, DirectoryEntry, Kind, Loss, Metadata, Node, Owner, Replay, Step};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use syncline_vfs::simulated::Crash;
use syncline_vfs::{Create, Disk, File, OpenOptions, SimulatedDisk};

const MODELS: [Metadata; 2] = [Metadata::Strict, Metadata::OrderedJournal];

const OWNER: Owner = Owner { mode: 0o644, user: 0, group: 0 };

/// Applies the same operations to a replay and to a simulated disk.
struct Both {
    replay: Replay,
    disk: SimulatedDisk,
    /// The nodes of the visible paths.
    nodes: BTreeMap<PathBuf, Node>,
    next: u64,
}

impl Both {
    fn new(model: Metadata) -> Both {
        Both {
            replay: Replay::new(&Base::default(), model),
            disk: SimulatedDisk::new(1, model),
            nodes: BTreeMap::from([(PathBuf::new(), Node::ROOT)]),
            next: 2,
        }
    }

    fn place(&self, path: &Path) -> DirectoryEntry {
        let parent = path.parent().expect("no test names the root");
        (self.nodes[parent], path.file_name().unwrap().to_owned())
    }

    fn step(&mut self, step: &Step) {
        self.replay.step(step).unwrap();
    }

    fn create(&mut self, path: &Path, kind: Kind) {
        let node = Node(self.next);
        self.next += 1;
        let place = self.place(path);
        match kind {
            Kind::Directory => self.disk.create_directory(path).unwrap(),
            _ => drop(self.open(path, Create::New)),
        }
        self.step(&Step::Create { node, place, kind, owner: OWNER });
        self.nodes.insert(path.to_owned(), node);
    }

    fn open(&self, path: &Path, create: Create) -> syncline_vfs::SimulatedFile {
        let options = OpenOptions { create, ..OpenOptions::READ_WRITE };
        self.disk.open(path, options).unwrap()
    }

    /// Performs one random operation on a small tree.
    fn random_step(&mut self, random: &mut fastrand::Rng) {
        let path = PathBuf::from(["a", "b", "d/a", "d/b", "e/a"][random.usize(0..5)]);
        let parent = path.parent().unwrap().to_owned();
        if !self.nodes.contains_key(&parent) {
            return self.create(&parent, Kind::Directory);
        }
        let Some(&node) = self.nodes.get(&path) else {
            return self.create(&path, Kind::File);
        };
        match random.u8(0..16) {
            0..=5 => {
                let (offset, len) = (random.usize(0..9000), random.usize(1..6000));
                let bytes: Vec<u8> = (0..len).map(|_| random.u8(..)).collect();
                let file = self.open(&path, Create::Never);
                file.write_at(&bytes, offset as u64).unwrap();
                self.step(&Step::Write { node, offset: offset as u64, bytes: bytes.into() });
            }
            6 | 7 => {
                let len = random.u64(0..12_000);
                self.open(&path, Create::Never).set_len(len).unwrap();
                self.step(&Step::SetLen(node, len));
            }
            8 | 9 => {
                self.open(&path, Create::Never).sync_all().unwrap();
                self.step(&Step::sync(node));
            }
            10 | 11 => {
                self.disk.sync_directory(&parent).unwrap();
                let (node, began) = (self.nodes[&parent], u64::MAX);
                self.step(&Step::SyncDirectory { node, began });
            }
            12 => {
                self.disk.remove(&path).unwrap();
                self.step(&Step::Remove(self.place(&path)));
                self.nodes.remove(&path);
            }
            _ => {
                let to = PathBuf::from(["a", "b", "d/a", "d/b", "e/b"][random.usize(0..5)]);
                let ready = self.nodes.contains_key(to.parent().unwrap());
                // A rename onto another name of the same file is skipped: it changes nothing.
                if !ready || to == path {
                    return;
                }
                self.disk.rename(&path, &to).unwrap();
                self.step(&Step::Rename(self.place(&path), self.place(&to)));
                self.nodes.remove(&path);
                self.nodes.insert(to, node);
            }
        }
    }
}

/// Collects every path of a simulated disk, with the bytes of files.
fn tree_of(disk: &SimulatedDisk, below: &Path, found: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
    for name in disk.list(below).unwrap() {
        let path = below.join(name);
        if disk.list(&path).is_ok() {
            found.insert(path.clone(), None);
            tree_of(disk, &path, found);
        } else {
            let file = disk.open(&path, OpenOptions::READ).unwrap();
            let mut bytes = vec![0; file.len().unwrap() as usize];
            file.read_at(&mut bytes, 0).unwrap();
            found.insert(path, Some(bytes));
        }
    }
}

#[test]
fn dropping_or_keeping_all_matches_the_simulated_disk() {
    for seed in 0..80 {
        let model = MODELS[seed as usize % 2];
        let (mut random, mut both) = (fastrand::Rng::with_seed(seed), Both::new(model));
        for _ in 0..60 {
            both.random_step(&mut random);
            for (loss, crash) in [(Loss::Drop, Crash::DropAll), (Loss::Keep, Crash::KeepAll)] {
                let mut expected = BTreeMap::new();
                tree_of(&both.disk.crash(crash), Path::new(""), &mut expected);
                let image = both.replay.image(loss).unwrap();
                let got: BTreeMap<_, _> = image
                    .paths()
                    .map(|path| {
                        let is_file = expected.get(path).is_none_or(Option::is_some);
                        let bytes = if is_file { image.bytes(path) } else { None };
                        (path.to_owned(), bytes)
                    })
                    .collect();
                assert_eq!(got, expected, "seed {seed}, {model:?}, {loss:?}");
            }
        }
    }
}

/// One file, with all its states since its last sync.
struct OneFile {
    replay: Replay,
    states: Vec<Vec<u8>>,
}

const FILE: Node = Node(2);

impl OneFile {
    fn new(model: Metadata) -> OneFile {
        let mut replay = Replay::new(&Base::default(), model);
        let place = (Node::ROOT, "file".into());
        let create = Step::Create { node: FILE, place, kind: Kind::File, owner: OWNER };
        replay.step(&create).unwrap();
        let (node, began) = (Node::ROOT, u64::MAX);
        replay.step(&Step::SyncDirectory { node, began }).unwrap();
        OneFile { replay, states: vec![Vec::new()] }
    }

    fn random_step(&mut self, random: &mut fastrand::Rng) {
        let mut state = self.states.last().unwrap().clone();
        match random.u8(0..8) {
            0 => {
                self.replay.step(&Step::sync(FILE)).unwrap();
                self.states = vec![state];
                return;
            }
            1 => {
                let len = random.usize(0..20_000);
                state.resize(len, 0);
                self.replay.step(&Step::SetLen(FILE, len as u64)).unwrap();
            }
            _ => {
                let (offset, len) = (random.usize(0..12_000), random.usize(1..9000));
                let bytes: Vec<u8> = (0..len).map(|_| random.u8(..)).collect();
                state.resize(state.len().max(offset + len), 0);
                state[offset..offset + len].copy_from_slice(&bytes);
                let write = Step::Write { node: FILE, offset: offset as u64, bytes: bytes.into() };
                self.replay.step(&write).unwrap();
            }
        }
        self.states.push(state);
    }

    fn image(&self, loss: Loss) -> Vec<u8> {
        let image = self.replay.image(loss).unwrap();
        image.bytes(Path::new("file")).unwrap()
    }
}

/// True if some state has these bytes at that place. Bytes beyond its end, or truncated since, read as zeros.
fn was_seen(states: &[Vec<u8>], at: usize, bytes: &[u8]) -> bool {
    let zeros = bytes.iter().rev().take_while(|byte| **byte == 0).count();
    let bytes = &bytes[..bytes.len() - zeros];
    let shows = |state: &Vec<u8>| state.get(at..at + bytes.len()) == Some(bytes);
    bytes.is_empty() || states.iter().any(shows)
}

#[test]
fn a_torn_file_shows_each_unit_at_some_moment() {
    let mut torn = 0;
    for seed in 0..600 {
        let model = MODELS[seed as usize % 2];
        let unit_bytes = [512, 4096][seed as usize / 2 % 2];
        let (mut random, mut file) = (fastrand::Rng::with_seed(seed), OneFile::new(model));
        for _ in 0..random.usize(1..12) {
            file.random_step(&mut random);
        }
        let image = file.image(Loss::Torn { seed, unit_bytes });
        for (index, unit) in image.chunks(unit_bytes as usize).enumerate() {
            let at = index * unit_bytes as usize;
            let seen = was_seen(&file.states, at, unit);
            assert!(seen, "seed {seed}: the unit at {at} matches no earlier state");
        }
        let lengths = file.states.iter().map(Vec::len);
        assert!(image.len() <= lengths.max().unwrap(), "seed {seed}");
        torn += usize::from(!file.states.contains(&image));
    }
    assert!(torn > 200, "only {torn} of 600 images mix moments");
}

#[test]
fn a_subset_shows_the_whole_file_at_some_moment() {
    let mut between = 0;
    for seed in 0..400 {
        let (mut random, mut file) = (fastrand::Rng::with_seed(seed), OneFile::new(MODELS[0]));
        for _ in 0..10 {
            file.random_step(&mut random);
        }
        let image = file.image(Loss::Subset { seed });
        assert!(file.states.contains(&image), "seed {seed}");
        let ends = [file.states.first(), file.states.last()];
        between += usize::from(!ends.contains(&Some(&image)));
    }
    assert!(between > 100, "only {between} of 400 lie between drop and keep");
}

#[test]
fn the_seed_determines_the_image() {
    let (mut random, mut file) = (fastrand::Rng::with_seed(7), OneFile::new(MODELS[0]));
    while file.states.len() < 8 {
        file.random_step(&mut random);
    }
    let torn = |seed| file.image(Loss::Torn { seed, unit_bytes: 512 });
    assert_eq!(torn(1), torn(1));
    assert!((2..12).any(|seed| torn(seed) != torn(1)));
}

#[test]
fn changes_with_a_failed_sync_are_not_covered_by_later_syncs() {
    let mut file = OneFile::new(MODELS[0]);
    let write =
        |offset, byte: u8| Step::Write { node: FILE, offset, bytes: vec![byte; 1000].into() };
    for step in [
        write(0, 1),
        Step::sync(FILE),
        write(0, 2),
        Step::SyncFailed(FILE),
        write(4096, 3),
        Step::sync(FILE),
    ] {
        file.replay.step(&step).unwrap();
    }
    let dropped = file.image(Loss::Drop);
    assert_eq!((dropped[0], dropped[4096]), (1, 3));
    let kept = file.image(Loss::Keep);
    assert_eq!((kept[0], kept[4096]), (2, 3));
    // Written and synced again, it is stable.
    for step in [write(0, 4), Step::sync(FILE)] {
        file.replay.step(&step).unwrap();
    }
    assert_eq!(file.image(Loss::Drop)[0], 4);
    assert_eq!(file.image(Loss::Keep)[0], 4);
}

#[test]
fn a_synced_write_makes_only_its_own_bytes_stable() {
    let mut file = OneFile::new(MODELS[0]);
    for step in [
        page(0, 1),
        page(8192, 1),
        Step::sync(FILE),
        page(0, 2),
        page(8192, 2),
        synced_page(7),
        page(8192, 3),
    ] {
        file.replay.step(&step).unwrap();
    }
    let dropped = file.image(Loss::Drop);
    assert_eq!((dropped[0], dropped[8192]), (1, 2));
    let kept = file.image(Loss::Keep);
    assert_eq!((kept[0], kept[8192]), (2, 3));
}

/// Writes a page filled with one byte; a [`OneFile`] has recorded two steps before.
fn page(offset: u64, byte: u8) -> Step {
    Step::Write { node: FILE, offset, bytes: vec![byte; 4096].into() }
}

/// Records that the synced write of step `write` has returned.
fn synced_page(write: u64) -> Step {
    Step::SyncWritten { node: FILE, write }
}

#[test]
fn a_sync_does_not_cover_writes_made_while_it_runs() {
    for model in MODELS {
        let mut file = OneFile::new(model);
        let (node, began) = (FILE, 4);
        let (third, fourth) = (page(0, 1), page(4096, 1));
        let meanwhile = [page(0, 2), page(8192, 2)];
        let answers = Step::Sync { node, began };
        for step in [third, fourth].into_iter().chain(meanwhile).chain([answers]) {
            file.replay.step(&step).unwrap();
        }
        let dropped = file.image(Loss::Drop);
        assert_eq!((dropped[0], dropped[4096], dropped.len()), (1, 1, 8192));
        let kept = file.image(Loss::Keep);
        assert_eq!((kept[0], kept[4096], kept[8192]), (2, 1, 2));
        file.replay.step(&Step::sync(FILE)).unwrap();
        assert_eq!(file.image(Loss::Drop), kept);
    }
}

#[test]
fn a_directory_sync_does_not_cover_names_made_while_it_runs() {
    let given = |number: u64, name: &str| Step::Create {
        node: Node(number),
        place: (Node::ROOT, name.into()),
        kind: Kind::File,
        owner: OWNER,
    };
    for model in MODELS {
        let mut replay = Replay::new(&Base::default(), model);
        let (node, began) = (Node::ROOT, 1);
        let answers = Step::SyncDirectory { node, began };
        for step in [given(2, "before"), given(3, "meanwhile"), answers] {
            replay.step(&step).unwrap();
        }
        let dropped = replay.image(Loss::Drop).unwrap();
        assert!(dropped.bytes(Path::new("before")).is_some());
        assert!(dropped.bytes(Path::new("meanwhile")).is_none());
        assert_eq!(replay.pending(), 1);
    }
}

#[test]
fn the_later_of_two_synced_writes_survives_in_any_order_of_completion() {
    let (first, second) = (3, 4);
    for answers in [[first, second], [second, first]] {
        let mut file = OneFile::new(MODELS[0]);
        let writes = [page(0, 1), page(0, 2)];
        for step in writes.into_iter().chain(answers.map(synced_page)) {
            file.replay.step(&step).unwrap();
        }
        for loss in [Loss::Drop, Loss::Keep] {
            assert_eq!(file.image(loss)[0], 2, "{answers:?}");
        }
    }
}

#[test]
fn only_the_strict_model_lets_a_length_survive_without_its_bytes() {
    let length_alone = |model| {
        (0..200).any(|seed| {
            let mut file = OneFile::new(model);
            let write = Step::Write { node: FILE, offset: 0, bytes: vec![7; 16_384].into() };
            file.replay.step(&write).unwrap();
            let image = file.image(Loss::Torn { seed, unit_bytes: 4096 });
            image.ends_with(&[0])
        })
    };
    assert!(length_alone(Metadata::Strict));
    assert!(!length_alone(Metadata::OrderedJournal));
}

#[test]
fn an_image_is_written_with_its_names_modes_and_bytes() {
    let from = tempfile::tempdir().unwrap();
    std::fs::create_dir(from.path().join("d")).unwrap();
    std::fs::write(from.path().join("d/old"), vec![5; 10_000]).unwrap();
    std::os::unix::fs::symlink("d/old", from.path().join("link")).unwrap();
    let base = Base::read(from.path()).unwrap();
    let mut replay = Replay::new(&base, Metadata::Strict);
    let old = base.nodes.iter().find(|node| node.path.ends_with("old"));
    let old = old.unwrap().node;
    for step in [
        Step::Write { node: old, offset: 4090, bytes: vec![6; 20].into() },
        Step::SetLen(old, 9000),
        Step::Link(old, (Node::ROOT, "second".into())),
        Step::Own(old, Owner { mode: 0o600, ..base.nodes[0].owner }),
    ] {
        replay.step(&step).unwrap();
    }
    let to = tempfile::tempdir().unwrap();
    replay.image(Loss::Keep).unwrap().write_to(to.path()).unwrap();
    let mut expected = vec![5; 9000];
    expected[4090..4110].fill(6);
    assert_eq!(std::fs::read(to.path().join("link")).unwrap(), expected);
    assert_eq!(std::fs::read(to.path().join("second")).unwrap(), expected);
    let mode = std::fs::metadata(to.path().join("second")).unwrap().permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o7777, 0o600);
    let to = tempfile::tempdir().unwrap();
    replay.image(Loss::Drop).unwrap().write_to(to.path()).unwrap();
    assert_eq!(std::fs::read(to.path().join("d/old")).unwrap(), vec![5; 10_000]);
    assert!(!to.path().join("second").exists());
}
