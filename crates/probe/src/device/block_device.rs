//! Walks from a block device down to the disks below it.
//!
//! A partition leads to its disk; device-mapper and md devices lead to their `slaves`; a loop device leads to
//! a file, whose own mount the caller looks up. One layer that drops syncs is enough to lose data, so each
//! layer gets its own sync behavior.

use super::disk::{self, Disk};
use super::tree::Tree;
use crate::{StorageLayer, SyncBehavior};
use std::path::{Path, PathBuf};

/// The result of a walk.
#[derive(Debug, Default)]
pub(crate) struct DeviceStack {
    /// The layers from top to bottom.
    pub(crate) layers: Vec<StorageLayer>,
    /// The whole disks at the bottom, without duplicates.
    pub(crate) disks: Vec<Disk>,
    /// The backing files of loop devices, with their depth.
    pub(crate) backing_files: Vec<(PathBuf, usize)>,
}

/// The sysfs directory of a block device, by its numbers.
pub(crate) fn by_number(tree: &Tree, (major, minor): (u32, u32)) -> Option<PathBuf> {
    tree.resolve(&PathBuf::from(format!("sys/dev/block/{major}:{minor}")))
}

/// The sysfs directory of a block device, by a path like `/dev/sda1` or `/dev/mapper/vg-log`.
pub(crate) fn by_path(tree: &Tree, device: &str) -> Option<PathBuf> {
    let classes = Path::new("sys/class/block");
    let name = device.strip_prefix("/dev/")?;
    if let Some(mapped) = name.strip_prefix("mapper/") {
        let is_it =
            |dm: &String| tree.text(&classes.join(dm).join("dm/name")).as_deref() == Some(mapped);
        let dm = tree.names(classes).into_iter().find(is_it)?;
        return tree.resolve(&classes.join(dm));
    }
    // Sysfs writes a slash in a device's name as an exclamation mark.
    tree.resolve(&classes.join(name.replace('/', "!")))
}

/// Adds a block device and all devices below it.
pub(crate) fn walk(tree: &Tree, directory: &Path, depth: usize, chain: &mut DeviceStack) {
    let name = directory.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    if tree.has(&directory.join("partition")) {
        let facts = vec![tree.fact("partition number", &directory.join("partition"))];
        let kind = "partition".to_owned();
        chain.layers.push(StorageLayer {
            name,
            kind,
            depth,
            facts,
            standing: SyncBehavior::PassesOn,
        });
        if let Some(parent) = directory.parent() {
            walk(tree, parent, depth + 1, chain);
        }
    } else if tree.has(&directory.join("dm")) {
        let (kind, standing) = device_mapper(tree, directory);
        let facts = vec![tree.fact("name", &directory.join("dm/name"))];
        chain.layers.push(StorageLayer { name, kind, depth, facts, standing });
        walk_slaves(tree, directory, depth, chain);
    } else if tree.has(&directory.join("md")) {
        let level = tree.fact("level", &directory.join("md/level"));
        let kind = format!("md {}", level.value.as_deref().unwrap_or("array"));
        let standing = SyncBehavior::PassesOn;
        chain.layers.push(StorageLayer { name, kind, depth, facts: vec![level], standing });
        walk_slaves(tree, directory, depth, chain);
    } else if tree.has(&directory.join("bcache")) {
        let mode = tree.fact("cache mode", &directory.join("bcache/cache_mode"));
        let reason =
            format!("{name} is a bcache device, which may hold writes on its caching disk");
        let (kind, standing) = ("bcache".to_owned(), SyncBehavior::NotKnown(reason));
        chain.layers.push(StorageLayer { name, kind, depth, facts: vec![mode], standing });
        walk_slaves(tree, directory, depth, chain);
    } else if tree.has(&directory.join("loop")) {
        walk_loop(tree, directory, name, depth, chain);
    } else if name.starts_with("zram") || name.starts_with("ram") {
        let reason = format!("{name} keeps its blocks in memory");
        let standing = SyncBehavior::Breaks { evidence: reason, remedy: None };
        let kind = "memory disk".to_owned();
        chain.layers.push(StorageLayer { name, kind, depth, facts: Vec::new(), standing });
    } else {
        let disk = disk::read(tree, directory, &name);
        let (facts, standing) = (disk.facts.clone(), disk.standing.clone());
        let kind = if disk.is_virtio { "virtio disk" } else { "disk" }.to_owned();
        chain.layers.push(StorageLayer { name, kind, depth, facts, standing });
        if chain.disks.iter().all(|known| known.name != disk.name) {
            chain.disks.push(disk);
        }
    }
}

fn walk_slaves(tree: &Tree, directory: &Path, depth: usize, chain: &mut DeviceStack) {
    let slaves = directory.join("slaves");
    let names = tree.names(&slaves);
    let before = chain.layers.len();
    for name in names {
        if let Some(below) = tree.resolve(&slaves.join(name)) {
            walk(tree, &below, depth + 1, chain);
        }
    }
    if chain.layers.len() == before {
        let reason = "sysfs does not show which disks are below".to_owned();
        chain.layers.push(StorageLayer {
            name: "unknown".to_owned(),
            kind: "unknown".to_owned(),
            depth: depth + 1,
            facts: Vec::new(),
            standing: SyncBehavior::NotKnown(reason),
        });
    }
}

fn walk_loop(tree: &Tree, directory: &Path, name: String, depth: usize, chain: &mut DeviceStack) {
    let backing = tree.fact("backing file", &directory.join("loop/backing_file"));
    let direct = tree.fact("direct I/O", &directory.join("loop/dio"));
    let file = backing.value.clone();
    let standing = match &file {
        Some(_) => SyncBehavior::PassesOn,
        None => SyncBehavior::NotKnown(format!("the backing file of {name} is not shown")),
    };
    let facts = vec![backing, direct];
    chain.layers.push(StorageLayer { name, kind: "loop".to_owned(), depth, facts, standing });
    if let Some(file) = file {
        chain.backing_files.push((PathBuf::from(file), depth + 1));
    }
}

/// The kind, from the prefix of the uuid that each device-mapper tool sets.
fn device_mapper(tree: &Tree, directory: &Path) -> (String, SyncBehavior) {
    let uuid = tree.text(&directory.join("dm/uuid")).unwrap_or_default();
    let name = tree.text(&directory.join("dm/name")).unwrap_or_default();
    let kind = match uuid.split('-').next().unwrap_or_default() {
        "CRYPT" => "dm-crypt",
        "LVM" => "LVM",
        "mpath" => "multipath",
        partition if partition.starts_with("part") => "device-mapper partition",
        _ => {
            let reason = format!("the device-mapper target of {name} is not shown by sysfs");
            return ("device-mapper".to_owned(), SyncBehavior::NotKnown(reason));
        }
    };
    if has_cache_below(tree, directory) {
        let reason = format!("{name} has a dm-cache or dm-writecache, which may hold writes");
        return (format!("{kind} with cache"), SyncBehavior::NotKnown(reason));
    }
    (kind.to_owned(), SyncBehavior::PassesOn)
}

/// LVM gives the cache volume of a cached volume a name that ends in `_cdata`, `_cvol` or `_cpool`.
fn has_cache_below(tree: &Tree, directory: &Path) -> bool {
    let slaves = directory.join("slaves");
    tree.names(&slaves).into_iter().any(|slave| {
        let name = tree.text(&slaves.join(slave).join("dm/name")).unwrap_or_default();
        ["_cdata", "_cvol", "_cpool"].iter().any(|ending| name.ends_with(ending))
    })
}
