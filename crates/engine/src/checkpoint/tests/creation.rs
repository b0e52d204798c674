//! Creating a file, opening it, inspecting it.

use super::fixture::{DATABASE, check, checkpoint, made, path, refusal, simulated, small, work_of};
use crate::checkpoint::create::making_path;
use crate::checkpoint::{DataFile, FileOptions};
use crate::error::Error;
use std::path::Path;
use syncline_vfs::simulated::{Crash, Fault, FaultRule, Metadata};
use syncline_vfs::{Disk, OpenOptions, SimulatedDisk};

#[test]
fn a_file_is_opened_once_and_made_once() {
    let (disk, file) = made();
    let error = refusal(&disk);
    let is_locked = matches!(error, Error::Disk(syncline_vfs::Error::Locked { .. }));
    assert!(is_locked, "{error}");
    let again = DataFile::create(&disk, path(), DATABASE, 512, &small()).unwrap_err();
    assert!(matches!(again, Error::DataFileExists { .. }), "{again}");
    assert_eq!(disk.list(Path::new("")).unwrap(), [path().to_owned()]);
    drop(file);
    DataFile::open(&disk, path(), &small()).unwrap();
}

#[test]
fn an_interrupted_creation_leaves_nothing_or_a_whole_file() {
    let (mut nothing, mut whole) = (0, 0);
    for seed in 0..40 {
        for after in 0..12 {
            let disk = SimulatedDisk::new(seed, Metadata::Strict);
            disk.crash_after(after);
            let made = DataFile::create(&disk, path(), DATABASE, 512, &small());
            drop(made.and_then(|_| Ok(disk.sync_directory(Path::new(""))?)));
            let left = disk.crash(Crash::Torn { seed });
            match DataFile::open(&left, path(), &small()) {
                Ok(file) => {
                    check(&file, &[]);
                    whole += 1;
                }
                Err(Error::NoDataFile { .. }) => {
                    nothing += 1;
                    let made = DataFile::create(&left, path(), DATABASE, 512, &small());
                    check(&made.unwrap(), &[]);
                    let leftover = left.open(&making_path(path()), OpenOptions::READ);
                    assert!(leftover.is_err());
                }
                Err(error) => panic!("after {after}: {error}"),
            }
        }
    }
    assert!(nothing > 40 && whole > 40, "{nothing} and {whole}");
}

#[test]
fn a_creation_on_a_full_disk_leaves_nothing() {
    let disk = simulated();
    disk.arm(FaultRule::next(Fault::PreallocateFull, ""));
    let full = DataFile::create(&disk, path(), DATABASE, 512, &small()).unwrap_err();
    assert!(matches!(full, Error::Full { .. }), "{full}");
    assert!(disk.list(Path::new("")).unwrap().is_empty());
    DataFile::create(&disk, path(), DATABASE, 512, &small()).unwrap();
}

#[test]
fn inspecting_writes_nothing() {
    let (disk, mut file) = made();
    let work = work_of(&file, [1], 1);
    checkpoint(&mut file, work);
    drop(file);
    let before = disk.operations();
    let read_only = FileOptions { read_only: true, ..small() };
    let file = DataFile::open(&disk, path(), &read_only).unwrap();
    check(&file, &[(1, 1)]);
    let text = file.inspect().unwrap().to_string();
    assert_eq!(disk.operations(), before);
    for part in ["checkpoint 2 at csn 1", "pages 1 of 512 bytes", "map pages 1", "copy block 2"] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
}
