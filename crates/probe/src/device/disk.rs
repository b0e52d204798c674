//! Reads the sysfs description of a whole disk.
//!
//! `queue/write_cache` is the kernel's view; a user can set it without changing the device.
//! `queue/rotational` is a guess that is wrong for virtual disks. A rotation speed therefore comes only from
//! the identity page B1h, which SCSI disks, and ATA disks through the kernel, provide.

use super::tree::{Tree, fact, said_by};
use crate::{Rpm, SyncBehavior, WriteCache};
use std::path::Path;
use syncline_record::Fact;

/// A whole disk.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    /// Its name, e.g. "nvme0n1".
    pub(crate) name: String,
    /// The model, if the disk reports one.
    pub(crate) model: Option<String>,
    /// The kernel's view of its cache.
    pub(crate) write_cache: WriteCache,
    /// The rotation speed that the disk reports.
    pub(crate) rpm: Option<Rpm>,
    /// The command that turns its write cache off, as text.
    pub(crate) cache_off_command: Option<String>,
    /// True for a paravirtual disk, which exists only inside a virtual machine.
    pub(crate) is_virtio: bool,
    /// Its sync behavior.
    pub(crate) standing: SyncBehavior,
    /// All facts.
    pub(crate) facts: Vec<Fact>,
}

/// Reads a disk's directory under `sys/devices`.
pub(crate) fn read(tree: &Tree, directory: &Path, name: &str) -> Disk {
    let write_cache = match tree.text(&directory.join("queue/write_cache")).as_deref() {
        Some("write back") => WriteCache::Back,
        Some("write through") => WriteCache::Through,
        _ => WriteCache::Unknown,
    };
    let features = virtio_features(tree, directory);
    let model = tree.text(&directory.join("device/model"));
    let rpm = rpm(tree, directory);
    let vendor = tree.text(&directory.join("device/vendor"));
    Disk {
        name: name.to_owned(),
        cache_off_command: cache_off_command(tree, directory, name, write_cache),
        standing: standing(directory, vendor.as_deref(), model.as_deref(), name),
        facts: facts(tree, directory, features.as_deref(), rpm.as_ref()),
        is_virtio: features.is_some(),
        write_cache,
        model,
        rpm,
    }
}

fn facts(tree: &Tree, directory: &Path, features: Option<&str>, rpm: Option<&Rpm>) -> Vec<Fact> {
    let at = |name, file: &str| tree.fact(name, &directory.join(file));
    let mut facts = vec![
        at("model", "device/model"),
        firmware(tree, directory),
        serial(tree, directory),
        at("size in 512 B sectors", "size"),
        at("logical block bytes", "queue/logical_block_size"),
        at("physical block bytes", "queue/physical_block_size"),
        at("write cache", "queue/write_cache"),
        at("FUA writes", "queue/fua"),
        at("rotational by the kernel's guess", "queue/rotational"),
        fact("rpm", rpm.map(|rpm| rpm.value.to_string()), "identity page B1h in sysfs"),
        scheduler(tree, directory),
        at("queue requests", "queue/nr_requests"),
        at("device queue depth", "device/queue_depth"),
        at("largest discard bytes", "queue/discard_max_bytes"),
    ];
    if let Some(features) = features {
        let by = said_by(&directory.join("device/features"));
        facts.push(fact("virtio features", Some(features.to_owned()), by));
    }
    if let Some((path, cache_type)) = scsi_cache_type(tree, directory) {
        facts.push(fact("SCSI cache type", Some(cache_type), said_by(&path)));
    }
    facts
}

/// SCSI names the file `rev`, other drivers `firmware_rev`.
fn firmware(tree: &Tree, directory: &Path) -> Fact {
    first_of(tree, directory, "firmware", &["device/firmware_rev", "device/rev"])
}

fn serial(tree: &Tree, directory: &Path) -> Fact {
    let mut serial = first_of(tree, directory, "serial", &["device/serial", "serial"]);
    if serial.value.is_none() {
        let page = directory.join("device/vpd_pg80");
        let text = tree.bytes(&page).and_then(|page| {
            let text = String::from_utf8_lossy(page.get(4..)?).trim().to_owned();
            (!text.is_empty()).then_some(text)
        });
        serial = fact("serial", text, said_by(&page));
    }
    Fact { private: true, ..serial }
}

fn first_of(tree: &Tree, directory: &Path, name: &'static str, files: &[&str]) -> Fact {
    let facts = files.iter().map(|file| tree.fact(name, &directory.join(file)));
    let absent = || fact(name, None, "the disk's directory in sysfs");
    facts.into_iter().find(|fact| fact.value.is_some()).unwrap_or_else(absent)
}

/// The kernel marks the scheduler in use with brackets.
fn scheduler(tree: &Tree, directory: &Path) -> Fact {
    let mut fact = tree.fact("scheduler", &directory.join("queue/scheduler"));
    let chosen = fact.value.as_deref().and_then(|all| {
        let (_, rest) = all.split_once('[')?;
        Some(rest.split_once(']')?.0.to_owned())
    });
    fact.value = chosen.or(fact.value);
    fact
}

/// The feature bits as digits from bit 0 on, with the relevant ones in words.
fn virtio_features(tree: &Tree, directory: &Path) -> Option<String> {
    let device = tree.resolve(&directory.join("device"))?;
    let is_virtio = device.file_name()?.to_string_lossy().starts_with("virtio");
    let digits = tree.text(&directory.join("device/features")).filter(|_| is_virtio)?;
    let is_on = |bit: usize| digits.as_bytes().get(bit) == Some(&b'1');
    let offered = |bit| if is_on(bit) { "yes" } else { "no" };
    let bits: Vec<_> = (0..digits.len()).filter(|bit| is_on(*bit)).map(|b| b.to_string()).collect();
    Some(format!(
        "bits {}; flush (9): {}; cache mode can be set (11): {}",
        bits.join(" "),
        offered(9),
        offered(11)
    ))
}

fn scsi_cache_type(tree: &Tree, directory: &Path) -> Option<(std::path::PathBuf, String)> {
    let disks = directory.join("device/scsi_disk");
    let address = tree.names(&disks).into_iter().next()?;
    let path = disks.join(address).join("cache_type");
    let text = tree.text(&path)?;
    Some((path, text))
}

/// Bytes 4 and 5 of page B1h, big endian: 1 means no rotation; 401h and more are turns a minute.
fn rpm(tree: &Tree, directory: &Path) -> Option<Rpm> {
    let path = directory.join("device/vpd_pgb1");
    let page = tree.bytes(&path)?;
    let value = u16::from_be_bytes([*page.get(4)?, *page.get(5)?]);
    let spinning = (0x401..=0xfffe).contains(&value);
    spinning.then(|| Rpm { value: u32::from(value), said_by: said_by(&path) })
}

fn cache_off_command(
    tree: &Tree,
    directory: &Path,
    name: &str,
    write_cache: WriteCache,
) -> Option<String> {
    if write_cache != WriteCache::Back {
        return None;
    }
    let vendor = tree.text(&directory.join("device/vendor"));
    if name.starts_with("nvme") {
        let controller = name.rsplit_once('n').map_or(name, |(controller, _)| controller);
        return Some(format!("nvme set-feature /dev/{controller} --feature-id=6 --value=0"));
    }
    if name.starts_with("vd") {
        let settable =
            virtio_features(tree, directory).is_some_and(|text| text.ends_with("(11): yes"));
        return settable.then(|| format!("echo \"write through\" > /sys/block/{name}/cache_type"));
    }
    if !name.starts_with("sd") {
        return None;
    }
    if vendor.as_deref() == Some("ATA") {
        return Some(format!("hdparm -W0 /dev/{name}"));
    }
    Some(format!("sdparm --clear=WCE /dev/{name}"))
}

/// Words in the model or vendor of volumes that a RAID controller presents instead of real disks.
const CONTROLLERS: [&str; 6] = ["PERC", "LOGICAL VOLUME", "MegaRAID", "RAID", "Smart Array", "MR9"];

fn standing(
    directory: &Path,
    vendor: Option<&str>,
    model: Option<&str>,
    name: &str,
) -> SyncBehavior {
    let words = format!("{} {}", vendor.unwrap_or(""), model.unwrap_or(""));
    let path = directory.display().to_string();
    if CONTROLLERS.iter().any(|word| words.contains(word)) {
        return SyncBehavior::NotKnown(format!(
            "{name} is a volume of a RAID controller; only the controller's own tool reports its cache and battery"
        ));
    }
    if path.contains("/usb") {
        let reason = format!("{name} is attached through a USB bridge, which may drop flushes");
        return SyncBehavior::NotKnown(reason);
    }
    if path.contains("/session") {
        let reason = format!("{name} is an iSCSI disk: its server decides when data is stable");
        return SyncBehavior::NotKnown(reason);
    }
    if name.starts_with("nbd") || name.starts_with("rbd") || name.starts_with("drbd") {
        let reason =
            format!("{name} is a network block device: its server decides when data is stable");
        return SyncBehavior::NotKnown(reason);
    }
    SyncBehavior::PassesOn
}
