//! Finds a file's debug information: in the file itself, or in a separate file under
//! `/usr/lib/debug/.build-id`, named by the linker's build id.
//!
//! 1. Files are opened while the process runs and read when its addresses are named, so the content is that
//!    of the mapped files, whatever was installed since.
//! 2. A separate file is used only if it contains the same build id.

use super::elf_image::Image;
use super::inlined_functions::Inlined;
use object::ReadCache;
use std::fmt::Write;
use std::fs::File;
use std::path::PathBuf;

/// The directory of separate debug information.
const APART: &str = "/usr/lib/debug/.build-id";

/// A file's debug information.
#[derive(Debug)]
pub(super) enum DebugFile {
    /// Opened, but not read yet.
    Opened(File),
    /// Read; none if it could not be read.
    Read(Option<Box<Inlined>>),
}

impl DebugFile {
    /// The debug information of a file with this image. `open` opens a regular file by its path.
    pub(super) fn of(
        file: File,
        image: &Image,
        open: impl FnOnce(&str) -> Option<File>,
    ) -> Option<DebugFile> {
        if image.has_debug_info {
            return Some(DebugFile::Opened(file));
        }
        let build_id = image.build_id.as_deref()?;
        let apart = open(path(build_id)?.to_str()?)?;
        let kept = Image::read(&ReadCache::new(&apart))?;
        let same = kept.build_id.as_deref() == Some(build_id);
        (same && kept.has_debug_info).then_some(DebugFile::Opened(apart))
    }

    /// The inlined functions, read on first use.
    pub(super) fn inlined(&mut self) -> Option<&Inlined> {
        if let DebugFile::Opened(file) = self {
            *self = DebugFile::Read(Inlined::read(file).map(Box::new));
        }
        match self {
            DebugFile::Read(inlined) => inlined.as_deref(),
            DebugFile::Opened(_) => None,
        }
    }
}

/// The directory is the first byte of the build id, the name the other bytes.
fn path(build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first()?;
    let mut name = String::new();
    for byte in rest {
        write!(name, "{byte:02x}").expect("writing to a string does not fail");
    }
    Some(PathBuf::from(format!("{APART}/{first:02x}/{name}.debug")))
}

#[cfg(test)]
mod tests {
    use super::DebugFile;
    use crate::symbols::elf_image::Image;
    use crate::symbols::inlined_functions::Functions;
    use crate::symbols::test_library::{TestLibrary, copied, library};
    use std::fs::{self, File};
    use std::path::Path;

    /// The debug information of a stripped file with a separate file `apart`.
    fn found(stripped: &Path, apart: &Path) -> Option<DebugFile> {
        let image = Image::read(&*fs::read(stripped).unwrap()).unwrap();
        let build_id = image.build_id.clone().unwrap();
        let hex = build_id.iter().map(|byte| format!("{byte:02x}"));
        let hex = hex.collect::<Vec<_>>().concat();
        let expected = format!("/usr/lib/debug/.build-id/{}/{}.debug", &hex[..2], &hex[2..]);
        DebugFile::of(File::open(stripped).unwrap(), &image, |path| {
            assert_eq!(path, expected);
            File::open(apart).ok()
        })
    }

    #[test]
    fn a_stripped_file_uses_its_separate_debug_file() {
        let made = library(&[]);
        let stripped = copied(&made, "--strip-debug");
        let apart = copied(&made, "--only-keep-debug");
        let mut debug = found(&stripped, &apart).unwrap();
        let inlined = debug.inlined().unwrap();
        let mut found = made.code.clone().map(|address| inlined.functions(address));
        assert!(found.any(|it: Functions| it.inlined.contains(&"mine::mix".to_owned())));
    }

    #[test]
    fn a_separate_file_of_another_build_or_a_missing_one_is_not_used() {
        let (made, other) = (library(&[]), library(&["-O2"]));
        let stripped = copied(&made, "--strip-debug");
        assert!(found(&stripped, &copied(&other, "--only-keep-debug")).is_none());
        assert!(found(&stripped, &stripped).is_none());
        assert!(found(&stripped, &made.folder.path().join("nothing")).is_none());
        let TestLibrary { path, .. } = &made;
        let image = Image::read(&*fs::read(path).unwrap()).unwrap();
        let own = DebugFile::of(File::open(path).unwrap(), &image, |path| panic!("{path}"));
        assert!(own.unwrap().inlined().is_some());
    }
}
