//! Bytes that change on the disk spontaneously: anything the root names must be refused, never accepted.

use super::harness::{Harness, path};
use super::model::State;
use crate::checkpoint::root::{ROOT_BYTES, block_offset};
use crate::checkpoint::{DataFile, FileOptions};
use crate::error::Error;
use std::ops::Range;
use syncline_vfs::{Disk, File, OpenOptions, SimulatedDisk};

/// Corrupts the root or something that it names, and opens the file.
pub(super) fn corrupt(harness: &mut Harness, disk: &SimulatedDisk) -> Result<(), String> {
    let mut quiet = harness.on(disk.clone());
    let file = quiet.open().map_err(|failure| failure.to_string())?;
    let state = quiet.model.candidates[0].clone();
    let (single, all) = named(&file);
    let home = file.root().home;
    drop(file);
    if all.is_empty() || harness.random.u8(0..3) == 0 {
        let offset = block_offset(home) + harness.random.u64(0..ROOT_BYTES as u64);
        flip(disk, offset, harness.random.u8(0..8))?;
        return check_corrupted_root(&quiet, disk, &state);
    }
    let victim = all[harness.random.usize(0..all.len())].clone();
    let donor = all[harness.random.usize(0..all.len())].clone();
    // A part of the directory may hold the same bytes as another one.
    let bytes = (victim.end - victim.start).min(donor.end - donor.start);
    let are_apart = donor != victim && single.contains(&victim) && single.contains(&donor);
    if are_apart && harness.random.bool() {
        copy(disk, donor.start, victim.start, bytes)?;
    } else {
        let offset = harness.random.u64(victim.clone());
        flip(disk, offset, harness.random.u8(0..8))?;
    }
    match load(disk, &quiet.options) {
        Err(Error::Damaged { .. }) => Ok(()),
        Err(error) => Err(format!("damage was refused with another error: {error}")),
        Ok(_) => Err(format!("bytes {victim:?} were corrupted and accepted")),
    }
}

/// With its newest root corrupted the file still holds the same state through the copy, or the previous state
/// intact, or is refused.
fn check_corrupted_root(
    quiet: &Harness,
    disk: &SimulatedDisk,
    state: &State,
) -> Result<(), String> {
    let file = match load(disk, &quiet.options) {
        Err(Error::Damaged { .. }) => return Ok(()),
        Err(error) => {
            return Err(format!("a corrupted root was refused with another error: {error}"));
        }
        Ok(file) => file,
    };
    let previous = quiet.model.previous.iter();
    let mut allowed = previous.chain([state]);
    let found = allowed.find(|state| state.number == file.root().number);
    match found {
        Some(found) => found.check(&file, false).map_err(|failure| failure.to_string()),
        None => Err(format!("root {} was opened", file.root().number)),
    }
}

fn load(disk: &SimulatedDisk, options: &FileOptions) -> Result<DataFile<SimulatedDisk>, Error> {
    let file = DataFile::open(disk, path(), options)?;
    file.load(&mut |_, _| Ok(()))?;
    Ok(file)
}

/// The positions of images of pages and map pages, and of everything that the root names.
fn named(file: &DataFile<SimulatedDisk>) -> (Vec<Range<u64>>, Vec<Range<u64>>) {
    let of_map = file.map_pages.iter().filter(|entry| !entry.is_absent());
    let of_pages = file.map.pages(file.root().next_page).map(|(_, entry)| entry);
    let entries = of_map.copied().chain(of_pages);
    let single: Vec<_> = entries.map(|entry| entry.offset..entry.end()).collect();
    let directory = file.root().directory;
    let from = file.offset(directory.slot);
    let of_directory = from..from + directory.bytes();
    let of_directory = Some(of_directory).filter(|bytes| !bytes.is_empty());
    let all = single.iter().cloned().chain(of_directory).collect();
    (single, all)
}

fn flip(disk: &SimulatedDisk, offset: u64, bit: u8) -> Result<(), String> {
    let change = || {
        let file = disk.open(path(), OpenOptions::READ_WRITE)?;
        let mut byte = [0];
        file.read_at(&mut byte, offset)?;
        file.write_at(&[byte[0] ^ 1 << bit], offset)?;
        file.sync_all()
    };
    change().map_err(|error| error.to_string())
}

fn copy(disk: &SimulatedDisk, from: u64, to: u64, bytes: u64) -> Result<(), String> {
    let change = || {
        let file = disk.open(path(), OpenOptions::READ_WRITE)?;
        let mut content = vec![0; bytes as usize];
        file.read_at(&mut content, from)?;
        file.write_at(&content, to)?;
        file.sync_all()
    };
    change().map_err(|error| error.to_string())
}
