//! Detects whether a sampled thread was in the kernel, by the machine code at its address.
//!
//! A timer of processor time that expires in a system call is delivered when the call returns: the thread is
//! then at the instruction after the call, or at the call itself if it is to be repeated. In its own code it
//! is anywhere else. Time in page faults and interrupts is not detected.

use crate::symbols::{AddressSpace, CodeLocation};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The system call instruction.
#[cfg(target_arch = "x86_64")]
const CALL: Option<&[u8]> = Some(&[0x0f, 0x05]);
#[cfg(target_arch = "aarch64")]
const CALL: Option<&[u8]> = Some(&[0x01, 0x00, 0x00, 0xd4]);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CALL: Option<&[u8]> = None;

/// The machine code of a process, read from its files.
#[derive(Debug)]
pub(super) struct SyscallDetector {
    space: AddressSpace,
    files: HashMap<String, Option<File>>,
    known: HashMap<u64, bool>,
}

/// True if the system call instruction of this architecture is known.
pub(super) fn is_supported() -> bool {
    CALL.is_some()
}

impl SyscallDetector {
    /// For a process that still exists.
    pub(super) fn of(pid: u32) -> io::Result<SyscallDetector> {
        Ok(SyscallDetector {
            space: AddressSpace::of(pid)?,
            files: HashMap::new(),
            known: HashMap::new(),
        })
    }

    /// True if a thread at that address was in a system call.
    pub(super) fn in_kernel(&mut self, address: u64) -> bool {
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        let found = self.check(address).unwrap_or(false);
        self.known.insert(address, found);
        found
    }

    fn check(&mut self, address: u64) -> Option<bool> {
        let CodeLocation::File(mapped, offset) = self.space.place(address) else {
            return Some(false);
        };
        let pid = self.space.pid();
        let open = || {
            let path = format!("/proc/{pid}/root{}", mapped.path);
            // Reading any other kind of file might block or never end.
            let regular = std::fs::metadata(&path).is_ok_and(|found| found.is_file());
            regular.then(|| File::open(&path).ok()).flatten()
        };
        let file = self.files.entry(mapped.path.clone()).or_insert_with(open);
        calls_at(file.as_ref()?, offset)
    }
}

/// True if the instruction at a position of a file, or the one before it, is a system call.
fn calls_at(file: &File, offset: u64) -> Option<bool> {
    let call = CALL?;
    let is_call = |at: Option<u64>| {
        let mut found = vec![0; call.len()];
        let read = at.is_some_and(|at| file.read_exact_at(&mut found, at).is_ok());
        read && found == call
    };
    Some(is_call(Some(offset)) || is_call(offset.checked_sub(call.len() as u64)))
}

#[cfg(test)]
mod tests {
    use super::{CALL, SyscallDetector, calls_at};
    use std::fs::{self, File};

    #[test]
    fn a_thread_after_or_at_a_system_call_is_in_the_kernel() {
        let call = CALL.unwrap_or(&[0x0f, 0x05]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("code");
        fs::write(&path, [&[0x90; 8], call, &[0x90; 8]].concat()).unwrap();
        let file = File::open(&path).unwrap();
        let behind = 8 + call.len() as u64;
        let offsets = [0, 4, 8, behind, behind + 4, behind + 9, u64::MAX];
        let found = offsets.map(|offset| calls_at(&file, offset).unwrap_or(false));
        let (yes, no) = (CALL.is_some(), false);
        assert_eq!(found, [no, no, yes, yes, no, no, no]);
    }

    #[test]
    fn own_code_is_not_in_the_kernel() {
        let mut standing = SyscallDetector::of(std::process::id()).unwrap();
        let here = own_code_is_not_in_the_kernel as fn() as usize as u64;
        assert!(!standing.in_kernel(here) && !standing.in_kernel(8));
    }
}
