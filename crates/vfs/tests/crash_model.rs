//! What a simulated crash may lose and what it may not: a test for each rule of the simulated disk.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::collections::BTreeSet;
use std::path::Path;
use syncline_vfs::simulated::{Crash, Metadata};
use syncline_vfs::{
    AlignedBuffer, Create, Disk, Error, File, OpenOptions, SimulatedDisk, SimulatedFile, WriteSync,
};

const BOTH: [Metadata; 2] = [Metadata::Strict, Metadata::OrderedJournal];
const NEW: OpenOptions = OpenOptions { create: Create::New, ..OpenOptions::READ_WRITE };
const SYNCED: OpenOptions = OpenOptions { write_sync: WriteSync::Data, ..OpenOptions::READ_WRITE };

/// A disk with an empty file `f` whose name is stable.
fn with_file(metadata: Metadata) -> (SimulatedDisk, SimulatedFile) {
    let disk = SimulatedDisk::new(1, metadata);
    let file = disk.open(Path::new("f"), NEW).unwrap();
    disk.sync_directory(Path::new("/")).unwrap();
    assert_eq!(disk.pending(), 0);
    (disk, file)
}

/// The contents of the file at a path; none if there is no file.
fn read(disk: &SimulatedDisk, path: &str) -> Option<Vec<u8>> {
    let file = disk.open(Path::new(path), OpenOptions::READ).ok()?;
    let mut bytes = vec![0; file.len().unwrap() as usize];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), bytes.len());
    Some(bytes)
}

fn after(disk: &SimulatedDisk, crash: Crash, path: &str) -> Option<Vec<u8>> {
    read(&disk.crash(crash), path)
}

/// The possible contents of a path after random crashes.
fn outcomes(disk: &SimulatedDisk, path: &str) -> BTreeSet<Option<Vec<u8>>> {
    (0..200).map(|seed| after(disk, Crash::Subset { seed }, path)).collect()
}

#[test]
fn closing_makes_nothing_stable() {
    for metadata in BOTH {
        let (disk, file) = with_file(metadata);
        file.write_at(b"abc", 0).unwrap();
        drop(file);
        assert_eq!(disk.pending(), 1);
        assert_eq!(after(&disk, Crash::DropAll, "f").unwrap(), b"");
        assert_eq!(after(&disk, Crash::KeepAll, "f").unwrap(), b"abc");
        assert_eq!(read(&disk, "f").unwrap(), b"abc");
    }
}

#[test]
fn both_syncs_make_bytes_and_length_of_all_handles_stable() {
    for metadata in BOTH {
        let (disk, file) = with_file(metadata);
        file.write_at(b"abc", 0).unwrap();
        let other = disk.open(Path::new("f"), OpenOptions::READ).unwrap();
        other.sync_data().unwrap();
        assert_eq!(after(&disk, Crash::DropAll, "f").unwrap(), b"abc");
        file.preallocate(1000).unwrap();
        file.set_len(900).unwrap();
        file.sync_all().unwrap();
        assert_eq!(disk.pending(), 0);
        assert_eq!(after(&disk, Crash::DropAll, "f").unwrap().len(), 900);
    }
}

#[test]
fn a_sync_does_not_reach_other_files() {
    let (disk, file) = with_file(Metadata::OrderedJournal);
    let other = disk.open(Path::new("g"), NEW).unwrap();
    disk.sync_directory(Path::new("")).unwrap();
    file.write_at(b"abc", 0).unwrap();
    other.write_at(b"xyz", 0).unwrap();
    other.sync_all().unwrap();
    let image = disk.crash(Crash::DropAll);
    assert_eq!((read(&image, "f").unwrap(), read(&image, "g").unwrap()), (vec![], b"xyz".to_vec()));
}

#[test]
fn a_synced_write_is_stable_at_once_and_alone() {
    for metadata in BOTH {
        let (disk, file) = with_file(metadata);
        file.write_at(b"aaaaaa", 0).unwrap();
        let synced = disk.open(Path::new("f"), SYNCED).unwrap();
        synced.write_at(b"BB", 2).unwrap();
        assert_eq!(disk.pending(), 1);
        assert_eq!(after(&disk, Crash::DropAll, "f").unwrap(), b"\0\0BB");
        // The older write must not come back over the newer one.
        assert_eq!(after(&disk, Crash::KeepAll, "f").unwrap(), b"aaBBaa");
        assert_eq!(after(&disk, Crash::Only(0), "f").unwrap(), b"aaBBaa");
        file.sync_data().unwrap();
        assert_eq!(after(&disk, Crash::DropAll, "f").unwrap(), b"aaBBaa");
    }
}

#[test]
fn a_synced_write_includes_an_earlier_truncation_but_not_a_later_growth() {
    let (disk, file) = with_file(Metadata::Strict);
    file.write_at(b"aaaaaa", 0).unwrap();
    file.sync_data().unwrap();
    file.set_len(1).unwrap();
    file.set_len(100).unwrap();
    let synced = disk.open(Path::new("f"), SYNCED).unwrap();
    synced.write_at(b"BB", 2).unwrap();
    assert_eq!(after(&disk, Crash::DropAll, "f").unwrap(), b"a\0BB");
    assert_eq!(after(&disk, Crash::KeepAll, "f").unwrap().len(), 100);
}

#[test]
fn a_truncation_is_pending_until_synced_and_truncated_bytes_do_not_return() {
    let (disk, file) = with_file(Metadata::Strict);
    file.write_at(b"abcdef", 0).unwrap();
    file.sync_data().unwrap();
    file.set_len(2).unwrap();
    assert_eq!(
        outcomes(&disk, "f"),
        BTreeSet::from([Some(b"ab".to_vec()), Some(b"abcdef".to_vec())])
    );
    file.set_len(4).unwrap();
    file.sync_data().unwrap();
    assert_eq!(after(&disk, Crash::DropAll, "f").unwrap(), b"ab\0\0");
}

#[test]
fn a_strict_name_needs_its_directory_synced() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let file = disk.open(Path::new("f"), NEW).unwrap();
    file.write_at(b"abc", 0).unwrap();
    file.sync_all().unwrap();
    assert_eq!(after(&disk, Crash::DropAll, "f"), None);
    disk.sync_directory(Path::new("/")).unwrap();
    assert_eq!(after(&disk, Crash::DropAll, "f").unwrap(), b"abc");
}

#[test]
fn a_journal_keeps_the_name_of_a_synced_file_and_the_names_before_it() {
    let disk = SimulatedDisk::new(1, Metadata::OrderedJournal);
    for name in ["first", "second", "third"] {
        disk.open(Path::new(name), NEW).unwrap();
    }
    disk.open(Path::new("second"), OpenOptions::READ_WRITE).unwrap().sync_data().unwrap();
    let image = disk.crash(Crash::DropAll);
    assert_eq!(image.list(Path::new("/")).unwrap(), [Path::new("first"), Path::new("second")]);
    let synced = disk.open(Path::new("fourth"), OpenOptions { create: Create::New, ..SYNCED });
    synced.unwrap().write_at(b"x", 0).unwrap();
    assert_eq!(disk.crash(Crash::DropAll).list(Path::new("/")).unwrap().len(), 4);
}

#[test]
fn a_lost_directory_takes_its_files_with_it() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    disk.create_directory(Path::new("d")).unwrap();
    let file = disk.open(Path::new("d/f"), NEW).unwrap();
    file.write_at(b"abc", 0).unwrap();
    file.sync_all().unwrap();
    disk.sync_directory(Path::new("d")).unwrap();
    assert_eq!(after(&disk, Crash::DropAll, "d/f"), None);
    assert!(disk.crash(Crash::DropAll).list(Path::new("")).unwrap().is_empty());
    disk.sync_directory(Path::new("")).unwrap();
    assert_eq!(after(&disk, Crash::DropAll, "d/f").unwrap(), b"abc");
}

#[test]
fn a_replacing_rename_leaves_the_old_or_the_new_file_never_none() {
    for metadata in BOTH {
        let (disk, file) = with_file(metadata);
        file.write_at(b"old", 0).unwrap();
        file.sync_all().unwrap();
        let new = disk.open(Path::new("f.new"), NEW).unwrap();
        new.write_at(b"new", 0).unwrap();
        new.sync_all().unwrap();
        disk.rename(Path::new("f.new"), Path::new("f")).unwrap();
        let found = outcomes(&disk, "f");
        assert_eq!(found, BTreeSet::from([Some(b"old".to_vec()), Some(b"new".to_vec())]));
        disk.sync_directory(Path::new("/")).unwrap();
        assert_eq!(outcomes(&disk, "f"), BTreeSet::from([Some(b"new".to_vec())]));
        assert_eq!(outcomes(&disk, "f.new"), BTreeSet::from([None]));
    }
}

#[test]
fn a_rename_within_a_directory_is_one_step() {
    for metadata in BOTH {
        let (disk, _file) = with_file(metadata);
        disk.rename(Path::new("f"), Path::new("g")).unwrap();
        let found: BTreeSet<_> = (0..50)
            .map(|seed| disk.crash(Crash::Subset { seed }).list(Path::new("")).unwrap())
            .collect();
        assert_eq!(found, BTreeSet::from([vec!["f".into()], vec!["g".into()]]));
    }
}

#[test]
fn a_rename_without_a_sync_of_its_file_may_leave_it_empty() {
    for metadata in BOTH {
        let (disk, file) = with_file(metadata);
        file.write_at(b"old", 0).unwrap();
        file.sync_all().unwrap();
        disk.open(Path::new("f.new"), NEW).unwrap().write_at(b"new", 0).unwrap();
        disk.rename(Path::new("f.new"), Path::new("f")).unwrap();
        disk.sync_directory(Path::new("/")).unwrap();
        let found = outcomes(&disk, "f");
        assert_eq!(found, BTreeSet::from([Some(b"new".to_vec()), Some(vec![])]));
    }
}

#[test]
fn a_rename_between_directories_is_one_step_only_in_a_journal() {
    for (metadata, steps) in [(Metadata::Strict, 4), (Metadata::OrderedJournal, 2)] {
        let (disk, file) = with_file(metadata);
        file.write_at(b"abc", 0).unwrap();
        file.sync_all().unwrap();
        disk.create_directory(Path::new("d")).unwrap();
        disk.sync_directory(Path::new("")).unwrap();
        disk.rename(Path::new("f"), Path::new("d/f")).unwrap();
        let found: BTreeSet<_> = (0..200)
            .map(|seed| disk.crash(Crash::Subset { seed }))
            .map(|image| (read(&image, "f").is_some(), read(&image, "d/f").is_some()))
            .collect();
        assert_eq!(found.len(), steps, "{metadata:?}: {found:?}");
        disk.sync_directory(Path::new("d")).unwrap();
        assert_eq!(after(&disk, Crash::DropAll, "d/f").unwrap(), b"abc");
        disk.sync_directory(Path::new("")).unwrap();
        assert_eq!(after(&disk, Crash::DropAll, "f"), None);
    }
}

#[test]
fn a_removal_that_was_lost_brings_the_file_back() {
    for metadata in BOTH {
        let (disk, file) = with_file(metadata);
        file.write_at(b"abc", 0).unwrap();
        file.sync_all().unwrap();
        disk.remove(Path::new("f")).unwrap();
        drop(file);
        drop(disk.open(Path::new("f"), NEW).unwrap());
        assert_eq!(after(&disk, Crash::DropAll, "f").unwrap(), b"abc");
        assert_eq!(after(&disk, Crash::KeepAll, "f").unwrap(), b"");
        // The removal alone; the creation alone would be the new file.
        assert_eq!(after(&disk, Crash::Only(0), "f"), None);
        disk.sync_directory(Path::new("")).unwrap();
        assert_eq!(after(&disk, Crash::DropAll, "f").unwrap(), b"");
    }
}

#[test]
fn each_pending_change_can_survive_alone() {
    let (disk, file) = with_file(Metadata::Strict);
    file.write_at(&[0; 3], 0).unwrap();
    file.sync_data().unwrap();
    for at in 0..3_u64 {
        file.write_at(&[at as u8 + 1], at).unwrap();
    }
    assert_eq!(disk.pending(), 3);
    let alone: Vec<_> =
        (0..3).map(|index| after(&disk, Crash::Only(index), "f").unwrap()).collect();
    assert_eq!(alone, [[1, 0, 0], [0, 2, 0], [0, 0, 3]]);
    assert_eq!(outcomes(&disk, "f").len(), 8);
}

#[test]
fn a_torn_overwrite_keeps_loses_or_garbles_each_sector_and_no_other_byte() {
    let (disk, file) = with_file(Metadata::Strict);
    file.write_at(&[1; 4096], 0).unwrap();
    file.sync_data().unwrap();
    // From the middle of sector 1 to the middle of sector 4.
    file.write_at(&[2; 1536], 768).unwrap();
    let (mut kinds, mut mixed) = (BTreeSet::new(), 0);
    for seed in 0..300 {
        let image = after(&disk, Crash::Torn { seed }, "f").unwrap();
        assert_eq!(image.len(), 4096);
        assert!(image[..768] == [1; 768] && image[2304..] == [1; 1792]);
        let pieces = [768..1024, 1024..1536, 1536..2048, 2048..2304];
        let kind_of = |piece: &[u8]| match piece {
            piece if piece.iter().all(|&byte| byte == 1) => "lost",
            piece if piece.iter().all(|&byte| byte == 2) => "kept",
            _ => "garbled",
        };
        let found: BTreeSet<_> = pieces.map(|piece| kind_of(&image[piece])).into();
        mixed += usize::from(found.len() > 1);
        kinds.extend(found);
    }
    assert_eq!(kinds, BTreeSet::from(["garbled", "kept", "lost"]));
    assert!(mixed > 50, "{mixed}");
}

#[test]
fn a_torn_append_may_come_without_its_length_or_as_zeros() {
    let (disk, file) = with_file(Metadata::Strict);
    file.write_at(&[1; 512], 0).unwrap();
    file.sync_data().unwrap();
    // Half a sector over the old end, and eight sectors, too many to be all lost by chance.
    file.write_at(&[2; 256 + 4096], 256).unwrap();
    let mut found = BTreeSet::new();
    for seed in 0..300 {
        let image = after(&disk, Crash::Torn { seed }, "f").unwrap();
        assert!(image[..256] == [1; 256]);
        let (over, grown) = image[256..].split_at(256);
        found.insert(match (over[0], grown) {
            (1, []) => "lost",
            (2, []) => "bytes without length",
            (2, grown) if grown == [2; 4096] => "whole",
            (1, grown) if grown == [0; 4096] => "length without bytes",
            (_, grown) if grown.len() == 4096 => "torn",
            (_, []) => "garbled, without length",
            (_, grown) => panic!("{} bytes", grown.len()),
        });
    }
    assert_eq!(found.len(), 6, "{found:?}");
}

#[test]
fn an_image_follows_from_its_seed_and_is_a_disk_of_its_own() {
    let (disk, file) = with_file(Metadata::Strict);
    file.try_lock().unwrap();
    for at in 0..20 {
        file.write_at(&[at as u8; 700], at * 350).unwrap();
    }
    for seed in 0..20 {
        let how = Crash::Torn { seed };
        assert!(after(&disk, how, "f") == after(&disk, how, "f"));
    }
    let image = disk.crash(Crash::KeepAll);
    assert_eq!((image.pending(), image.operations()), (0, 0));
    let survivor = image.open(Path::new("f"), OpenOptions::READ_WRITE).unwrap();
    survivor.try_lock().unwrap();
    survivor.write_at(b"image", 0).unwrap();
    assert_eq!(disk.pending(), 20);
    assert_eq!(&read(&disk, "f").unwrap()[..5], [0; 5]);
    file.write_at(b"first", 0).unwrap();
    assert_eq!(&read(&image, "f").unwrap()[..5], b"image");
}

#[test]
fn the_power_fails_during_one_operation_and_stays_off() {
    // A power loss during each of: create, write, sync, synced write, rename, directory sync.
    let run = |disk: &SimulatedDisk| -> Result<(), Error> {
        let file = disk.open(Path::new("f"), NEW)?;
        file.write_at(b"abc", 0)?;
        file.sync_data()?;
        disk.open(Path::new("f"), SYNCED)?.write_at(b"X", 1)?;
        disk.rename(Path::new("f"), Path::new("g"))?;
        disk.sync_directory(Path::new("/"))
    };
    let whole = SimulatedDisk::new(1, Metadata::Strict);
    run(&whole).unwrap();
    assert_eq!(whole.operations(), 6);
    for cut in 0..6 {
        let disk = SimulatedDisk::new(1, Metadata::Strict);
        disk.crash_after(cut);
        let error = run(&disk).unwrap_err();
        assert!(error.to_string().contains("the power is off"), "{error}");
        // The interrupted operation counts, the refused ones do not, and reads are refused too.
        assert_eq!(disk.operations(), cut + 1);
        assert!(disk.list(Path::new("/")).is_err());
        assert!(disk.open(Path::new("f"), OpenOptions::READ_WRITE).is_err());
        assert_eq!(disk.operations(), cut + 1);
        // The change of the interrupted operation may have reached the disk; its sync may not.
        let (dropped, kept) = (disk.crash(Crash::DropAll), disk.crash(Crash::KeepAll));
        assert!(dropped.list(Path::new("/")).unwrap().is_empty());
        let expected = [&b""[..], b"abc", b"abc", b"aXc", b"aXc", b"aXc"][cut as usize];
        assert_eq!(read(&kept, if cut < 4 { "f" } else { "g" }).unwrap(), expected);
    }
}

#[test]
fn an_interrupted_sync_makes_nothing_stable() {
    for metadata in BOTH {
        for operation in ["sync", "synced write", "directory sync"] {
            let disk = SimulatedDisk::new(1, metadata);
            let file = disk.open(Path::new("f"), NEW).unwrap();
            let synced = disk.open(Path::new("f"), SYNCED).unwrap();
            file.write_at(b"abc", 0).unwrap();
            disk.crash_after(0);
            let result = match operation {
                "sync" => file.sync_all(),
                "synced write" => synced.write_at(b"X", 1),
                _ => disk.sync_directory(Path::new("")),
            };
            result.unwrap_err();
            assert_eq!(after(&disk, Crash::DropAll, "f"), None, "{operation}");
            assert_eq!(after(&disk, Crash::Only(0), "f").unwrap(), b"", "{operation}");
        }
        let (disk, file) = with_file(metadata);
        file.write_at(b"abc", 0).unwrap();
        disk.crash_after(0);
        file.sync_data().unwrap_err();
        assert_eq!(after(&disk, Crash::DropAll, "f").unwrap(), b"");
        assert_eq!(after(&disk, Crash::KeepAll, "f").unwrap(), b"abc");
    }
}

#[test]
fn an_interrupted_synced_write_may_be_torn() {
    let (disk, file) = with_file(Metadata::Strict);
    file.write_at(&[1; 1024], 0).unwrap();
    file.sync_data().unwrap();
    let synced = disk.open(Path::new("f"), SYNCED).unwrap();
    disk.crash_after(0);
    synced.write_at(&[2; 1024], 0).unwrap_err();
    let images: BTreeSet<_> =
        (0..100).map(|seed| after(&disk, Crash::Torn { seed }, "f").unwrap()).collect();
    assert!(images.contains(&vec![1; 1024]) && images.contains(&vec![2; 1024]));
    assert!(images.len() > 4);
}

#[test]
fn direct_files_refuse_unaligned_accesses() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let direct = OpenOptions { direct: true, ..OpenOptions::READ_WRITE };
    let file = disk.open(Path::new("f"), direct).unwrap();
    let mut buffer = AlignedBuffer::zeroed(4096);
    file.write_at(&buffer, 512).unwrap();
    for error in [
        file.write_at(&buffer[..100], 0),
        file.write_at(&buffer, 100),
        file.write_at(&buffer[100..612], 0),
        file.read_at(&mut buffer[..100], 0).map(drop),
        file.preallocate(10_000),
    ] {
        assert_eq!(error.unwrap_err().kind(), Some(std::io::ErrorKind::InvalidInput));
    }
    assert_eq!(disk.pending(), 2);
}
