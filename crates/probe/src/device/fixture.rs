//! A file tree that imitates a machine's `proc` and `sys`, for tests.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// A tree in a temporary folder.
pub(crate) struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    /// A machine with that mount table only.
    pub(crate) fn new(mountinfo: &str) -> Machine {
        let machine = Machine { folder: tempfile::tempdir().unwrap() };
        machine.file("proc/self/mountinfo", mountinfo)
    }

    /// The tree's root.
    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Adds a file with its directories.
    pub(crate) fn file(self, path: &str, content: impl AsRef<[u8]>) -> Machine {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// Adds a block device: its directory, its number and its name.
    pub(crate) fn block(self, directory: &str, number: &str) -> Machine {
        let target = self.root().join(directory);
        fs::create_dir_all(&target).unwrap();
        let name = target.file_name().unwrap().to_str().unwrap().to_owned();
        self.link(&format!("sys/dev/block/{number}"), directory)
            .link(&format!("sys/class/block/{name}"), directory)
    }

    /// Adds a link to a directory of the tree.
    pub(crate) fn link(self, path: &str, directory: &str) -> Machine {
        let link = self.root().join(path);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(self.root().join(directory), link).unwrap();
        self
    }

    /// A SATA disk of 7,200 turns a minute, with one partition.
    pub(crate) fn sata(self) -> Machine {
        let disk = "sys/devices/pci0/ata1/host0/target0/0:0:0:0/block/sda";
        let device = "sys/devices/pci0/ata1/host0/target0/0:0:0:0";
        self.block(disk, "8:0")
            .block(&format!("{disk}/sda1"), "8:1")
            .link(&format!("{disk}/device"), device)
            .file(&format!("{disk}/sda1/partition"), "1\n")
            .file(&format!("{disk}/queue/write_cache"), "write back\n")
            .file(&format!("{disk}/queue/rotational"), "1\n")
            .file(&format!("{disk}/queue/scheduler"), "none [mq-deadline] bfq\n")
            .file(&format!("{device}/model"), "HDS722580VLAT20 \n")
            .file(&format!("{device}/vendor"), "ATA     \n")
            .file(&format!("{device}/rev"), "V32O\n")
            .file(&format!("{device}/vpd_pg80"), [&[0, 0x80, 0, 8][..], b"VNR00001"].concat())
            .file(&format!("{device}/vpd_pgb1"), [0, 0xb1, 0, 60, 0x1c, 0x20, 0, 0])
            .file(&format!("{device}/scsi_disk/0:0:0:0/cache_type"), "write back\n")
    }

    /// Two flash disks in a mirror, encrypted.
    pub(crate) fn nvme_mirror_encrypted(self) -> Machine {
        let mut machine = self
            .block("sys/devices/virtual/block/dm-0", "253:0")
            .file("sys/devices/virtual/block/dm-0/dm/name", "log_crypt\n")
            .file("sys/devices/virtual/block/dm-0/dm/uuid", "CRYPT-LUKS2-abc-log_crypt\n")
            .block("sys/devices/virtual/block/md0", "9:0")
            .link("sys/devices/virtual/block/dm-0/slaves/md0", "sys/devices/virtual/block/md0")
            .file("sys/devices/virtual/block/md0/md/level", "raid1\n");
        for index in 0..2 {
            let controller = format!("sys/devices/pci0/nvme/nvme{index}");
            let disk = format!("{controller}/nvme{index}n1");
            machine = machine
                .block(&disk, &format!("259:{index}"))
                .link(&format!("sys/devices/virtual/block/md0/slaves/nvme{index}n1"), &disk)
                .link(&format!("{disk}/device"), &controller)
                .file(&format!("{controller}/model"), "ACME Enterprise 1T\n")
                .file(&format!("{controller}/firmware_rev"), "1.02\n")
                .file(&format!("{controller}/serial"), "S3CR3T\n")
                .file(&format!("{disk}/queue/write_cache"), "write back\n");
        }
        machine
    }

    /// A virtio disk with the feature bits 2 6 9 10 13 29 32.
    pub(crate) fn virtio(self) -> Machine {
        let disk = "sys/devices/pci0/virtio1/block/vda";
        let mut bits = [b'0'; 64];
        for bit in [2, 6, 9, 10, 13, 29, 32] {
            bits[bit] = b'1';
        }
        self.block(disk, "254:0")
            .link(&format!("{disk}/device"), "sys/devices/pci0/virtio1")
            .file("sys/devices/pci0/virtio1/features", bits)
            .file("sys/devices/pci0/virtio1/vendor", "0x1af4\n")
            .file(&format!("{disk}/queue/write_cache"), "write back\n")
            .file(&format!("{disk}/queue/rotational"), "1\n")
    }
}
