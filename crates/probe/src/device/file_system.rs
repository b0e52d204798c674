//! The sync behavior of a file system, from its type and mount options.
//!
//! Only options that the kernel shows count. The settings of a server or host are invisible here, so NFS,
//! CIFS, 9p, virtiofs and FUSE are "not known", never "passes on". The NFS option that drops syncs, `async`,
//! is an export option of the server; the client's mount option of that name does not change fsync, and is
//! not shown.

use super::mounts::Mount;
use super::tree::Tree;
use crate::SyncBehavior;
use std::path::Path;

/// File systems that pass syncs on to the block device below, and flush it.
const PASS_ON: [&str; 12] = [
    "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "nilfs2", "bcachefs", "vfat", "exfat",
    "ntfs3",
];

/// The sync behavior of the mounted file system.
pub(crate) fn standing(tree: &Tree, mount: &Mount) -> SyncBehavior {
    unsafe_option(mount).unwrap_or_else(|| by_type(tree, mount))
}

/// True for file systems whose content is on a local block device.
pub(crate) fn is_on_block_device(file_system: &str) -> bool {
    PASS_ON.contains(&file_system)
}

fn unsafe_option(mount: &Mount) -> Option<SyncBehavior> {
    let point = mount.point.display();
    let file_system = mount.file_system.as_str();
    let breaks = |option: &str, remount: &str| SyncBehavior::Breaks {
        evidence: format!("{file_system} at {point} is mounted with {option}, so no flush is sent"),
        remedy: Some(format!("mount -o remount,{remount} {point}")),
    };
    let barrier_on = if file_system.starts_with("ext") { "barrier=1" } else { "barrier" };
    if let Some(option) = ["nobarrier", "barrier=0", "barrier=none"]
        .into_iter()
        .find(|option| mount.has_option(option))
    {
        return Some(breaks(option, barrier_on));
    }
    match file_system {
        "f2fs" if mount.has_option("fsync_mode=nobarrier") => {
            Some(breaks("fsync_mode=nobarrier", "fsync_mode=posix"))
        }
        "overlay" if mount.has_option("volatile") || mount.has_option("fsync=volatile") => {
            Some(SyncBehavior::Breaks {
                evidence: format!(
                    "the overlay at {point} is mounted volatile, so syncs are dropped"
                ),
                remedy: Some(format!("umount {point}, then mount it again without volatile")),
            })
        }
        "zfs" if mount.has_option("sync=disabled") => Some(zfs_sync_disabled(mount)),
        _ => None,
    }
}

fn zfs_sync_disabled(mount: &Mount) -> SyncBehavior {
    SyncBehavior::Breaks {
        evidence: format!("ZFS dataset {} has sync=disabled", mount.source),
        remedy: Some(format!("zfs set sync=standard {}", mount.source)),
    }
}

fn by_type(tree: &Tree, mount: &Mount) -> SyncBehavior {
    let not_known = |reason: String| SyncBehavior::NotKnown(reason);
    let file_system = mount.file_system.as_str();
    match file_system {
        "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" => SyncBehavior::Breaks {
            evidence: format!("{file_system} keeps its files in memory"),
            remedy: None,
        },
        "overlay" => SyncBehavior::PassesOn,
        "zfs" => zfs(tree, mount),
        "nfs" | "nfs4" => not_known(
            "the NFS server decides when data is stable, and its export option async drops syncs, \
             which is invisible here"
                .to_owned(),
        ),
        "cifs" | "smb3" | "ceph" | "glusterfs" | "lustre" | "afs" => {
            not_known(format!("the {file_system} server decides when data is stable"))
        }
        "9p" | "virtiofs" => {
            let cache = mount.option("cache").map(|mode| format!(" (cache={mode})"));
            let cache = cache.unwrap_or_default();
            not_known(format!(
                "{file_system}{cache} hands syncs to the host, which is not seen from here"
            ))
        }
        "ecryptfs" => not_known(
            "eCryptfs encrypts into files of another file system, whose state it does not show"
                .to_owned(),
        ),
        fuse if fuse.starts_with("fuse") => {
            not_known(format!("{fuse} passes syncs to a program whose behavior is unknown"))
        }
        known if is_on_block_device(known) => SyncBehavior::PassesOn,
        other => not_known(format!(
            "the sync behavior of the file system {other} is unknown to this program"
        )),
    }
}

/// ZFS reports its sync property only through its own tool, but its module parameters are in sysfs.
fn zfs(tree: &Tree, mount: &Mount) -> SyncBehavior {
    let parameters = Path::new("sys/module/zfs/parameters");
    let on = |name: &str| tree.text(&parameters.join(name)).is_some_and(|text| text == "1");
    for name in ["zfs_nocacheflush", "zil_nocacheflush"] {
        if on(name) {
            return SyncBehavior::Breaks {
                evidence: format!("the ZFS module parameter {name} is 1, so no flush is sent"),
                remedy: Some(format!("echo 0 > /sys/module/zfs/parameters/{name}")),
            };
        }
    }
    SyncBehavior::NotKnown(format!(
        "ZFS reports its sync property only through its own tool: zfs get sync {}",
        mount.source
    ))
}
