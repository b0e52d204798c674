//! The executable mappings of a process, from `/proc/PID/maps`.
//!
//! A line is `START-END PERMISSIONS OFFSET DEVICE INODE PATH`, with hexadecimal numbers except the inode. The
//! path is empty for anonymous memory, in brackets for the kernel's own, and ends in ` (deleted)` if the file
//! no longer has a name.

use std::io;
use std::ops::Range;
use std::sync::Arc;

/// A piece of executable memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    /// Its addresses.
    pub range: Range<u64>,
    /// The position of its first byte in the file.
    pub offset: u64,
    /// Its content.
    pub backing: Backing,
}

/// The content of a piece of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Backing {
    /// A part of a file.
    File(Arc<MappedFile>),
    /// The kernel's functions for programs.
    Vdso,
    /// No file: code made at run time.
    Anonymous,
}

/// A file as the kernel identifies it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MappedFile {
    /// As the process sees it.
    pub path: String,
    /// The device and the inode.
    pub identity: (String, u64),
    /// True if it no longer has a name.
    pub deleted: bool,
}

/// The mappings of a process, by address.
pub(super) fn read(pid: u32) -> io::Result<Vec<Mapping>> {
    let text = std::fs::read(format!("/proc/{pid}/maps"))?;
    Ok(parse(&String::from_utf8_lossy(&text)))
}

/// Parses mappings; invalid lines are ignored.
fn parse(text: &str) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = text.lines().filter_map(mapping).collect();
    mappings.sort_by_key(|mapping| mapping.range.start);
    mappings
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut rest = line;
    let mut field = || {
        let (field, after) = rest.trim_start().split_once(' ').unwrap_or((rest, ""));
        rest = after;
        field
    };
    let (start, end) = field().split_once('-')?;
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    let range = hexadecimal(start)?..hexadecimal(end)?;
    if !field().contains('x') || range.is_empty() {
        return None;
    }
    let offset = hexadecimal(field())?;
    let (device, inode) = (field().to_owned(), field().parse().ok()?);
    let path = rest.trim_start();
    let backing = match path {
        "[vdso]" => Backing::Vdso,
        path if path.starts_with('/') && inode != 0 => {
            let (path, deleted) = match path.strip_suffix(" (deleted)") {
                Some(path) => (path, true),
                None => (path, false),
            };
            Backing::File(Arc::new(MappedFile {
                path: path.to_owned(),
                identity: (device, inode),
                deleted,
            }))
        }
        _ => Backing::Anonymous,
    };
    Some(Mapping { range, offset, backing })
}

#[cfg(test)]
mod tests {
    use super::{Backing, parse};

    const MAPS: &str = "\
55d0c0c00000-55d0c0d00000 r--p 00000000 fe:00 131 /usr/lib/postgresql/15/bin/postgres
55d0c0d00000-55d0c1200000 r-xp 000d0000 fe:00 131                        /usr/lib/postgresql/15/bin/postgres
7f0000000000-7f0000100000 rwxs 00000000 00:01 2050                       /dev/zero (deleted)
7f0000200000-7f0000300000 rwxp 00000000 00:00 0 \n\
7f0000400000-7f0000401000 r-xp 00001000 fe:00 9  /tmp/a name (of a) file
7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                          [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
nonsense
12-x r-xp 0 0 0
20-10 r-xp 00000000 00:00 0\n";

    #[test]
    fn executable_memory_and_its_files_are_found() {
        let found: Vec<(u64, String)> = parse(MAPS)
            .into_iter()
            .map(|mapping| {
                let what = match mapping.backing {
                    Backing::File(file) if file.deleted => format!("{}, deleted", file.path),
                    Backing::File(file) => file.path.clone(),
                    Backing::Vdso => "vdso".to_owned(),
                    Backing::Anonymous => String::new(),
                };
                (mapping.offset, what)
            })
            .collect();
        let expected = [
            (0xd_0000, "/usr/lib/postgresql/15/bin/postgres"),
            (0, "/dev/zero, deleted"),
            (0, ""),
            (0x1000, "/tmp/a name (of a) file"),
            (0, "vdso"),
            (0, ""),
        ];
        assert_eq!(found, expected.map(|(offset, what)| (offset, what.to_owned())));
    }
}
