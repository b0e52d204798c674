//! Whether a thread that was looked at stood in the kernel: by the machine code where it was found.
//!
//! A timer of processor time that runs out in a system call is told of when the call returns: the
//! thread is then at the instruction behind it, or at the call itself if that is to be made again. In
//! code of its own it is anywhere else. Time in page faults and interrupts is not seen so.

use crate::symbols::{AddressSpace, CodeLocation};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The instruction that calls the kernel.
#[cfg(target_arch = "x86_64")]
const CALL: Option<&[u8]> = Some(&[0x0f, 0x05]);
#[cfg(target_arch = "aarch64")]
const CALL: Option<&[u8]> = Some(&[0x01, 0x00, 0x00, 0xd4]);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CALL: Option<&[u8]> = None;

/// Machine code of a process that stands in files.
#[derive(Debug)]
pub(super) struct SyscallDetector {
    space: AddressSpace,
    files: HashMap<String, Option<File>>,
    known: HashMap<u64, bool>,
}

/// True if the instruction of this machine that calls the kernel is known here.
pub(super) fn is_told() -> bool {
    CALL.is_some()
}

impl SyscallDetector {
    /// Of a process that still lives.
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
        let found = self.look(address).unwrap_or(false);
        self.known.insert(address, found);
        found
    }

    fn look(&mut self, address: u64) -> Option<bool> {
        let CodeLocation::File(mapped, offset) = self.space.place(address) else {
            return Some(false);
        };
        let pid = self.space.pid();
        let open = || {
            let path = format!("/proc/{pid}/root{}", mapped.path);
            // Any other file may never end, or wait for somebody.
            let regular = std::fs::metadata(&path).is_ok_and(|found| found.is_file());
            regular.then(|| File::open(&path).ok()).flatten()
        };
        let file = self.files.entry(mapped.path.clone()).or_insert_with(open);
        calls_at(file.as_ref()?, offset)
    }
}

/// True if the kernel is called by the instruction at a place of a file, or by the one before it.
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
    fn a_thread_behind_or_at_a_call_of_the_kernel_is_in_it() {
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
    fn code_of_our_own_is_not_the_kernels() {
        let mut standing = SyscallDetector::of(std::process::id()).unwrap();
        let here = code_of_our_own_is_not_the_kernels as fn() as usize as u64;
        assert!(!standing.in_kernel(here) && !standing.in_kernel(8));
    }
}
