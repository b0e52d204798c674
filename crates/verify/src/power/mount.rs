//! Mounting, cutting the power, and unmounting.

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

/// The number of concurrent calls: all but syncs in flight wait for one lock.
const THREADS: usize = 16;

/// The source in the table of mounts, where other file systems have their device.
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
    /// Why this thread cannot mount a file system, if a reason is known in advance. Only an actual mount
    /// shows all reasons: see [`Mount::check_works`].
    pub fn refusal() -> Option<String> {
        let device = Path::new("/dev/fuse");
        let opened = fs::File::options().read(true).write(true).open(device);
        if let Err(error) = opened {
            return Some(format!(
                "/dev/fuse cannot be opened ({error}); load the kernel module fuse and run as root"
            ));
        }
        if !rustix::process::geteuid().is_root() {
            return Some("only root can mount a file system".to_owned());
        }
        // Root in a container usually lacks the capability.
        let rights = capabilities(None).map(|sets| sets.effective);
        if rights.is_ok_and(|rights| !rights.contains(CapabilitySet::SYS_ADMIN)) {
            return Some(
                "this process lacks the capability CAP_SYS_ADMIN, which mounting needs; grant it, or run \
                 outside the container"
                    .to_owned(),
            );
        }
        None
    }

    /// Mounts a file system below a scratch directory for a moment; returns why that failed, none if it
    /// worked. Leaves nothing in the directory.
    pub fn check_works(directory: &Path) -> Option<String> {
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
                "{error}, although this is root and /dev/fuse can be opened; a sandbox may forbid mounting"
            )
        })
    }

    /// Shows `backing` at `point`, an empty directory. The present content of `backing` is copied to `copy`,
    /// an empty directory, and counts as stable; no other process may change `backing` meanwhile. Once more
    /// than `bytes_max` bytes of writes have been recorded, the power goes off by itself.
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
            // All users may enter, because the store runs as its own user; the kernel checks owners and
            // modes.
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

    /// The path at which the store finds its files.
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

    /// Drops the kernel's cached pages of the files of a class, as the kernel may do at any time, so that the
    /// next read comes to this file system. Files whose pages cannot be dropped are skipped.
    pub fn forget(&self, class: Class) {
        let nodes = self.pass.switch().of_class(class);
        if let Some(session) = &self.session {
            let notifier = session.notifier();
            for node in nodes {
                if notifier.inval_inode(INodeNo(node.0), 0, 0).is_err() {
                    // The kernel has not cached this file, so there is nothing to drop.
                }
            }
        }
    }

    /// How often each fault has struck.
    pub fn fault_counts(&self) -> InjectedFault {
        self.pass.switch().faults.fault_counts().clone()
    }

    /// Number of recorded steps.
    pub fn steps(&self) -> usize {
        self.pass.switch().steps()
    }

    /// Number of recorded acknowledgements.
    pub fn acknowledgements(&self) -> u64 {
        self.pass.switch().acknowledgements()
    }

    /// True once the power is off, by [`Mount::cut`] or because the recording is full.
    pub fn is_off(&self) -> bool {
        self.pass.switch().is_off()
    }

    /// Switches the power off: no call succeeds from now on. Kill the store's processes afterwards.
    pub fn cut(&self) {
        self.pass.switch().cut();
    }

    /// Cuts the power if it is on, unmounts, and returns the recording.
    pub fn end(mut self) -> Result<Recording> {
        self.cut();
        self.unmount()?;
        Ok(Recording { base: std::mem::take(&mut self.base), steps: self.pass.switch().take() })
    }

    /// Detaches the mount at once; its thread ends when the last process has closed its files.
    fn unmount(&mut self) -> Result<()> {
        if let Some(session) = self.session.take() {
            unmount(&self.point, UnmountFlags::DETACH)
                .map_err(|error| Error::io("unmount", &self.point, error.into()))?;
            drop(session);
        }
        Ok(())
    }
}

/// Unmounts everything below a directory, given by its real path: the leftovers of a killed process.
pub fn unmount_below(directory: &Path) -> io::Result<()> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    // The mount point is the fifth field of a line. Our own mount points contain no blanks, which would
    // appear as \040.
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    for point in points.filter(|point| Path::new(point).starts_with(directory)) {
        unmount(point, UnmountFlags::DETACH)?;
    }
    Ok(())
}

/// True if a path, or its closest existing ancestor, is on a [`Mount`] of any process. Speed measured there
/// is meaningless.
pub fn is_mounted(path: &Path) -> bool {
    let path = std::path::absolute(path).unwrap_or_default();
    let mut parts = path.ancestors();
    let Some(device) = parts.find_map(|part| Some(fs::metadata(part).ok()?.dev())) else {
        return false;
    };
    let device = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    // After the dash come the file system type and the source.
    let ours = |line: &str| {
        let is_there = line.split(' ').nth(2) == Some(&device);
        is_there && line.contains(&format!(" - fuse {SOURCE} "))
    };
    mounts.lines().any(ours)
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.cut();
        // An error cannot be reported here; callers that need it use `end`.
        drop(self.unmount());
    }
}
