//! Bytes that change on the disk by themselves: what is named must be refused, never taken.

use super::model::State;
use super::world::{World, path};
use crate::checkpoint::root::{ROOT_BYTES, block_offset};
use crate::checkpoint::{DataFile, FileOptions};
use crate::error::Error;
use crate::ids::SlotId;
use syncline_disk::{Disk, File, OpenOptions, SimulatedDisk};

/// Spoils a slot that the root names, or the root, and opens the file.
pub(super) fn spoil(world: &mut World, disk: &SimulatedDisk) -> Result<(), String> {
    let mut quiet = world.on(disk.clone());
    let file = quiet.open().map_err(|failure| failure.to_string())?;
    let state = quiet.model.candidates[0].clone();
    let (single, slots) = named(&file);
    let home = file.root().home;
    drop(file);
    if slots.is_empty() || world.random.u8(0..3) == 0 {
        let offset = block_offset(home) + world.random.u64(0..ROOT_BYTES as u64);
        flip(disk, offset, world.random.u8(0..8))?;
        return root_is_not_believed(&quiet, disk, &state);
    }
    let page_bytes = u64::from(world.page_bytes);
    let victim = slots[world.random.usize(0..slots.len())];
    let donor = slots[world.random.usize(0..slots.len())];
    // Two slots of the directory may hold the same bytes of meta.
    if donor != victim && single.contains(&victim) && world.random.bool() {
        copy(
            disk,
            donor.0 * page_bytes,
            victim.0 * page_bytes,
            page_bytes,
        )?;
    } else {
        let offset = victim.0 * page_bytes + world.random.u64(0..page_bytes);
        let (offset, bit) = (offset, world.random.u8(0..8));
        if is_padding(&quiet, disk, victim, offset)? {
            return Ok(());
        }
        flip(disk, offset, bit)?;
    }
    match load(disk, &quiet.options) {
        Err(Error::Damaged { .. }) => Ok(()),
        Err(error) => Err(format!("damage was refused as something else: {error}")),
        Ok(_) => Err(format!("{victim} was spoiled and is taken as it is")),
    }
}

/// With its newest root spoiled the file holds the same state by the copy, the one before it whole, or
/// is refused.
fn root_is_not_believed(quiet: &World, disk: &SimulatedDisk, state: &State) -> Result<(), String> {
    let file = match load(disk, &quiet.options) {
        Err(Error::Damaged { .. }) => return Ok(()),
        Err(error) => return Err(format!("a spoiled root was refused as: {error}")),
        Ok(file) => file,
    };
    let previous = quiet.model.previous.iter();
    let mut allowed = previous.chain([state]);
    let found = allowed.find(|state| state.number == file.root().number);
    match found {
        Some(found) => found
            .check(&file, false)
            .map_err(|failure| failure.to_string()),
        None => Err(format!("root {} was opened", file.root().number)),
    }
}

fn load(disk: &SimulatedDisk, options: &FileOptions) -> Result<DataFile<SimulatedDisk>, Error> {
    let file = DataFile::open(disk, path(), options)?;
    file.load(&mut |_, _| Ok(()))?;
    Ok(file)
}

/// The slots of pages and map pages, and every slot that the root names.
fn named(file: &DataFile<SimulatedDisk>) -> (Vec<SlotId>, Vec<SlotId>) {
    let first = file.root().directory.slot.0;
    let directory = file.root().directory.slots(file.root().page_bytes);
    let of_map = file.map.map_pages.iter().filter(|entry| !entry.is_absent());
    let of_map = of_map.map(|entry| entry.slot());
    let of_pages = file.map.pages().map(|(_, entry)| entry.slot());
    let of_directory = (first..first + directory).map(SlotId);
    let single: Vec<SlotId> = of_map.chain(of_pages).collect();
    let all = single.iter().copied().chain(of_directory).collect();
    (single, all)
}

/// True for the bytes that fill up the directory's last slot: they mean nothing.
fn is_padding(
    quiet: &World,
    disk: &SimulatedDisk,
    victim: SlotId,
    offset: u64,
) -> Result<bool, String> {
    let file = DataFile::open(disk, path(), &quiet.options).map_err(|error| error.to_string())?;
    let directory = file.root().directory;
    let begins = file.offset(directory.slot);
    let slots = directory.slots(file.root().page_bytes);
    let is_directory = (directory.slot.0..directory.slot.0 + slots).contains(&victim.0);
    Ok(is_directory && offset >= begins + directory.bytes())
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
