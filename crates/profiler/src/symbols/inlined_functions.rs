//! Finds inlined functions from a file's debug information (DWARF).
//!
//! 1. Opening reads the header of every unit; a unit's content is read when an address in it is first looked
//!    up.
//! 2. A file with more debug information than [`MOST`] is treated as without: the content is held in memory,
//!    and reading takes time per byte.
//! 3. A name is that of the symbol table (`DW_AT_linkage_name`) if given. If the compiler wrote line tables
//!    only, it is the last part of the name, without the path.
//! 4. A function without a name is left out.
//! 5. Debug information in files next to the objects (`.dwo`) or in shared files (`dwz`) is not read.

use super::demangle::demangle;
use addr2line::Context;
use gimli::{Dwarf, EndianArcSlice, NativeEndian, SectionId};
use object::read::elf::ElfFile64;
use object::{CompressedData, CompressedFileRange, CompressionFormat, Endianness};
use object::{Object, ObjectSection, ReadCache};
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The maximum bytes of debug information read from one file, over all sections, uncompressed.
const MOST: u64 = 512 << 20;

/// The sections that are read; `addr2line` requires line tables.
const SECTIONS: [SectionId; 10] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugAranges,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
];

type Bytes = EndianArcSlice<NativeEndian>;

/// The debug information of a file.
pub(super) struct Inlined(Context<Bytes>);

/// The functions at one address.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Functions {
    /// The functions inlined into the next one, from the innermost outwards.
    pub inlined: Vec<String>,
    /// The function that contains all of them.
    pub outer: Option<String>,
}

impl Inlined {
    /// Opens the debug information of a file; none if there is none, too much, or it is invalid.
    pub(super) fn read(file: &File) -> Option<Inlined> {
        let stored = stored(file)?;
        let mut left = MOST;
        let load = |id: SectionId| {
            let bytes = match stored.get(id.name()) {
                Some(stored) => section(file, *stored, &mut left).ok_or(gimli::Error::Io)?,
                None => Arc::from([]),
            };
            Ok::<_, gimli::Error>(Bytes::new(bytes, NativeEndian))
        };
        let dwarf = Dwarf::load(load).ok()?;
        Context::from_dwarf(dwarf).ok().map(Inlined)
    }

    /// The functions at a stated address; empty if the debug information does not cover it.
    pub(super) fn functions(&self, address: u64) -> Functions {
        let Ok(mut frames) = self.0.find_frames(address).skip_all_loads() else {
            return Functions::default();
        };
        let mut found = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref();
            let name = name.and_then(|name| name.raw_name().ok());
            found.push(name.map(|name| demangle(&name)));
        }
        let outer = found.pop().flatten();
        Functions { inlined: found.into_iter().flatten().collect(), outer }
    }
}

impl fmt::Debug for Inlined {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Inlined").finish_non_exhaustive()
    }
}

/// A section's bytes, uncompressed. None if they cannot be read or exceed the remaining limit.
fn section(file: &File, stored: CompressedFileRange, left: &mut u64) -> Option<Arc<[u8]>> {
    *left = left.checked_sub(stored.uncompressed_size)?;
    if stored.format == CompressionFormat::None {
        return read(file, stored).map(Arc::from);
    }
    let packed = read(file, stored)?;
    let packed = CompressedData {
        format: stored.format,
        data: &packed,
        uncompressed_size: stored.uncompressed_size,
    };
    Some(Arc::from(packed.decompress().ok()?))
}

/// The positions of the existing sections; none if the file cannot be read. Called once for all sections,
/// since it also reads the symbols.
fn stored(file: &File) -> Option<HashMap<&'static str, CompressedFileRange>> {
    let cache = ReadCache::new(file);
    let parsed = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
    let mut stored = HashMap::new();
    for id in SECTIONS {
        if let Some(section) = parsed.section_by_name(id.name()) {
            stored.insert(id.name(), section.compressed_file_range().ok()?);
        }
    }
    Some(stored)
}

fn read(file: &File, stored: CompressedFileRange) -> Option<Vec<u8>> {
    let end = stored.offset.checked_add(stored.compressed_size)?;
    if end > file.metadata().ok()?.len() {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(stored.compressed_size).ok()?];
    file.read_exact_at(&mut bytes, stored.offset).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Functions, Inlined};
    use crate::symbols::test_library::{TestLibrary, library};
    use std::fs::{self, File};
    use std::os::unix::fs::FileExt;

    /// The functions at every address of a file's code.
    fn all(file: &File, code: std::ops::Range<u64>) -> Vec<Functions> {
        let inlined = Inlined::read(file).unwrap();
        code.map(|address| inlined.functions(address)).collect()
    }

    #[test]
    fn an_address_is_in_all_functions_inlined_into_each_other() {
        let expected = Functions {
            inlined: ["mine::mix", "mine::twice"].map(str::to_owned).to_vec(),
            outer: Some("mine_outer".to_owned()),
        };
        for compression in ["none", "zlib"] {
            let TestLibrary { path, code, .. } = &library(&[&format!("-gz={compression}")]);
            let found = all(&File::open(path).unwrap(), code.clone());
            assert!(found.contains(&expected), "{compression}: {found:?}");
            let named = |name: &str| found.iter().any(|it| it.outer.as_deref() == Some(name));
            assert!(named("mine_outer") && named("mine_plain"));
            let plain = found.iter().filter(|it| it.outer.as_deref() == Some("mine_plain"));
            assert!(plain.clone().count() > 0 && plain.clone().all(|it| it.inlined.is_empty()));
        }
    }

    #[test]
    fn corrupted_files_are_read_without_a_panic() {
        let TestLibrary { path, code, .. } = &library(&["-gz=none"]);
        let whole = fs::read(path).unwrap();
        let file = tempfile::tempfile().unwrap();
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..300 {
            file.write_all_at(&whole, 0).unwrap();
            for _ in 0..random.usize(1..8) {
                let byte = [random.u8(..)];
                file.write_all_at(&byte, random.u64(0..whole.len() as u64)).unwrap();
            }
            if let Some(inlined) = Inlined::read(&file) {
                for address in code.clone().step_by(3) {
                    inlined.functions(address);
                }
            }
        }
    }
}
