//! The FUSE callbacks: each one decodes the request, calls the passthrough layer and replies.

use super::passthrough::{ACKNOWLEDGEMENTS_NODE, LookupResult, Passthrough, Requester, statvfs};
use super::recording::{Kind, Node};
use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How long the kernel may cache an answer. All changes come through this mount, so any time would be valid.
const CACHE_TTL: Duration = Duration::from_secs(1);

/// The callbacks of one mount.
#[derive(Debug)]
pub(super) struct FuseCalls {
    pub(super) pass: Arc<Passthrough>,
    pub(super) root: PathBuf,
}

impl Filesystem for FuseCalls {
    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        entry(self.pass.lookup(Node(parent.0), name), reply);
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        attributes(self.pass.stat(Node(ino.0)), reply);
    }

    fn setattr(
        &self,
        _req: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _fh: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let (pass, node) = (&self.pass, Node(ino.0));
        let set = || {
            if mode.is_some() || uid.is_some() || gid.is_some() {
                pass.own(node, mode, uid, gid)?;
            }
            if let Some(len) = size {
                pass.set_len(node, len)?;
            }
            pass.stat(node)
        };
        attributes(set(), reply);
    }

    fn readlink(&self, _req: &Request, ino: INodeNo, reply: ReplyData) {
        match self.pass.read_link(Node(ino.0)) {
            Ok(target) => reply.data(target.as_os_str().as_encoded_bytes()),
            Err(error) => reply.error(error.into()),
        }
    }

    fn mknod(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _rdev: u32,
        reply: ReplyEntry,
    ) {
        let kind = mode & libc::S_IFMT;
        if kind != libc::S_IFREG && kind != 0 {
            return reply.error(Errno::EPERM);
        }
        entry(self.make(req, parent, name, Kind::File, mode & !umask), reply);
    }

    fn mkdir(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let made = self.make(req, parent, name, Kind::Directory, mode & !umask);
        entry(made, reply);
    }

    fn symlink(
        &self,
        req: &Request,
        parent: INodeNo,
        link_name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let kind = Kind::Link(target.to_owned());
        entry(self.make(req, parent, link_name, kind, 0o777), reply);
    }

    fn unlink(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(self.pass.remove((Node(parent.0), name.to_owned())), reply);
    }

    fn rmdir(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(self.pass.remove((Node(parent.0), name.to_owned())), reply);
    }

    fn rename(
        &self,
        _req: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let no_replace = flags == RenameFlags::RENAME_NOREPLACE;
        if !flags.is_empty() && !no_replace {
            return reply.error(Errno::EINVAL);
        }
        let from = (Node(parent.0), name.to_owned());
        let to = (Node(newparent.0), newname.to_owned());
        done(self.pass.rename(from, to, no_replace), reply);
    }

    fn link(
        &self,
        _req: &Request,
        ino: INodeNo,
        newparent: INodeNo,
        newname: &OsStr,
        reply: ReplyEntry,
    ) {
        let place = (Node(newparent.0), newname.to_owned());
        entry(self.pass.link(Node(ino.0), place), reply);
    }

    fn open(&self, _req: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        match self.pass.open(Node(ino.0), flags.0) {
            Ok(handle) if ino.0 == ACKNOWLEDGEMENTS_NODE.0 => {
                reply.opened(FileHandle(handle), FopenFlags::FOPEN_DIRECT_IO);
            }
            Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::empty()),
            Err(error) => reply.error(error.into()),
        }
    }

    fn create(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let make = || {
            let (node, metadata) = self.make(req, parent, name, Kind::File, mode & !umask)?;
            Ok::<_, io::Error>((attr(node, metadata.as_ref()), self.pass.open(node, flags)?))
        };
        match make() {
            Ok((attr, handle)) => reply.created(
                &CACHE_TTL,
                &attr,
                Generation(0),
                FileHandle(handle),
                FopenFlags::empty(),
            ),
            Err(error) => reply.error(error.into()),
        }
    }

    fn read(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.pass.read(fh.0, offset, size as usize) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(error.into()),
        }
    }

    fn write(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.pass.write(fh.0, offset, data) {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(error.into()),
        }
    }

    fn fallocate(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        done(self.pass.allocate(fh.0, offset, length, mode), reply);
    }

    fn flush(
        &self,
        _req: &Request,
        _ino: INodeNo,
        _fh: FileHandle,
        _lock_owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        // Closing a file makes nothing stable.
        reply.ok();
    }

    fn release(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.pass.close(fh.0);
        reply.ok();
    }

    fn fsync(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        _datasync: bool,
        reply: ReplyEmpty,
    ) {
        done(self.pass.sync(Node(ino.0)), reply);
    }

    fn opendir(&self, _req: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        match self.pass.list(Node(ino.0)) {
            Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::empty()),
            Err(error) => reply.error(error.into()),
        }
    }

    fn readdir(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        match self.pass.names(fh.0, offset) {
            Ok(names) => {
                for (next, (node, kind, name)) in (offset + 1..).zip(names) {
                    if reply.add(INodeNo(node.0), next, type_of(&kind), name) {
                        break;
                    }
                }
                reply.ok();
            }
            Err(error) => reply.error(error.into()),
        }
    }

    fn releasedir(
        &self,
        _req: &Request,
        _ino: INodeNo,
        fh: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.pass.close(fh.0);
        reply.ok();
    }

    fn fsyncdir(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        _datasync: bool,
        reply: ReplyEmpty,
    ) {
        done(self.pass.sync(Node(ino.0)), reply);
    }

    fn statfs(&self, _req: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        match statvfs(&self.root) {
            Ok(metadata) => reply.statfs(
                metadata.f_blocks,
                metadata.f_bfree,
                metadata.f_bavail,
                metadata.f_files,
                metadata.f_ffree,
                metadata.f_bsize as u32,
                metadata.f_namemax as u32,
                metadata.f_frsize as u32,
            ),
            Err(error) => reply.error(error.into()),
        }
    }
}

impl FuseCalls {
    fn make(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        kind: Kind,
        mode: u32,
    ) -> io::Result<LookupResult> {
        let requester = Requester { mode, user: req.uid(), group: req.gid() };
        self.pass.create((Node(parent.0), name.to_owned()), kind, requester)
    }
}

fn entry(metadata: io::Result<LookupResult>, reply: ReplyEntry) {
    match metadata {
        Ok((node, metadata)) => {
            reply.entry(&CACHE_TTL, &attr(node, metadata.as_ref()), Generation(0));
        }
        Err(error) => reply.error(error.into()),
    }
}

fn attributes(metadata: io::Result<LookupResult>, reply: ReplyAttr) {
    match metadata {
        Ok((node, metadata)) => reply.attr(&CACHE_TTL, &attr(node, metadata.as_ref())),
        Err(error) => reply.error(error.into()),
    }
}

fn done(result: io::Result<()>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error.into()),
    }
}

fn type_of(kind: &Kind) -> FileType {
    match kind {
        Kind::File => FileType::RegularFile,
        Kind::Directory => FileType::Directory,
        Kind::Link(_) => FileType::Symlink,
    }
}

fn attr(node: Node, metadata: Option<&Metadata>) -> FileAttr {
    let (now, zero) = (SystemTime::UNIX_EPOCH, 0);
    let number = |of: fn(&Metadata) -> u64| metadata.map_or(zero, of);
    let kind = metadata.and_then(|metadata| FileType::from_std(metadata.file_type()));
    FileAttr {
        ino: INodeNo(node.0),
        size: number(MetadataExt::size),
        blocks: number(MetadataExt::blocks),
        atime: metadata.and_then(|metadata| metadata.accessed().ok()).unwrap_or(now),
        mtime: metadata.and_then(|metadata| metadata.modified().ok()).unwrap_or(now),
        ctime: metadata.and_then(|metadata| metadata.modified().ok()).unwrap_or(now),
        crtime: now,
        kind: kind.unwrap_or(FileType::RegularFile),
        perm: metadata.map_or(0o666, |metadata| (metadata.mode() & 0o7777) as u16),
        nlink: metadata.map_or(1, |metadata| metadata.nlink() as u32),
        uid: metadata.map_or(0, MetadataExt::uid),
        gid: metadata.map_or(0, MetadataExt::gid),
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}
