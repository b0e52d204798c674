//! Files that were read, and the frames that addresses in them are.

use super::image::Image;
use super::kernel::Kernel;
use super::maps::MappedFile;
use super::space::{AddressSpace, Place};
use object::ReadCache;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use syncline_profile::{Frame, Name, Space};

/// What frames of the vDSO have for an object.
const VDSO: &str = "[vdso]";
/// No vDSO is as long.
const VDSO_BYTES: u64 = 1 << 20;

/// Names of addresses. Each file is read when it is first asked for; a file that cannot be read is not
/// tried again.
#[derive(Debug, Default)]
pub(in crate::collect) struct Symbols {
    files: HashMap<Arc<MappedFile>, Option<Arc<Image>>>,
    vdso: OnceCell<Option<Arc<Image>>>,
    kernel: Option<Kernel>,
}

impl Symbols {
    /// Nothing is read yet.
    pub(in crate::collect) fn new() -> Symbols {
        Symbols::default()
    }

    /// The frame at an address of the kernel.
    fn kernel(&mut self, address: u64) -> Frame {
        self.kernel.get_or_insert_with(Kernel::read).frame(address)
    }

    /// The frame at a place. A file that was not read while a process had it is looked for by its path.
    pub(in crate::collect) fn frame(&mut self, place: &Place) -> Frame {
        let (object, offset) = match place {
            Place::Kernel(address) => return self.kernel(*address),
            Place::File(file, offset) => (file_name(&file.path), *offset),
            Place::Vdso(offset) => (VDSO, *offset),
            Place::Memory(..) => return unknown("", 0),
        };
        let Some(image) = self.image(place, std::process::id()) else {
            return unknown(object, offset);
        };
        let Some(stated) = image.stated(offset) else {
            return unknown(object, offset);
        };
        let (name, begin) = image.name(stated);
        Frame {
            space: Space::Native,
            object: object.to_owned(),
            name,
            offset: begin,
        }
    }

    /// The file of a place, as the process `pid` sees it.
    pub(in crate::collect) fn image(&mut self, place: &Place, pid: u32) -> Option<Arc<Image>> {
        match place {
            Place::File(file, _) => {
                if let Some(image) = self.files.get(file) {
                    return image.clone();
                }
                let image = open(file, pid).and_then(|file| Image::read(&ReadCache::new(file)));
                let image = image.map(Arc::new);
                self.files.insert(Arc::clone(file), image.clone());
                image
            }
            Place::Vdso(_) => {
                let read = || Image::read(&*read_vdso()?).map(Arc::new);
                self.vdso.get_or_init(read).clone()
            }
            Place::Kernel(_) | Place::Memory(..) => None,
        }
    }
}

fn unknown(object: &str, offset: u64) -> Frame {
    Frame {
        space: Space::Native,
        object: object.to_owned(),
        name: Name::Unknown,
        offset,
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Opens a regular file: any other may never end, as `/dev/zero` does not, or wait for somebody.
fn open(file: &MappedFile, pid: u32) -> Option<File> {
    if file.deleted {
        return None;
    }
    let path = Path::new(&file.path);
    let seen = PathBuf::from(format!("/proc/{pid}/root{}", file.path));
    [seen.as_path(), path].into_iter().find_map(|path| {
        let is_file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
        is_file.then(|| File::open(path).ok()).flatten()
    })
}

fn read_vdso() -> Option<Vec<u8>> {
    let space = AddressSpace::of(std::process::id()).ok()?;
    let code = space
        .code()
        .find(|code| matches!(code.place, Place::Vdso(_)))?;
    let bytes = code.range.end - code.range.start;
    if bytes > VDSO_BYTES {
        return None;
    }
    let mut memory = File::open("/proc/self/mem").ok()?;
    memory.seek(SeekFrom::Start(code.range.start)).ok()?;
    let mut copy = vec![0; bytes as usize];
    memory.read_exact(&mut copy).ok()?;
    Some(copy)
}

#[cfg(test)]
mod tests {
    use super::{Symbols, VDSO};
    use crate::collect::symbols::{AddressSpace, Place};
    use syncline_profile::{Frame, Name, Space};

    fn frame_at(symbols: &mut Symbols, space: &AddressSpace, address: u64) -> Frame {
        let place = space.place(address);
        symbols.image(&place, space.pid());
        symbols.frame(&place)
    }

    #[test]
    fn our_own_function_is_called_by_its_name() {
        let space = AddressSpace::of(std::process::id()).unwrap();
        let mut symbols = Symbols::new();
        let begin = our_own_function_is_called_by_its_name as fn() as usize as u64;
        let frame = frame_at(&mut symbols, &space, begin + 1);
        assert_eq!(frame.space, Space::Native);
        let Name::Function(name) = &frame.name else {
            panic!("{frame:?} has no name");
        };
        assert!(
            name.ends_with("symbols::tests::our_own_function_is_called_by_its_name"),
            "{name}"
        );
        assert_eq!(frame_at(&mut symbols, &space, begin + 9), frame);
        assert_eq!(frame_at(&mut symbols, &space, 8).name, Name::Unknown);
    }

    #[test]
    fn the_libraries_functions_and_the_vdso_are_named() {
        let space = AddressSpace::of(std::process::id()).unwrap();
        let mut symbols = Symbols::new();
        let (mut named, mut between, mut vdso) = (0, 0, 0);
        let code: Vec<_> = space.code().map(|code| code.range).collect();
        for range in code {
            for address in range.step_by(64) {
                let frame = frame_at(&mut symbols, &space, address);
                match frame.name {
                    Name::Function(_) if frame.object == VDSO => vdso += 1,
                    Name::Function(_) if frame.object.starts_with("libc.so") => named += 1,
                    Name::Between { .. } if frame.object.starts_with("libc.so") => between += 1,
                    _ => {}
                }
            }
        }
        assert!(vdso > 0, "no function of the vDSO has a name");
        assert!(
            named > 1000 && between > 1000,
            "libc: {named} named, {between} between"
        );
    }

    #[test]
    fn a_device_is_not_read() {
        let space = AddressSpace::of(std::process::id()).unwrap();
        let Place::File(file, _) = space.code().next().unwrap().place else {
            panic!("the first mapping is our program");
        };
        let mut device = (*file).clone();
        device.path = "/dev/zero".to_owned();
        let mut symbols = Symbols::new();
        let frame = symbols.frame(&Place::File(device.into(), 64));
        assert_eq!((frame.object.as_str(), frame.name), ("zero", Name::Unknown));
        assert_eq!(frame.offset, 64);
    }

    #[test]
    fn the_kernels_functions_are_named_where_addresses_may_be_seen() {
        let listed = std::fs::read_to_string("/proc/kallsyms").unwrap();
        let line = listed.lines().find(|line| line.ends_with(" T schedule"));
        let line = line.expect("every kernel has it");
        let address = u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap();
        let frame = Symbols::new().frame(&Place::Kernel(address + 1));
        let hidden = address == 0;
        let expected = if hidden {
            Name::Unknown
        } else {
            Name::Function("schedule".to_owned())
        };
        assert_eq!(frame.name, expected);
    }
}
