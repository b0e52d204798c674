//! Which file a process has mapped where.

use super::proc_maps::{self, Backing, MappedFile, Mapping};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The executable memory of a process, as it was when last looked at. A clone costs little, so that a
/// child has its parent's until it maps something itself.
#[derive(Clone, Debug)]
pub(crate) struct AddressSpace {
    pid: u32,
    mappings: Arc<[Mapping]>,
}

/// An address in terms that outlive the process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CodeLocation {
    /// In the kernel.
    Kernel(u64),
    /// In a file, by position in it.
    File(Arc<MappedFile>, u64),
    /// In the vDSO, by position in it.
    Vdso(u64),
    /// In memory without a file: the process and the address.
    Memory(u32, u64),
}

/// A mapped file with code in it.
#[derive(Debug)]
pub(crate) struct Code {
    /// Where it is.
    pub range: Range<u64>,
    /// Its first byte's place.
    pub place: CodeLocation,
}

impl CodeLocation {
    /// The position in the file; none elsewhere.
    pub(crate) fn offset(&self) -> Option<u64> {
        match self {
            CodeLocation::File(_, offset) | CodeLocation::Vdso(offset) => Some(*offset),
            CodeLocation::Kernel(_) | CodeLocation::Memory(..) => None,
        }
    }
}

impl AddressSpace {
    /// Looks at a process. The error is the kernel's: there is none, or it is none of ours.
    pub(crate) fn of(pid: u32) -> io::Result<AddressSpace> {
        let mappings = proc_maps::read(pid)?.into();
        Ok(AddressSpace { pid, mappings })
    }

    /// What a process has that was just forked from this one.
    pub(crate) fn forked(&self, pid: u32) -> AddressSpace {
        AddressSpace { pid, mappings: Arc::clone(&self.mappings) }
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// True if code can stand at an address.
    pub(crate) fn holds(&self, address: u64) -> bool {
        self.mapping(address).is_some()
    }

    /// Where an address is.
    pub(crate) fn place(&self, address: u64) -> CodeLocation {
        let Some(mapping) = self.mapping(address) else {
            return CodeLocation::Memory(self.pid, address);
        };
        let into = address - mapping.range.start;
        match &mapping.backing {
            Backing::File(file) => {
                CodeLocation::File(Arc::clone(file), mapping.offset.saturating_add(into))
            }
            Backing::Vdso => CodeLocation::Vdso(into),
            Backing::Anonymous => CodeLocation::Memory(self.pid, address),
        }
    }

    /// Every mapped piece of code, by address.
    pub(crate) fn code(&self) -> impl Iterator<Item = Code> {
        self.mappings.iter().map(|mapping| Code {
            range: mapping.range.clone(),
            place: self.place(mapping.range.start),
        })
    }

    /// True if nothing has changed between the two.
    pub(crate) fn is_same(&self, other: &AddressSpace) -> bool {
        Arc::ptr_eq(&self.mappings, &other.mappings) || self.mappings == other.mappings
    }

    fn mapping(&self, address: u64) -> Option<&Mapping> {
        let after = self.mappings.partition_point(|mapping| mapping.range.start <= address);
        let mapping = self.mappings.get(after.checked_sub(1)?)?;
        mapping.range.contains(&address).then_some(mapping)
    }
}

#[cfg(test)]
mod tests {
    use super::{AddressSpace, CodeLocation};

    #[test]
    fn our_own_function_is_in_our_own_file() {
        let space = AddressSpace::of(std::process::id()).unwrap();
        let here = our_own_function_is_in_our_own_file as fn() as usize as u64;
        let CodeLocation::File(file, offset) = space.place(here) else {
            panic!("{here:#x} is in no file of {space:?}");
        };
        let exe = std::env::current_exe().unwrap();
        assert_eq!(file.path, exe.to_str().unwrap());
        assert!(offset > 0 && !file.deleted);
        assert!(space.holds(here) && !space.holds(8));
        assert_eq!(space.place(8), CodeLocation::Memory(std::process::id(), 8));
        let child = space.forked(1);
        assert!(child.is_same(&space) && child.pid() == 1);
        assert_eq!(child.place(here), CodeLocation::File(file, offset));
    }

    #[test]
    fn a_process_that_is_not_there_has_none() {
        assert!(AddressSpace::of(u32::MAX).is_err());
    }
}
