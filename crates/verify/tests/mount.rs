//! A real mount: calls that pass through, their recording, and the files that a power cut leaves.
//!
//! Needs root and /dev/fuse; without them each test prints a note and passes.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests fail as tests do, and print what is not tested"
)]

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::time::Duration;
use syncline_instrument::clock;
use syncline_verify::power::{
    ACKNOWLEDGEMENTS, Class, Fault, FaultRule, Loss, Metadata, Mount, Recording, Replay, Step,
};
use syncline_vfs::{
    Create, Disk, DurableWriter, File, OpenOptions, RealDisk, RealFile, SyncMethod,
};
use tempfile::TempDir;

/// A mount over a directory with one file, in temporary folders.
struct Scene {
    mount: Option<Mount>,
    folder: TempDir,
}

impl Scene {
    fn new() -> Option<Scene> {
        if let Some(why) = Mount::refusal() {
            println!("not tested here: {why}");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        for name in ["backing", "point", "copy"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("backing/old"), [9; 5000]).unwrap();
        let at = |name: &str| folder.path().join(name);
        let mount = Mount::new(&at("backing"), &at("point"), &at("copy"), class, 1 << 30).unwrap();
        Some(Scene { mount: Some(mount), folder })
    }

    fn mount(&self) -> &Mount {
        self.mount.as_ref().unwrap()
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.mount().point().join(name)
    }

    fn open(&self, name: &str) -> RealFile {
        let options = OpenOptions { create: Create::IfMissing, ..OpenOptions::READ_WRITE };
        RealDisk.open(&self.at(name), options).unwrap()
    }

    fn sync_root(&self) {
        RealDisk.sync_directory(self.mount().point()).unwrap();
    }

    fn acknowledge(&self, what: &[u8]) -> std::io::Result<()> {
        let path = self.at(ACKNOWLEDGEMENTS);
        fs::File::options().append(true).open(path)?.write_all(what)
    }

    /// Ends the mount and writes the image of a power loss to a new folder.
    fn lost(&mut self, loss: Loss) -> (Recording, TempDir) {
        let recording = self.mount.take().unwrap().end().unwrap();
        let left = image(&recording, recording.steps.len(), loss);
        (recording, left)
    }
}

fn class(path: &Path) -> Class {
    if path.ends_with("log") { Class::Log } else { Class::Data }
}

fn image(recording: &Recording, steps: usize, loss: Loss) -> TempDir {
    let mut replay = Replay::new(&recording.base, Metadata::Strict);
    for step in &recording.steps[..steps] {
        replay.step(step).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    replay.image(loss).unwrap().write_to(folder.path()).unwrap();
    folder
}

#[test]
fn a_trial_mount_reports_why_it_fails() {
    let folder = tempfile::tempdir().unwrap();
    if Mount::refusal().is_some() {
        assert_eq!(Mount::check_works(folder.path()), Mount::refusal());
        return;
    }
    assert_eq!(Mount::check_works(folder.path()), None);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing remains");
    let absent = folder.path().join("file");
    fs::write(&absent, "").unwrap();
    let why = Mount::check_works(&absent).unwrap();
    assert!(why.contains("cannot make"), "{why}");
}

#[test]
fn synced_data_survives_a_cut_and_the_rest_is_lost() {
    let Some(mut scene) = Scene::new() else {
        return;
    };
    let file = scene.open("log");
    file.write_at(&[1; 8192], 0).unwrap();
    file.sync_data().unwrap();
    scene.sync_root();
    scene.acknowledge(b"first").unwrap();
    file.write_at(&[2; 8192], 4096).unwrap();
    scene.open("old").write_at(&[8; 10], 100).unwrap();
    let mut visible = vec![0; 12_288];
    assert_eq!(file.read_at(&mut visible, 0).unwrap(), 12_288);
    assert_eq!((visible[0], visible[4096]), (1, 2));

    scene.mount().cut();
    assert!(file.write_at(&[3; 10], 0).is_err());
    assert!(file.sync_data().is_err());
    assert!(scene.acknowledge(b"second").is_err());
    drop(file);

    let (recording, left) = scene.lost(Loss::Drop);
    assert_eq!(fs::read(left.path().join("log")).unwrap(), vec![1; 8192]);
    assert_eq!(fs::read(left.path().join("old")).unwrap(), vec![9; 5000]);
    let acknowledged: Vec<_> = recording.acknowledged(recording.steps.len()).collect();
    assert_eq!(acknowledged, [b"first"]);
    let kept = image(&recording, recording.steps.len(), Loss::Keep);
    assert_eq!(fs::read(kept.path().join("log")).unwrap()[4096..], [2; 8192]);
    assert_eq!(fs::read(kept.path().join("old")).unwrap()[100..110], [8; 10]);
    drop(scene.folder);
}

/// Calls a function in another thread, and writes an acknowledgement while its sync is in flight.
fn acknowledged_during(scene: &Scene, call: impl FnOnce() + Send) {
    let pause = Duration::from_millis(400);
    scene.mount().arm(FaultRule { fault: Fault::SlowSync(pause), class: None, skip: 0, times: 1 });
    let before = clock::now();
    std::thread::scope(|scope| {
        let call = scope.spawn(call);
        while scene.mount().fault_counts().is_empty() {
            std::thread::yield_now();
        }
        scene.acknowledge(b"too early").unwrap();
        assert!(!call.is_finished(), "{}", clock::now() - before);
        call.join().unwrap();
    });
}

#[test]
fn data_acknowledged_before_its_sync_returns_is_lost_by_a_cut_there() {
    for method in [SyncMethod::Fdatasync, SyncMethod::DirectODsync] {
        let Some(mut scene) = Scene::new() else {
            return;
        };
        let old = scene.open("old");
        let mut writer = DurableWriter::open(&scene.at("old"), method).unwrap();
        let mut block = syncline_vfs::AlignedBuffer::zeroed(4096);
        block.fill(7);
        acknowledged_during(&scene, || writer.write(&block, 0).unwrap());
        drop((old, writer));
        let recording = scene.mount.take().unwrap().end().unwrap();
        let early = |step: &Step| matches!(step, Step::Acknowledged(_));
        let early = recording.steps.iter().position(early).unwrap();
        for (steps, first) in [(early + 1, 9), (recording.steps.len(), 7)] {
            let left = image(&recording, steps, Loss::Drop);
            let bytes = fs::read(left.path().join("old")).unwrap();
            assert_eq!(bytes[0], first, "{method:?}, {steps} steps");
        }
    }
}

#[test]
fn every_sync_method_makes_its_writes_stable() {
    let Some(mut scene) = Scene::new() else {
        return;
    };
    let methods = [
        SyncMethod::Fsync,
        SyncMethod::Fdatasync,
        SyncMethod::ODsync,
        SyncMethod::OSync,
        SyncMethod::DirectFdatasync,
        SyncMethod::DirectODsync,
        SyncMethod::UringLinked,
        SyncMethod::RwfDsync,
    ];
    let mut tried = Vec::new();
    for (index, method) in methods.into_iter().enumerate() {
        let name = format!("file{index}");
        drop(scene.open(&name));
        scene.sync_root();
        let Ok(mut writer) = DurableWriter::open(&scene.at(&name), method) else {
            continue;
        };
        let mut block = syncline_vfs::AlignedBuffer::zeroed(4096);
        block.fill(7);
        writer.write(&block, 4096).unwrap();
        tried.push((name, method));
    }
    assert!(tried.len() >= 6, "only {tried:?} could be opened");
    let (_, left) = scene.lost(Loss::Drop);
    for (name, method) in tried {
        let bytes = fs::read(left.path().join(&name)).unwrap();
        assert_eq!(bytes.len(), 8192, "{method:?}");
        assert_eq!(bytes[4096..], [7; 4096], "{method:?}");
    }
}

#[test]
fn names_are_lost_without_a_sync_of_their_directory() {
    let Some(mut scene) = Scene::new() else {
        return;
    };
    fs::create_dir(scene.at("d")).unwrap();
    fs::write(scene.at("d/a"), b"text").unwrap();
    fs::rename(scene.at("d/a"), scene.at("d/b")).unwrap();
    fs::hard_link(scene.at("d/b"), scene.at("c")).unwrap();
    std::os::unix::fs::symlink("c", scene.at("link")).unwrap();
    assert_eq!(fs::read(scene.at("link")).unwrap(), b"text");
    let refused = fs::remove_dir(scene.at("d")).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::DirectoryNotEmpty);
    // A file without a name exists as long as it is open.
    let mut open = fs::File::open(scene.at("c")).unwrap();
    fs::remove_file(scene.at("c")).unwrap();
    fs::remove_file(scene.at("d/b")).unwrap();
    let mut text = String::new();
    open.read_to_string(&mut text).unwrap();
    assert_eq!(text, "text");
    drop(open);
    fs::rename(scene.at("d"), scene.at("e")).unwrap();
    let names = fs::read_dir(scene.mount().point()).unwrap();
    let mut names: Vec<_> = names.map(|name| name.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["e", "link", "old"]);

    let (recording, left) = scene.lost(Loss::Drop);
    let names = fs::read_dir(left.path()).unwrap().count();
    assert_eq!(names, 1, "only the old file is stable");
    let kept = image(&recording, recording.steps.len(), Loss::Keep);
    assert!(kept.path().join("e").is_dir());
}

#[test]
fn faults_strike_only_their_class() {
    let Some(scene) = Scene::new() else { return };
    let rule = |fault, class| FaultRule { fault, class: Some(class), skip: 0, times: 1 };
    let (log, data) = (scene.open("log"), scene.open("data"));
    for fault in [Fault::WriteError, Fault::DiskFull] {
        scene.mount().arm(rule(fault, Class::Log));
        data.write_at(&[1; 100], 0).unwrap();
        let error = log.write_at(&[1; 100], 0).unwrap_err();
        assert_eq!(error.is_full(), fault == Fault::DiskFull, "{error}");
        log.write_at(&[1; 100], 0).unwrap();
    }
    scene.mount().arm(rule(Fault::SyncError, Class::Log));
    data.sync_data().unwrap();
    assert!(log.sync_data().is_err());
    log.sync_data().unwrap();
    let pause = Duration::from_millis(60);
    scene.mount().arm(rule(Fault::SlowSync(pause), Class::Data));
    let before = clock::now();
    data.sync_data().unwrap();
    assert!(clock::now() - before >= 60_000_000);
    scene.mount().arm(rule(Fault::FlippedBit, Class::Data));
    drop(data);
    // Opening the file again reads it again.
    assert!(fs::read(scene.at("data")).unwrap().iter().any(|byte| *byte != 1));
    let struck = scene.mount().fault_counts();
    assert_eq!(struck.values().sum::<u64>(), 5, "{struck:?}");
    assert_eq!(struck[&(Class::Log, "failed sync (EIO)")], 1);
    // No later sync covers what the failed sync should have covered.
    let mut scene = scene;
    drop(log);
    let (_, left) = scene.lost(Loss::Drop);
    assert!(!left.path().join("log").exists());
}

#[test]
fn a_full_recording_cuts_the_power() {
    if Mount::refusal().is_some() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for name in ["backing", "point", "copy"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let at = |name: &str| folder.path().join(name);
    let mount = Mount::new(&at("backing"), &at("point"), &at("copy"), class, 10_000).unwrap();
    let file = fs::File::create(at("point/file")).unwrap();
    let written = (0..10).filter(|_| (&file).write_all(&[1; 4096]).is_ok()).count();
    assert_eq!(written, 3);
    assert!(mount.is_off());
}

// A.E5
#[test]
fn other_users_are_subject_to_owners_and_modes() {
    let Some(scene) = Scene::new() else {
        return;
    };
    let set = |name: &str, mode: u32| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(scene.at(name), mode).unwrap();
    };
    // All users may enter the directories down to the mount.
    for path in [scene.folder.path().to_owned(), scene.at("")] {
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(path, open).unwrap();
    }
    for name in ["store.db", "store.db-wal", "secret"] {
        fs::write(scene.at(name), "mine").unwrap();
        set(name, 0o644);
    }
    set("secret", 0o600);
    let point = scene.mount().point().display().to_string();
    let other = |script: &str| {
        let status = std::process::Command::new("setpriv")
            .args([
                "--reuid=65534",
                "--regid=65534",
                "--clear-groups",
                "--",
                "sh",
                "-c",
                script,
                "sh",
            ])
            .arg(&point)
            .stderr(std::process::Stdio::null())
            .status();
        status.unwrap().success()
    };
    assert!(other("cat \"$1/store.db\" >/dev/null"), "a readable file can be read");
    for script in [
        "printf GARBAGE | dd of=\"$1/store.db\" conv=notrunc",
        "rm -f \"$1/store.db-wal\" && test ! -e \"$1/store.db-wal\"",
        "cp /bin/true \"$1/x\"",
        "cat \"$1/secret\"",
        "mv \"$1/store.db\" \"$1/y\"",
        "chmod 777 \"$1/store.db\"",
    ] {
        assert!(!other(script), "{script}");
    }
    assert_eq!(fs::read(scene.at("store.db")).unwrap(), b"mine");
    assert!(scene.at("store.db-wal").exists() && !scene.at("x").exists());
}
