//! The file operations, passed through to the backing directory and recorded.
//!
//! Every call takes the lock, checks the power, lets a fault strike, performs the operation on the backing
//! directory, and records the step. The backing directory is scratch and never synced. Instead, a sync waits
//! as long as a disk would take, without the lock. Otherwise no write or acknowledgement could fall between a
//! write and its sync, and a store that acknowledges too early would be caught only by luck. The kernel holds
//! back calls that change the file being synced (`docs/decisions/0031`).

use super::base_tree::owner_of;
use super::fault::{Call, Fault};
use super::file_content::PAGE_BYTES;
use super::power_switch::{Open, PowerSwitch};
use super::recording::{ACKNOWLEDGEMENTS, DirectoryEntry, Kind, Node, Owner, Step};
use parking_lot::{Mutex, MutexGuard};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// The node of the virtual file [`ACKNOWLEDGEMENTS`].
pub(super) const ACKNOWLEDGEMENTS_NODE: Node = Node(u64::MAX);

/// Duration of a sync: about that of a good disk, and longer than an acknowledgement takes here.
const SYNC_TAKES: Duration = Duration::from_micros(200);

/// The operations of one mount.
#[derive(Debug)]
pub(super) struct Passthrough {
    switch: Mutex<PowerSwitch>,
}

/// A node with its metadata; none for the virtual file.
pub(super) type LookupResult = (Node, Option<Metadata>);

/// The user and group of the caller, and the mode bits of the new node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Requester {
    pub(super) mode: u32,
    pub(super) user: u32,
    pub(super) group: u32,
}

impl Passthrough {
    pub(super) fn new(switch: PowerSwitch) -> Passthrough {
        Passthrough { switch: Mutex::new(switch) }
    }

    /// Locks the switch, whether or not there is power.
    pub(super) fn switch(&self) -> MutexGuard<'_, PowerSwitch> {
        self.switch.lock()
    }

    /// Waits for the duration of a sync without the lock.
    fn sync_under_way<'p>(
        &'p self,
        switch: MutexGuard<'p, PowerSwitch>,
        fault: Option<Fault>,
    ) -> io::Result<MutexGuard<'p, PowerSwitch>> {
        drop(switch);
        thread::sleep(match fault {
            Some(Fault::SlowSync(time)) => time.max(SYNC_TAKES),
            _ => SYNC_TAKES,
        });
        self.powered()
    }

    fn powered(&self) -> io::Result<MutexGuard<'_, PowerSwitch>> {
        let switch = self.switch();
        switch.check()?;
        Ok(switch)
    }

    pub(super) fn lookup(&self, parent: Node, name: &OsStr) -> io::Result<LookupResult> {
        let switch = self.powered()?;
        if parent == Node::ROOT && name == ACKNOWLEDGEMENTS {
            return Ok((ACKNOWLEDGEMENTS_NODE, None));
        }
        let node = switch.tree.get(&(parent, name.to_owned()));
        let node = node.ok_or(Errno::NOENT)?;
        Ok((node, Some(stat(&switch, node)?)))
    }

    pub(super) fn stat(&self, node: Node) -> io::Result<LookupResult> {
        let switch = self.powered()?;
        if node == ACKNOWLEDGEMENTS_NODE {
            return Ok((node, None));
        }
        Ok((node, Some(stat(&switch, node)?)))
    }

    pub(super) fn list(&self, directory: Node) -> io::Result<u64> {
        let mut switch = self.powered()?;
        let names = switch.tree.list(directory);
        Ok(switch.opened(Open::Directory(names)))
    }

    /// The names of an open directory from number `from` on.
    pub(super) fn names(&self, handle: u64, from: u64) -> io::Result<Vec<(Node, Kind, OsString)>> {
        let switch = self.powered()?;
        match switch.handle(handle)? {
            Open::Directory(names) => Ok(names.iter().skip(from as usize).cloned().collect()),
            Open::File { .. } | Open::Acknowledgements => Err(Errno::NOTDIR.into()),
        }
    }

    pub(super) fn read_link(&self, node: Node) -> io::Result<PathBuf> {
        match self.powered()?.tree.kind(node) {
            Some(Kind::Link(target)) => Ok(target.clone()),
            _ => Err(Errno::INVAL.into()),
        }
    }

    pub(super) fn open(&self, node: Node, flags: i32) -> io::Result<u64> {
        let mut switch = self.powered()?;
        if node == ACKNOWLEDGEMENTS_NODE {
            return Ok(switch.opened(Open::Acknowledgements));
        }
        let path = backing(&switch, node)?;
        let file = File::options().read(true).write(true).open(&path);
        // Read-only files are opened read-only; the kernel checks the permissions of each access.
        let file = file.or_else(|_| File::open(&path))?;
        let synced = flags & libc::O_DSYNC != 0;
        Ok(switch.opened(Open::File { node, file, synced }))
    }

    pub(super) fn close(&self, handle: u64) {
        self.switch().closed(handle);
    }

    /// Creates a node and gives it to the requester.
    pub(super) fn create(
        &self,
        place: DirectoryEntry,
        kind: Kind,
        requester: Requester,
    ) -> io::Result<LookupResult> {
        let mut switch = self.powered()?;
        let node = create(&mut switch, place, kind, requester)?;
        Ok((node, Some(stat(&switch, node)?)))
    }

    pub(super) fn link(&self, node: Node, place: DirectoryEntry) -> io::Result<LookupResult> {
        let mut switch = self.powered()?;
        let (from, to) = (backing(&switch, node)?, backing_of(&switch, &place)?);
        fs::hard_link(from, to)?;
        switch.tree.insert(node, place.clone(), Kind::File);
        switch.record(Step::Link(node, place));
        Ok((node, Some(stat(&switch, node)?)))
    }

    pub(super) fn remove(&self, place: DirectoryEntry) -> io::Result<()> {
        let mut switch = self.powered()?;
        let path = backing_of(&switch, &place)?;
        let node = switch.tree.get(&place).ok_or(Errno::NOENT)?;
        match switch.tree.kind(node) {
            Some(Kind::Directory) => fs::remove_dir(path)?,
            _ => fs::remove_file(path)?,
        }
        switch.tree.remove(&place);
        switch.record(Step::Remove(place));
        Ok(())
    }

    pub(super) fn rename(
        &self,
        from: DirectoryEntry,
        to: DirectoryEntry,
        no_replace: bool,
    ) -> io::Result<()> {
        let mut switch = self.powered()?;
        let (node, there) = (switch.tree.get(&from), switch.tree.get(&to));
        if no_replace && there.is_some() {
            return Err(Errno::EXIST.into());
        }
        if node.is_some() && node == there {
            return Ok(());
        }
        fs::rename(backing_of(&switch, &from)?, backing_of(&switch, &to)?)?;
        switch.tree.rename(&from, to.clone());
        switch.record(Step::Rename(from, to));
        Ok(())
    }

    pub(super) fn set_len(&self, node: Node, len: u64) -> io::Result<()> {
        let mut switch = self.powered()?;
        if node == ACKNOWLEDGEMENTS_NODE {
            return Ok(());
        }
        strike(&mut switch, Call::SetLen, node)?;
        match switch.file_of(node) {
            Some(file) => file.set_len(len)?,
            None => File::options().write(true).open(backing(&switch, node)?)?.set_len(len)?,
        }
        switch.record(Step::SetLen(node, len));
        Ok(())
    }

    pub(super) fn own(
        &self,
        node: Node,
        mode: Option<u32>,
        user: Option<u32>,
        group: Option<u32>,
    ) -> io::Result<()> {
        let mut switch = self.powered()?;
        let path = backing(&switch, node)?;
        if user.is_some() || group.is_some() {
            lchown(&path, user, group)?;
        }
        if let Some(mode) = mode {
            fs::set_permissions(&path, Permissions::from_mode(mode & 0o7777))?;
        }
        let owner = owner_of(&fs::symlink_metadata(&path)?);
        switch.record(Step::Own(node, owner));
        Ok(())
    }

    pub(super) fn read(&self, handle: u64, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut switch = self.powered()?;
        let Open::File { node, .. } = switch.handle(handle)? else {
            return Ok(Vec::new());
        };
        let node = *node;
        let fault = strike(&mut switch, Call::Read, node)?;
        let Open::File { file, .. } = switch.handle(handle)? else {
            return Ok(Vec::new());
        };
        let mut bytes = vec![0; len];
        let got = read_up_to(file, &mut bytes, offset)?;
        bytes.truncate(got);
        if fault == Some(Fault::FlippedBit) {
            // The kernel reads ahead, so the requested page may be any of these.
            for page in bytes.chunks_mut(PAGE_BYTES) {
                let middle = page.len() / 2;
                page[middle] ^= 0x10;
            }
        }
        Ok(bytes)
    }

    pub(super) fn write(&self, handle: u64, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut switch = self.powered()?;
        let (node, synced) = match switch.handle(handle)? {
            Open::File { node, synced, .. } => (*node, *synced),
            Open::Acknowledgements => {
                switch.record(Step::Acknowledged(bytes.into()));
                return Ok(());
            }
            Open::Directory(_) => return Err(Errno::ISDIR.into()),
        };
        strike(&mut switch, Call::Write, node)?;
        // A synced write is a write and a sync; faults can strike either.
        let sync = synced.then(|| strike(&mut switch, Call::Sync, node));
        if let Open::File { file, .. } = switch.handle(handle)? {
            file.write_all_at(bytes, offset)?;
        }
        switch.record(Step::Write { node, offset, bytes: bytes.into() });
        match sync {
            None => {}
            Some(Ok(fault)) => {
                let write = switch.steps() as u64;
                let mut switch = self.sync_under_way(switch, fault)?;
                switch.record(Step::SyncWritten { node, write });
            }
            Some(Err(error)) => {
                switch.record(Step::SyncFailed(node));
                return Err(error);
            }
        }
        Ok(())
    }

    /// Allocates or zeros a range.
    pub(super) fn allocate(&self, handle: u64, offset: u64, len: u64, mode: i32) -> io::Result<()> {
        let mut switch = self.powered()?;
        let Open::File { node, .. } = switch.handle(handle)? else {
            return Err(Errno::BADF.into());
        };
        let node = *node;
        strike(&mut switch, Call::Write, node)?;
        let flags = FallocateFlags::from_bits(mode as u32).ok_or(Errno::OPNOTSUPP)?;
        let zeroes = FallocateFlags::ZERO_RANGE | FallocateFlags::PUNCH_HOLE;
        if !(FallocateFlags::KEEP_SIZE | zeroes).contains(flags) {
            return Err(Errno::OPNOTSUPP.into());
        }
        let Open::File { file, .. } = switch.handle(handle)? else {
            return Err(Errno::BADF.into());
        };
        let before = file.metadata()?.len();
        fallocate(file, flags, offset, len)?;
        let after = file.metadata()?.len();
        if after != before {
            switch.record(Step::SetLen(node, after));
        }
        if flags.intersects(zeroes) && offset < after {
            let len = len.min(after - offset);
            switch.record(Step::Zeros { node, offset, len });
        }
        Ok(())
    }

    /// Syncs a file or directory.
    pub(super) fn sync(&self, node: Node) -> io::Result<()> {
        if node == ACKNOWLEDGEMENTS_NODE {
            return self.powered().map(drop);
        }
        let mut switch = self.powered()?;
        let began = switch.steps() as u64;
        let mut switch = match strike(&mut switch, Call::Sync, node) {
            Ok(fault) => self.sync_under_way(switch, fault)?,
            Err(error) => {
                switch.record(Step::SyncFailed(node));
                return Err(error);
            }
        };
        let step = match switch.tree.kind(node) {
            Some(Kind::Directory) => Step::SyncDirectory { node, began },
            _ => Step::Sync { node, began },
        };
        switch.record(step);
        Ok(())
    }
}

fn create(
    switch: &mut PowerSwitch,
    place: DirectoryEntry,
    kind: Kind,
    requester: Requester,
) -> io::Result<Node> {
    let below = switch.tree.path_of(&place).ok_or(Errno::NOENT)?;
    if let Some(Fault::DiskFull) = switch.faults.strike(Call::Create, &below) {
        return Err(Errno::NOSPC.into());
    }
    let path = switch.tree.backing(&below);
    match &kind {
        Kind::File => drop(File::create_new(&path)?),
        Kind::Directory => fs::create_dir(&path)?,
        Kind::Link(target) => symlink(target, &path)?,
    }
    lchown(&path, Some(requester.user), Some(requester.group))?;
    if !matches!(kind, Kind::Link(_)) {
        fs::set_permissions(&path, Permissions::from_mode(requester.mode & 0o7777))?;
    }
    let owner: Owner = owner_of(&fs::symlink_metadata(&path)?);
    let node = switch.tree.fresh();
    switch.tree.insert(node, place.clone(), kind.clone());
    switch.record(Step::Create { node, place, kind, owner });
    Ok(node)
}

/// Lets a fault strike; a fault that fails the call is an error.
fn strike(switch: &mut PowerSwitch, call: Call, node: Node) -> io::Result<Option<Fault>> {
    let Some(path) = switch.tree.path(node) else {
        return Ok(None);
    };
    match switch.faults.strike(call, &path) {
        Some(Fault::ReadError | Fault::WriteError | Fault::SyncError) => Err(Errno::IO.into()),
        Some(Fault::DiskFull) => Err(Errno::NOSPC.into()),
        other => Ok(other),
    }
}

fn stat(switch: &PowerSwitch, node: Node) -> io::Result<Metadata> {
    match (switch.tree.path(node), switch.file_of(node)) {
        (Some(path), _) => fs::symlink_metadata(switch.tree.backing(&path)),
        (None, Some(file)) => file.metadata(),
        (None, None) => Err(Errno::NOENT.into()),
    }
}

fn backing(switch: &PowerSwitch, node: Node) -> io::Result<PathBuf> {
    let path = switch.tree.path(node).ok_or(Errno::NOENT)?;
    Ok(switch.tree.backing(&path))
}

fn backing_of(switch: &PowerSwitch, place: &DirectoryEntry) -> io::Result<PathBuf> {
    let path = switch.tree.path_of(place).ok_or(Errno::NOENT)?;
    Ok(switch.tree.backing(&path))
}

fn read_up_to(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut got = 0;
    while got < bytes.len() {
        match file.read_at(&mut bytes[got..], offset + got as u64)? {
            0 => break,
            more => got += more,
        }
    }
    Ok(got)
}

/// The statistics of the backing file system.
pub(super) fn statvfs(root: &Path) -> io::Result<rustix::fs::StatVfs> {
    Ok(rustix::fs::statvfs(root)?)
}
