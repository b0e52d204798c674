//! Collects all facts about the layers below a directory.

use super::block_device::{self, DeviceStack};
use super::caveats;
use super::disk::Disk;
use super::environment::{Environment, environment};
use super::file_system;
use super::mounts::{self, Mount};
use super::tree::{Tree, fact};
use crate::{DeviceFacts, DeviceSummary, Layer, SyncBehavior, WriteCache};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use syncline_record::Fact;

/// The most times that a path may lead to another one (a loop's backing file, an overlay's upper directory).
const NESTING: usize = 6;

/// All facts that the kernel reports about the layers below `directory`, which must be absolute and without
/// links; `root` is `/` except in tests.
pub fn inspect(root: &Path, directory: &Path) -> DeviceFacts {
    let tree = Tree::new(root);
    let mounts = mounts::parse(&tree.text(Path::new("proc/self/mountinfo")).unwrap_or_default());
    let root_mount = mounts::mount_of(&mounts, Path::new("/"), None);
    let environment = environment(&tree, root_mount.map(|mount| mount.file_system.as_str()));
    let device = (root == Path::new("/")).then(|| device_number(directory)).flatten();
    let Some(mount) = mounts::mount_of(&mounts, directory, device) else {
        return without_mount(environment);
    };
    let mut walk =
        MountWalk { tree: &tree, mounts: &mounts, chain: DeviceStack::default(), nesting: 0 };
    walk.mount(mount, 0);
    let chain = walk.chain;
    let summary = summary(mount, &chain, &environment);
    DeviceFacts {
        mount: mount_facts(mount),
        sentences: caveats::sentences(mount, &chain, &environment),
        layers: chain.layers,
        environment: environment.facts,
        summary,
    }
}

/// The file system's device number; `None` if the directory's metadata cannot be read.
fn device_number(directory: &Path) -> Option<(u32, u32)> {
    let device = std::fs::metadata(directory).ok()?.dev();
    Some((rustix::fs::major(device), rustix::fs::minor(device)))
}

fn without_mount(environment: Environment) -> DeviceFacts {
    let file_system = fact("file system", None, "/proc/self/mountinfo");
    let reason = "the directory's mount is not listed in /proc/self/mountinfo";
    let layer = unknown_layer(reason.to_owned(), 0);
    DeviceFacts {
        mount: vec![file_system],
        layers: vec![layer],
        sentences: vec![format!("{reason}, so the layers below it are unknown.")],
        summary: DeviceSummary {
            virtual_machine: environment.virtual_machine,
            container: environment.container,
            ..DeviceSummary::default()
        },
        environment: environment.facts,
    }
}

fn mount_facts(mount: &Mount) -> Vec<Fact> {
    let fact_of_mount = |name, value: String| fact(name, Some(value), "/proc/self/mountinfo");
    vec![
        fact_of_mount("mount point", mount.point.display().to_string()),
        fact_of_mount("file system", mount.file_system.clone()),
        fact_of_mount("mount options", mount.options.join(",")),
        fact_of_mount("source", mount.source.clone()),
    ]
}

fn summary(mount: &Mount, chain: &DeviceStack, environment: &Environment) -> DeviceSummary {
    let disks = &chain.disks;
    let all_through =
        !disks.is_empty() && disks.iter().all(|disk| disk.write_cache == WriteCache::Through);
    let write_cache = match disks.iter().find(|disk| disk.write_cache == WriteCache::Back) {
        Some(_) => WriteCache::Back,
        None if all_through => WriteCache::Through,
        None => WriteCache::Unknown,
    };
    let commands: Vec<_> = disks.iter().filter_map(|disk| disk.cache_off_command.clone()).collect();
    let only = |disk: fn(&Disk) -> Option<String>| match disks.as_slice() {
        [one] => disk(one),
        _ => None,
    };
    // Of several spinning disks the fastest sets the bound, and only if all are spinning.
    let rpms: Option<Vec<_>> = disks.iter().map(|disk| disk.rpm.clone()).collect();
    let rpm = rpms.and_then(|rpms| rpms.into_iter().max_by_key(|rpm| rpm.value));
    let virtio = disks.iter().any(|disk| disk.is_virtio);
    let by_disk = || virtio.then(|| "unnamed hypervisor".to_owned());
    DeviceSummary {
        file_system: Some(mount.file_system.clone()),
        disks: disks.iter().map(|disk| disk.name.clone()).collect(),
        write_cache,
        rpm,
        model: only(|disk| disk.model.clone()),
        virtual_machine: environment.virtual_machine.clone().or_else(by_disk),
        container: environment.container.clone(),
        cache_off_command: (!commands.is_empty()).then(|| commands.join("; ")),
    }
}

fn unknown_layer(reason: String, depth: usize) -> Layer {
    Layer {
        name: "unknown".to_owned(),
        kind: "unknown".to_owned(),
        depth,
        facts: Vec::new(),
        standing: SyncBehavior::NotKnown(reason),
    }
}

/// A walk from mount to mount, each with its block devices.
struct MountWalk<'a> {
    tree: &'a Tree,
    mounts: &'a [Mount],
    chain: DeviceStack,
    nesting: usize,
}

impl MountWalk<'_> {
    fn mount(&mut self, mount: &Mount, depth: usize) {
        let standing = file_system::standing(self.tree, mount);
        self.chain.layers.push(Layer {
            name: mount.point.display().to_string(),
            kind: mount.file_system.clone(),
            depth,
            facts: mount_facts(mount),
            standing,
        });
        if mount.file_system == "overlay" {
            self.upper_directory(mount, depth + 1);
        } else if file_system::is_on_block_device(&mount.file_system) {
            self.block_devices(mount, depth + 1);
        }
    }

    /// Writes into an overlay reach its upper directory, if that is visible here.
    fn upper_directory(&mut self, overlay: &Mount, depth: usize) {
        let upper = overlay.option("upperdir").map(PathBuf::from);
        let visible = upper.filter(|upper| self.tree.has(upper));
        let below = visible.and_then(|upper| mounts::mount_of(self.mounts, &upper, None));
        match below {
            // Inside a container the path leads back to the overlay itself.
            Some(below) if below != overlay => self.nested(below, depth),
            _ => {
                let reason = "the overlay's upper directory is not visible from here".to_owned();
                self.chain.layers.push(unknown_layer(reason, depth));
            }
        }
    }

    fn block_devices(&mut self, mount: &Mount, depth: usize) {
        let by_number =
            (mount.device.0 != 0).then(|| block_device::by_number(self.tree, mount.device));
        let directory =
            by_number.flatten().or_else(|| block_device::by_path(self.tree, &mount.source));
        let Some(directory) = directory else {
            let reason = format!("sysfs shows no block device for {}", mount.source);
            self.chain.layers.push(unknown_layer(reason, depth));
            return;
        };
        for directory in self.with_companions(mount, directory) {
            block_device::walk(self.tree, &directory, depth, &mut self.chain);
        }
        for (file, depth) in std::mem::take(&mut self.chain.backing_files) {
            if let Some(below) = mounts::mount_of(self.mounts, &file, None) {
                self.nested(below, depth);
            } else {
                let reason = format!("the mount of {} is not visible", file.display());
                self.chain.layers.push(unknown_layer(reason, depth));
            }
        }
    }

    /// A btrfs file system may use several devices, of which the mount names one.
    fn with_companions(&self, mount: &Mount, first: PathBuf) -> Vec<PathBuf> {
        let volumes = Path::new("sys/fs/btrfs");
        let name = first.file_name().map(|name| name.to_string_lossy().into_owned());
        if mount.file_system != "btrfs" {
            return vec![first];
        }
        let all = self.tree.names(volumes).into_iter().find_map(|volume| {
            let devices = volumes.join(volume).join("devices");
            let names = self.tree.names(&devices);
            let is_it = name.as_ref().is_some_and(|name| names.contains(name));
            let resolve = |name: &String| self.tree.resolve(&devices.join(name));
            is_it.then(|| names.iter().filter_map(resolve).collect::<Vec<_>>())
        });
        all.filter(|all| !all.is_empty()).unwrap_or_else(|| vec![first])
    }

    fn nested(&mut self, mount: &Mount, depth: usize) {
        self.nesting += 1;
        if self.nesting > NESTING {
            let reason = "the layers are nested too deep to follow".to_owned();
            self.chain.layers.push(unknown_layer(reason, depth));
        } else {
            self.mount(mount, depth);
        }
    }
}
