//! Mounted, cut, and unmounted.

use super::fault::{FaultRule, InjectedFault};
use super::file_class::{Class, Classify};
use super::fuse_calls::FuseCalls;
use super::inode_tree::Tree;
use super::passthrough::Passthrough;
use super::power_switch::PowerSwitch;
use super::recording::{Base, Recording};
use crate::error::{Error, Result, doing};
use fuser::{BackgroundSession, Config, INodeNo, MountOption, SessionACL};
use rustix::mount::{UnmountFlags, unmount};
use rustix::thread::{CapabilitySet, capabilities};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// So many calls run at once: all but syncs under way wait for one lock.
const THREADS: usize = 16;

/// What stands in the table of mounts where others have their device.
const SOURCE: &str = "syncline";

/// A directory shown at another path, whose power can be cut. Dropping it cuts the power and unmounts.
#[derive(Debug)]
pub struct Mount {
    point: PathBuf,
    pass: Arc<Passthrough>,
    base: Base,
    session: Option<BackgroundSession>,
}

impl Mount {
    /// Why no file system of ours can be mounted by this thread; none if nothing is known against it. Only a
    /// mount itself tells all: see [`Mount::tried`].
    pub fn refusal() -> Option<String> {
        let device = Path::new("/dev/fuse");
        let opened = fs::File::options().read(true).write(true).open(device);
        if let Err(error) = opened {
            return Some(format!(
                "/dev/fuse cannot be opened ({error}); load the module fuse, and be root"
            ));
        }
        if !rustix::process::geteuid().is_root() {
            return Some("a file system can be mounted by root only".to_owned());
        }
        // Root of a container has not, as a rule.
        let rights = capabilities(None).map(|sets| sets.effective);
        if rights.is_ok_and(|rights| !rights.contains(CapabilitySet::SYS_ADMIN)) {
            return Some(
                "this root has no right to mount file systems (the capability CAP_SYS_ADMIN); grant it, or run \
                 outside of the container"
                    .to_owned(),
            );
        }
        None
    }

    /// Why none can be mounted below a directory; none if one was, for a moment. The directory is one of
    /// our own; nothing stays in it.
    pub fn tried(directory: &Path) -> Option<String> {
        if let Some(why) = Mount::refusal() {
            return Some(why);
        }
        let folder = directory.join("mounted");
        let [backing, point, copy] = ["backing", "point", "copy"].map(|name| folder.join(name));
        let mounted = || {
            for path in [&backing, &point, &copy] {
                fs::create_dir_all(path).map_err(doing("make", path))?;
            }
            Mount::new(&backing, &point, &copy, |_| Class::Other, 0)?.end()?;
            fs::remove_dir_all(&folder).map_err(doing("remove", &folder))
        };
        mounted().err().map(|error| {
            format!(
                "{error}, though this is root and /dev/fuse can be opened; a sandbox may forbid it"
            )
        })
    }

    /// Shows `backing` at `point`, an empty directory. What stands in it now is copied to `copy`, an
    /// empty directory, and counts as stable; nobody else may touch `backing` meanwhile. When writes of
    /// `bytes_max` bytes have been recorded, the power goes off by itself.
    pub fn new(
        backing: &Path,
        point: &Path,
        copy: &Path,
        classify: Classify,
        bytes_max: u64,
    ) -> Result<Mount> {
        if let Some(why) = Mount::refusal() {
            return Err(Error::cannot(why));
        }
        let base = Base::read(backing)?.copied(copy)?;
        let tree = Tree::new(&base, backing.to_owned());
        let pass = Arc::new(Passthrough::new(PowerSwitch::new(tree, classify, bytes_max)));
        let calls = FuseCalls { pass: Arc::clone(&pass), root: backing.to_owned() };
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::FSName(SOURCE.to_owned()),
            MountOption::NoAtime,
            // Every user may enter, since the store's own does; the kernel holds them to owners and modes.
            MountOption::DefaultPermissions,
        ];
        config.acl = SessionACL::All;
        config.n_threads = Some(THREADS);
        let session = fuser::spawn_mount(calls, point, &config);
        Ok(Mount {
            session: Some(session.map_err(doing("mount a file system at", point))?),
            point: point.to_owned(),
            pass,
            base,
        })
    }

    /// Where the store finds its files.
    pub fn point(&self) -> &Path {
        &self.point
    }

    /// Arms a fault.
    pub fn arm(&self, rule: FaultRule) {
        self.pass.switch().faults.arm(rule);
    }

    /// Disarms all faults.
    pub fn disarm(&self) {
        self.pass.switch().faults.disarm();
    }

    /// Lets the kernel forget what it has read of the files of a class, as it may at any time: what is
    /// read next is read from us. A file that it cannot forget stays as it is.
    pub fn forget(&self, class: Class) {
        let nodes = self.pass.switch().of_class(class);
        if let Some(session) = &self.session {
            let notifier = session.notifier();
            for node in nodes {
                if notifier.inval_inode(INodeNo(node.0), 0, 0).is_err() {
                    // It has not looked at that file yet, so that there is nothing to forget.
                }
            }
        }
    }

    /// How often each fault has struck.
    pub fn struck(&self) -> InjectedFault {
        self.pass.switch().faults.struck().clone()
    }

    /// How many steps were recorded so far.
    pub fn steps(&self) -> usize {
        self.pass.switch().steps()
    }

    /// How many acknowledgements were recorded so far.
    pub fn acknowledgements(&self) -> u64 {
        self.pass.switch().acknowledgements()
    }

    /// True once the power is off, by [`Mount::cut`] or because the recording is full.
    pub fn is_off(&self) -> bool {
        self.pass.switch().is_off()
    }

    /// Takes the power away: no call succeeds from now on. Kill the store's processes afterwards.
    pub fn cut(&self) {
        self.pass.switch().cut();
    }

    /// Cuts the power if that was not done, unmounts, and hands out what was recorded.
    pub fn end(mut self) -> Result<Recording> {
        self.cut();
        self.unmount()?;
        Ok(Recording { base: std::mem::take(&mut self.base), steps: self.pass.switch().take() })
    }

    /// Detaches the mount at once; its thread ends when the last process has let go of it.
    fn unmount(&mut self) -> Result<()> {
        if let Some(session) = self.session.take() {
            unmount(&self.point, UnmountFlags::DETACH)
                .map_err(|error| Error::io("unmount", &self.point, error.into()))?;
            drop(session);
        }
        Ok(())
    }
}

/// Unmounts what is mounted below a directory, by its real path: what a process that was killed has left.
pub fn unmount_below(directory: &Path) -> io::Result<()> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    // The fifth word of a line; ours have no blank in it, which would stand there as \040.
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    for point in points.filter(|point| Path::new(point).starts_with(directory)) {
        unmount(point, UnmountFlags::DETACH)?;
    }
    Ok(())
}

/// True if a path, or what of it is there, lies on a [`Mount`] of any process. A figure of speed from there
/// means nothing.
pub fn is_mounted(path: &Path) -> bool {
    let path = std::path::absolute(path).unwrap_or_default();
    let mut parts = path.ancestors();
    let Some(device) = parts.find_map(|part| Some(fs::metadata(part).ok()?.dev())) else {
        return false;
    };
    let device = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    // Behind the dash stand the kind of the file system and its source.
    let ours = |line: &str| {
        let is_there = line.split(' ').nth(2) == Some(&device);
        is_there && line.contains(&format!(" - fuse {SOURCE} "))
    };
    mounts.lines().any(ours)
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.cut();
        // There is nobody left to tell; whoever wants to know calls `end`.
        drop(self.unmount());
    }
}
