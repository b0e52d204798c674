//! Whether a thread that was looked at stood in the kernel: by the machine code where it was found.
//!
//! A timer of processor time that runs out in a system call is told of when the call returns: the
//! thread is then at the instruction behind it, or at the call itself if that is to be made again. In
//! code of its own it is anywhere else. Time in page faults and interrupts is not seen so.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// The instruction that calls the kernel, and its bytes.
#[cfg(target_arch = "x86_64")]
const CALL: Option<&[u8]> = Some(&[0x0f, 0x05]);
#[cfg(target_arch = "aarch64")]
const CALL: Option<&[u8]> = Some(&[0x01, 0x00, 0x00, 0xd4]);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CALL: Option<&[u8]> = None;

/// Machine code of a process that stands in files.
#[derive(Debug, Default)]
pub(super) struct Standing {
    parts: Vec<Part>,
    files: HashMap<String, Option<File>>,
    known: HashMap<u64, bool>,
    pid: u32,
}

#[derive(Debug)]
struct Part {
    start: u64,
    end: u64,
    offset: u64,
    path: String,
}

/// True if the instruction of this machine that calls the kernel is known here.
pub(super) const fn is_told() -> bool {
    CALL.is_some()
}

impl Standing {
    /// Of a process that still lives.
    pub(super) fn of(pid: u32) -> std::io::Result<Standing> {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
        Ok(Standing {
            parts: maps.lines().filter_map(part).collect(),
            pid,
            ..Standing::default()
        })
    }

    /// True if a thread at that address was in a system call.
    pub(super) fn in_kernel(&mut self, address: u64) -> bool {
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        let found = self.look(address).unwrap_or(false);
        self.known.insert(address, found);
        found
    }

    fn look(&mut self, address: u64) -> Option<bool> {
        let call = CALL?;
        let part = self
            .parts
            .iter()
            .find(|part| (part.start..part.end).contains(&address))?;
        let (pid, path) = (self.pid, &part.path);
        let open = || File::open(format!("/proc/{pid}/root{path}")).ok();
        let file = self.files.entry(path.clone()).or_insert_with(open);
        let place = address - part.start + part.offset;
        let mut around = vec![0; call.len() * 2];
        let before = place.checked_sub(call.len() as u64)?;
        file.as_ref()?.read_exact_at(&mut around, before).ok()?;
        Some(&around[..call.len()] == call || &around[call.len()..] == call)
    }
}

/// A line of `maps`, if it is machine code of a file.
fn part(line: &str) -> Option<Part> {
    let mut words = line.split_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let rights = words.next()?;
    let offset = words.next()?;
    let path = &line[line.find('/')?..];
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let part = Part {
        start: number(start)?,
        end: number(end)?,
        offset: number(offset)?,
        path: path.to_owned(),
    };
    // Only what was once a file can be read as one: a device may never end.
    let is_code = rights.contains('x') && !path.starts_with("/dev/");
    is_code.then_some(part)
}

#[cfg(test)]
mod tests {
    use super::{CALL, Part, Standing, part};

    #[test]
    fn code_of_files_is_told_from_the_rest() {
        let line = "7f10-7f20 r-xp 00001000 fe:00 7          /usr/lib/a b.so";
        let found = part(line).unwrap();
        assert_eq!((found.start, found.end, found.offset), (0x7f10, 0x7f20, 0x1000));
        assert_eq!(found.path, "/usr/lib/a b.so");
        for other in [
            "7f10-7f20 rw-p 00001000 fe:00 7 /usr/lib/a.so",
            "7f10-7f20 r-xp 00000000 00:00 0 [vdso]",
            "7f10-7f20 r-xs 00000000 00:01 7 /dev/zero (deleted)",
            "",
        ] {
            assert!(part(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_thread_behind_or_at_a_call_of_the_kernel_is_in_it() {
        let call = CALL.unwrap_or(&[0x0f, 0x05]);
        let file = tempfile::NamedTempFile::new().unwrap();
        let code = [&[0x90; 8], call, &[0x90; 8]].concat();
        std::fs::write(file.path(), code).unwrap();
        let mut standing = Standing::of(std::process::id()).unwrap();
        standing.parts = vec![Part {
            start: 0x1000,
            end: 0x1100,
            offset: 0,
            path: file.path().to_str().unwrap().to_owned(),
        }];
        let behind = 0x1008 + call.len() as u64;
        let found = [0x1000, 0x1004, 0x1008, behind, behind + 4, 0x10ff, 7]
            .map(|address| standing.in_kernel(address));
        let (yes, no) = (CALL.is_some(), false);
        assert_eq!(found, [no, no, yes, yes, no, no, no]);
    }
}
