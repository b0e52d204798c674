//! The mapping of a process's addresses to files.

use super::proc_maps::{self, Backing, MappedFile, Mapping};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The executable memory of a process, as of the last reading. A clone is cheap, so a child has its parent's
/// until it maps something itself.
#[derive(Clone, Debug)]
pub(crate) struct AddressSpace {
    pid: u32,
    mappings: Arc<[Mapping]>,
}

/// The location of code, valid after the process has ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CodeLocation {
    /// In the kernel, by address.
    Kernel(u64),
    /// In a file, by position.
    File(Arc<MappedFile>, u64),
    /// In the vDSO, by position.
    Vdso(u64),
    /// In memory without a file, by process and address.
    Memory(u32, u64),
}

/// A mapped piece of code.
#[derive(Debug)]
pub(crate) struct Code {
    /// Its addresses.
    pub range: Range<u64>,
    /// The location of its first byte.
    pub place: CodeLocation,
}

impl CodeLocation {
    /// Its position in the file; none without a file.
    pub(crate) fn offset(&self) -> Option<u64> {
        match self {
            CodeLocation::File(_, offset) | CodeLocation::Vdso(offset) => Some(*offset),
            CodeLocation::Kernel(_) | CodeLocation::Memory(..) => None,
        }
    }
}

impl AddressSpace {
    /// Reads the mappings of a process. The error is the kernel's: the process does not exist, or this user
    /// may not see it.
    pub(crate) fn of(pid: u32) -> io::Result<AddressSpace> {
        let mappings = proc_maps::read(pid)?.into();
        Ok(AddressSpace { pid, mappings })
    }

    /// The address space of a process that was just forked from this one.
    pub(crate) fn forked(&self, pid: u32) -> AddressSpace {
        AddressSpace { pid, mappings: Arc::clone(&self.mappings) }
    }

    /// The process number.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// True if an address can be code.
    pub(crate) fn holds(&self, address: u64) -> bool {
        self.mapping(address).is_some()
    }

    /// The location of an address.
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

    /// All mapped code, by address.
    pub(crate) fn code(&self) -> impl Iterator<Item = Code> {
        self.mappings.iter().map(|mapping| Code {
            range: mapping.range.clone(),
            place: self.place(mapping.range.start),
        })
    }

    /// True if the mappings are equal.
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
    fn a_missing_process_has_no_address_space() {
        assert!(AddressSpace::of(u32::MAX).is_err());
    }
}
