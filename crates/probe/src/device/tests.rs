//! Facts and sentences for artificial machines.

use super::fixture::Machine;
use super::inspect;
use crate::{DeviceFacts, SyncBehavior, WriteCache};
use std::path::Path;
use syncline_record::Fact;

fn inspected(machine: &Machine, directory: &str) -> DeviceFacts {
    inspect(machine.root(), Path::new(directory))
}

fn kinds(facts: &DeviceFacts) -> Vec<&str> {
    facts.layers.iter().map(|layer| layer.kind.as_str()).collect()
}

fn fact<'a>(facts: &'a DeviceFacts, name: &str) -> &'a Fact {
    let all = facts.layers.iter().flat_map(|layer| &layer.facts).chain(&facts.environment);
    all.into_iter().find(|fact| fact.name == name).unwrap()
}

fn has_sentence(facts: &DeviceFacts, words: &str) -> bool {
    facts.sentences.iter().any(|sentence| sentence.contains(words))
}

fn breaks(facts: &DeviceFacts) -> Option<(&str, Option<&str>)> {
    facts.layers.iter().find_map(|layer| match &layer.standing {
        SyncBehavior::Breaks { evidence, remedy } => Some((evidence.as_str(), remedy.as_deref())),
        SyncBehavior::PassesOn | SyncBehavior::NotKnown(_) => None,
    })
}

fn has_unknown_layer(facts: &DeviceFacts) -> bool {
    facts.layers.iter().any(|layer| matches!(layer.standing, SyncBehavior::NotKnown(_)))
}

#[test]
fn a_partition_of_a_sata_disk() {
    let machine = Machine::new("20 1 8:1 / / rw - ext4 /dev/sda1 rw\n").sata();
    let facts = inspected(&machine, "/var/lib");
    assert_eq!(kinds(&facts), ["ext4", "partition", "disk"]);
    assert_eq!(fact(&facts, "model").value.as_deref(), Some("HDS722580VLAT20"));
    assert_eq!(fact(&facts, "firmware").value.as_deref(), Some("V32O"));
    assert_eq!(fact(&facts, "scheduler").value.as_deref(), Some("mq-deadline"));
    let serial = fact(&facts, "serial");
    assert_eq!(serial.value.as_deref(), Some("VNR00001"));
    assert!(serial.private && !fact(&facts, "model").private);
    assert!(fact(&facts, "SCSI cache type").said_by.ends_with("scsi_disk/0:0:0:0/cache_type"));
    let summary = &facts.summary;
    assert_eq!(summary.disks, ["sda"]);
    assert_eq!(summary.write_cache, WriteCache::Back);
    assert_eq!(summary.rpm.as_ref().unwrap().value, 7_200);
    assert_eq!(summary.cache_off_command.as_deref(), Some("hdparm -W0 /dev/sda"));
    assert!(facts.sentences.is_empty(), "{:?}", facts.sentences);
    assert_eq!(summary.virtual_machine, None);
}

#[test]
fn a_missing_fact_is_unknown_and_names_its_source() {
    let machine = Machine::new("20 1 254:0 / / rw - ext4 /dev/vda rw\n").virtio();
    let facts = inspected(&machine, "/");
    let model = fact(&facts, "model");
    assert_eq!(model.value, None);
    assert!(model.said_by.ends_with("vda/device/model"), "{}", model.said_by);
}

#[test]
fn nvme_under_mirror_under_encryption() {
    let mounts = "20 1 0:31 /@log /log rw - btrfs /dev/mapper/log_crypt rw\n";
    let machine = Machine::new(mounts).nvme_mirror_encrypted();
    let facts = inspected(&machine, "/log");
    assert_eq!(kinds(&facts), ["btrfs", "dm-crypt", "md raid1", "disk", "disk"]);
    assert_eq!(facts.layers.iter().map(|layer| layer.depth).collect::<Vec<_>>(), [0, 1, 2, 3, 3]);
    assert_eq!(facts.summary.disks, ["nvme0n1", "nvme1n1"]);
    assert_eq!(
        facts.summary.cache_off_command.as_deref(),
        Some(
            "nvme set-feature /dev/nvme0 --feature-id=6 --value=0; \
             nvme set-feature /dev/nvme1 --feature-id=6 --value=0"
        )
    );
    assert!(!has_unknown_layer(&facts));
    assert_eq!(facts.summary.rpm, None);
}

#[test]
fn an_unknown_device_mapper_target_is_not_known() {
    let machine = Machine::new("20 1 253:0 / / rw - xfs /dev/dm-0 rw\n")
        .nvme_mirror_encrypted()
        .file("sys/devices/virtual/block/dm-0/dm/uuid", "");
    assert!(has_unknown_layer(&inspected(&machine, "/")));
}

#[test]
fn a_virtio_disk_is_a_virtual_machine_and_its_rotation_a_guess() {
    let machine = Machine::new("20 1 254:0 / / rw - ext4 /dev/vda rw,discard\n")
        .virtio()
        .file("proc/cpuinfo", "processor : 0\nflags\t\t: fpu hypervisor sse\n");
    let facts = inspected(&machine, "/");
    assert_eq!(kinds(&facts), ["ext4", "virtio disk"]);
    let features = fact(&facts, "virtio features").value.clone().unwrap();
    assert!(features.starts_with("bits 2 6 9 10 13 29 32; flush (9): yes"), "{features}");
    assert_eq!(facts.summary.rpm, None, "rotational alone is not a speed");
    assert_eq!(facts.summary.cache_off_command, None, "bit 11 is off");
    assert_eq!(facts.summary.virtual_machine.as_deref(), Some("unnamed hypervisor"));
    assert!(has_sentence(&facts, "unknown inside this machine"));
}

#[test]
fn virtual_machines_are_named_by_their_firmware() {
    let machine = Machine::new("20 1 8:1 / / rw - ext4 /dev/sda1 rw\n")
        .sata()
        .file("proc/cpuinfo", "flags : hypervisor\n")
        .file("sys/class/dmi/id/sys_vendor", "VMware, Inc.\n");
    let facts = inspected(&machine, "/");
    assert_eq!(facts.summary.virtual_machine.as_deref(), Some("VMware"));
    assert_eq!(fact(&facts, "virtual machine").said_by, "/sys/class/dmi/id/sys_vendor");
    let metal = Machine::new("20 1 8:1 / / rw - ext4 /dev/sda1 rw\n")
        .file("proc/cpuinfo", "flags : fpu\n")
        .file("sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    assert_eq!(inspected(&metal, "/").summary.virtual_machine, None);
}

#[test]
fn tmpfs_is_not_durable() {
    let machine = Machine::new("20 1 0:30 / /tmp rw - tmpfs tmpfs rw\n");
    let facts = inspected(&machine, "/tmp/x");
    assert_eq!(breaks(&facts), Some(("tmpfs keeps its files in memory", None)));
    assert!(has_sentence(&facts, "lost at power loss"));
    assert_eq!(facts.sentences.len(), 1, "{:?}", facts.sentences);
}

#[test]
fn overlays_are_followed_to_a_visible_upper_directory() {
    let mounts = "20 1 8:1 / /var rw - ext4 /dev/sda1 rw\n\
                  21 1 0:50 / /merged rw - overlay overlay rw,upperdir=/var/upper,workdir=/w\n";
    let machine = Machine::new(mounts).sata().file("var/upper/.keep", "");
    let facts = inspected(&machine, "/merged");
    assert_eq!(kinds(&facts), ["overlay", "ext4", "partition", "disk"]);
    assert!(has_sentence(&facts, "belongs on a volume"));
}

#[test]
fn an_overlay_seen_from_inside_a_container_is_not_known() {
    let mounts = "20 1 0:50 / / rw - overlay overlay rw,upperdir=/var/lib/docker/upper\n";
    let machine = Machine::new(mounts).file(".dockerenv", "").file("var/lib/docker/upper/x", "");
    let facts = inspected(&machine, "/");
    assert!(has_unknown_layer(&facts));
    assert_eq!(facts.summary.container.as_deref(), Some("Docker"));
    assert!(has_sentence(&facts, "This is a container (Docker)"));
}

#[test]
fn unsafe_mount_options_are_found_with_a_remedy() {
    for (mount, option, remedy) in [
        ("8:1 / /d rw - ext4 /dev/sda1 rw,barrier=0", "barrier=0", "mount -o remount,barrier=1 /d"),
        ("8:1 / /d rw - ext3 /dev/sda1 rw,nobarrier", "nobarrier", "mount -o remount,barrier=1 /d"),
        ("8:1 / /d rw,nobarrier - xfs /dev/sda1 rw", "nobarrier", "mount -o remount,barrier /d"),
        ("0:31 / /d rw - btrfs /dev/sda1 rw,nobarrier", "nobarrier", "mount -o remount,barrier /d"),
        (
            "8:1 / /d rw - f2fs /dev/sda1 rw,fsync_mode=nobarrier",
            "fsync_mode=nobarrier",
            "mount -o remount,fsync_mode=posix /d",
        ),
        (
            "0:50 / /d rw - overlay overlay rw,upperdir=/u,volatile",
            "volatile",
            "umount /d, then mount it again without volatile",
        ),
        (
            "0:50 / /d rw - zfs pool/log rw,sync=disabled",
            "sync=disabled",
            "zfs set sync=standard pool/log",
        ),
    ] {
        let facts = inspected(&Machine::new(&format!("20 1 {mount}\n")).sata(), "/d");
        let (evidence, shown) = breaks(&facts).unwrap();
        assert!(evidence.contains(option), "{mount}: {evidence}");
        assert_eq!(shown, Some(remedy), "{mount}");
    }
}

#[test]
fn barriers_that_are_on_are_not_found() {
    let machine = Machine::new("20 1 8:1 / /d rw - ext4 /dev/sda1 rw,barrier=1\n").sata();
    assert_eq!(breaks(&inspected(&machine, "/d")), None);
}

#[test]
fn servers_and_hosts_are_not_known() {
    for (file_system, words) in [
        ("nfs4", "exports with async"),
        ("cifs", "cifs server decides"),
        ("9p", "files of the host"),
        ("virtiofs", "files of the host"),
        ("fuse.sshfs", "passes syncs to a program"),
        ("zfs", "zfs get sync pool/log"),
        ("ecryptfs", "eCryptfs"),
        ("someotherfs", "someotherfs"),
    ] {
        let facts = inspected(
            &Machine::new(&format!("20 1 0:9 / /d rw - {file_system} pool/log rw\n")),
            "/d",
        );
        assert!(has_unknown_layer(&facts), "{file_system}");
        assert!(has_sentence(&facts, words), "{file_system}: {:?}", facts.sentences);
        assert_eq!(facts.sentences.len(), 1, "{file_system}: {:?}", facts.sentences);
    }
}

#[test]
fn a_zfs_module_that_sends_no_flush_breaks_syncs() {
    let machine = Machine::new("20 1 0:9 / /d rw - zfs pool/log rw\n")
        .file("sys/module/zfs/parameters/zfs_nocacheflush", "1\n");
    let facts = inspected(&machine, "/d");
    assert!(breaks(&facts).unwrap().0.contains("zfs_nocacheflush is 1"));
}

#[test]
fn a_loop_leads_to_the_file_system_of_its_file() {
    let mounts = "20 1 8:1 / / rw - ext4 /dev/sda1 rw,barrier=0\n\
                  21 1 7:0 / /image rw - xfs /dev/loop0 rw\n";
    let machine = Machine::new(mounts)
        .sata()
        .block("sys/devices/virtual/block/loop0", "7:0")
        .file("sys/devices/virtual/block/loop0/loop/backing_file", "/var/image.xfs\n")
        .file("sys/devices/virtual/block/loop0/loop/dio", "0\n");
    let facts = inspected(&machine, "/image");
    assert_eq!(kinds(&facts), ["xfs", "loop", "ext4", "partition", "disk"]);
    assert!(has_sentence(&facts, "loop0 is a file shown as a disk"));
    assert!(breaks(&facts).is_some(), "the weakest layer counts");
}

#[test]
fn memory_disks_usb_bridges_and_controllers() {
    let zram = Machine::new("20 1 253:0 / /z rw - ext4 /dev/zram0 rw\n")
        .block("sys/devices/virtual/block/zram0", "253:0");
    assert!(breaks(&inspected(&zram, "/z")).unwrap().0.contains("keeps its blocks in memory"));

    let usb = Machine::new("20 1 8:16 / /u rw - vfat /dev/sdb rw\n")
        .block("sys/devices/pci0/usb1/1-1/host3/block/sdb", "8:16");
    assert!(has_sentence(&inspected(&usb, "/u"), "USB bridge"));

    let disk = "sys/devices/pci0/host0/block/sdc";
    let controller = Machine::new("20 1 8:32 / /c rw - xfs /dev/sdc rw\n")
        .block(disk, "8:32")
        .file(&format!("{disk}/device/vendor"), "DELL\n")
        .file(&format!("{disk}/device/model"), "PERC H740P\n");
    assert!(has_sentence(&inspected(&controller, "/c"), "RAID controller"));
}

#[test]
fn a_missing_mount_table_leaves_everything_unknown() {
    let machine = Machine::new("");
    let facts = inspected(&machine, "/d");
    assert!(has_unknown_layer(&facts));
    assert_eq!(facts.summary.file_system, None);
    assert_eq!(facts.summary.write_cache, WriteCache::Unknown);
}

#[test]
fn this_machine_can_be_inspected() {
    let here = std::env::current_dir().unwrap().canonicalize().unwrap();
    let facts = inspect(Path::new("/"), &here);
    assert!(facts.summary.file_system.is_some());
    assert!(!facts.layers.is_empty());
    for fact in facts.layers.iter().flat_map(|layer| &layer.facts) {
        assert!(!fact.said_by.is_empty());
    }
}
