//! The number of a kernel tracepoint, which `perf_event_open` requires, and the offsets of the fields in its
//! records.
//!
//! Both come from the trace file system. If it is not mounted, it is opened as a detached mount, which no
//! other process sees and which vanishes with its file descriptor.

use crate::files::read_text;
use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::io::Read;
use std::path::Path;

/// Where distributions mount the trace file system.
const MOUNTED_AT: [&str; 2] = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];

/// The number of tracepoint `name` (such as `raw_syscalls/sys_enter`); the error is a sentence.
pub fn number(name: &str) -> Result<u64, String> {
    let text = read(name, "id")?;
    let parsed = text.trim().parse();
    parsed.map_err(|error| format!("the number of tracepoint {name} is invalid: {text:?}: {error}"))
}

/// The byte offset of a field in a tracepoint's record; the error is a sentence.
pub fn offset(name: &str, field: &str) -> Result<usize, String> {
    let text = read(name, "format")?;
    offset_in(&text, field)
        .ok_or_else(|| format!("tracepoint {name} of this kernel has no field {field}"))
}

/// A field's line is `field:TYPE NAME; offset:N; size:N; signed:N;`; an array's name includes its length.
fn offset_in(format: &str, field: &str) -> Option<usize> {
    let line = format.lines().find_map(|line| {
        let declared = line.trim().strip_prefix("field:")?;
        let (declaration, places) = declared.split_once(';')?;
        let name = declaration.rsplit(' ').next()?.split('[').next()?;
        (name == field).then_some(places)
    })?;
    let place = line.split(';').find_map(|place| place.trim().strip_prefix("offset:"))?;
    place.parse().ok()
}

fn read(name: &str, file: &str) -> Result<String, String> {
    let mounted = MOUNTED_AT.iter().find_map(|place| {
        let path = Path::new("/").join(place).join("events").join(name);
        read_text(&path.join(file))
    });
    match mounted {
        Some(text) => Ok(text),
        None => detached(name, file),
    }
}

fn detached(name: &str, file: &str) -> Result<String, String> {
    let refused = |step: &str, error: rustix::io::Errno| {
        format!(
            "the trace file system is not readable below {} and cannot be opened detached ({step}: \
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
    let path = format!("events/{name}/{file}");
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = openat(&mount, path.as_str(), flags, Mode::empty())
        .map_err(|error| refused(&path, error))?;
    let mut text = String::new();
    std::fs::File::from(file)
        .read_to_string(&mut text)
        .map_err(|error| format!("{path} of the trace file system cannot be read: {error}"))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{number, offset, offset_in};

    #[test]
    fn fields_are_found_by_their_names() {
        let format = "name: sched_switch\nID: 1\nformat:\n\
            \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
            \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
            \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n";
        assert_eq!(offset_in(format, "prev_state"), Some(32));
        assert_eq!(offset_in(format, "prev_comm"), Some(8));
        assert_eq!(offset_in(format, "state"), None);
    }

    #[test]
    fn an_unknown_tracepoint_is_an_error_that_names_it() {
        let why = number("raw_syscalls/nothing").unwrap_err();
        assert!(why.contains("raw_syscalls/nothing"), "{why}");
        assert!(offset("raw_syscalls/nothing", "id").is_err());
    }
}
