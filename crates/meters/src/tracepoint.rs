//! The number of a kernel tracepoint, which `perf_event_open` asks for.
//!
//! The numbers stand in the trace file system. Where it is mounted nowhere, it is opened as a mount
//! that is attached to nothing and vanishes with its file descriptor: nobody else can see it.

use crate::files::read_line;
use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::io::Read;
use std::path::Path;

/// Where distributions mount it.
const MOUNTED_AT: [&str; 2] = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];

/// The number of tracepoint `name` (such as `raw_syscalls/sys_enter`); the error is a sentence.
pub(crate) fn number(name: &str) -> Result<u64, String> {
    let mounted = MOUNTED_AT.iter().find_map(|place| {
        let path = Path::new("/")
            .join(place)
            .join("events")
            .join(name)
            .join("id");
        read_line(&path)
    });
    let text = match mounted {
        Some(text) => text,
        None => detached(name)?,
    };
    let parsed = text.trim().parse();
    parsed.map_err(|error| format!("the number of tracepoint {name}, {text:?}, is none: {error}"))
}

fn detached(name: &str) -> Result<String, String> {
    let refused = |step: &str, error: rustix::io::Errno| {
        format!(
            "the trace file system is not readable below {} and cannot be opened apart ({step}: \
             {error}); run as root, or as root: mount -t tracefs nodev /sys/kernel/tracing && chmod \
             -R a+rX /sys/kernel/tracing",
            MOUNTED_AT.map(|place| format!("/{place}")).join(" or ")
        )
    };
    let context =
        fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC).map_err(|error| refused("fsopen", error))?;
    fsconfig_create(&context).map_err(|error| refused("fsconfig", error))?;
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY;
    let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
        .map_err(|error| refused("fsmount", error))?;
    let path = format!("events/{name}/id");
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = openat(&mount, path.as_str(), flags, Mode::empty())
        .map_err(|error| refused(&path, error))?;
    let mut text = String::new();
    std::fs::File::from(file)
        .read_to_string(&mut text)
        .map_err(|error| format!("{path} of the trace file system cannot be read: {error}"))?;
    Ok(text)
}
