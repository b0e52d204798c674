//! The files that were read, and the frames of addresses in them.

use super::address_space::{AddressSpace, CodeLocation};
use super::debug_files::DebugFile;
use super::elf_image::Image;
use super::inlined_functions::Functions;
use super::kernel_symbols::Kernel;
use super::perf_map::PerfMap;
use super::proc_maps::MappedFile;
use object::ReadCache;
use parking_lot::{Mutex, MutexGuard};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use syncline_profile::{Frame, Name, Space};

/// The object name of frames in the vDSO.
const VDSO: &str = "[vdso]";
/// The maximum size of a vDSO.
const VDSO_BYTES: u64 = 1 << 20;

/// Names addresses. Each file is read on first use, and one that cannot be read is not tried again. Clones
/// share what was read, so the collectors of a process read its files once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols(Arc<Mutex<SymbolCache>>);

/// The files that were read, and the frames that were looked up.
#[derive(Debug, Default)]
struct SymbolCache {
    files: HashMap<Arc<MappedFile>, Option<Arc<Image>>>,
    debug: HashMap<Arc<MappedFile>, DebugFile>,
    vdso: OnceCell<Option<Arc<Image>>>,
    kernel: Option<Kernel>,
    java: HashMap<u32, PerfMap>,
    frames: HashMap<CodeLocation, Arc<[Frame]>>,
}

impl Symbols {
    /// Without any files.
    pub(crate) fn new() -> Symbols {
        Symbols::default()
    }

    /// The frames at a location, from the innermost outwards: the inlined functions, then the function that
    /// contains them. A file that was not read while a process had it mapped is opened by its path.
    pub(crate) fn frames(&self, place: &CodeLocation) -> Arc<[Frame]> {
        let mut known = self.cache();
        if let Some(frames) = known.frames.get(place) {
            return Arc::clone(frames);
        }
        let frames: Arc<[Frame]> = known.frames_at(place).into();
        known.frames.insert(place.clone(), Arc::clone(&frames));
        frames
    }

    /// The image of a location's file, as process `pid` sees it.
    pub(crate) fn image(&self, place: &CodeLocation, pid: u32) -> Option<Arc<Image>> {
        self.cache().image(place, pid)
    }

    fn cache(&self) -> MutexGuard<'_, SymbolCache> {
        self.0.lock()
    }
}

impl SymbolCache {
    /// The frame of a kernel address.
    fn kernel(&mut self, address: u64) -> Frame {
        self.kernel.get_or_insert_with(Kernel::read).frame(address)
    }

    fn frames_at(&mut self, place: &CodeLocation) -> Vec<Frame> {
        let (object, offset) = match place {
            CodeLocation::Kernel(address) => return vec![self.kernel(*address)],
            CodeLocation::File(file, offset) => (file_name(&file.path), *offset),
            CodeLocation::Vdso(offset) => (VDSO, *offset),
            CodeLocation::Memory(pid, address) => {
                // Requested once per process, after the window; a process that is not a JVM has no map.
                let ask = || PerfMap::of(*pid).unwrap_or_default();
                let java = self.java.entry(*pid).or_insert_with(ask);
                return vec![java.frame(*address).unwrap_or_else(|| unknown("", 0))];
            }
        };
        let image = self.image(place, std::process::id());
        let stated = image.as_ref().and_then(|image| image.stated(offset));
        let (Some(image), Some(stated)) = (image, stated) else {
            return vec![unknown(object, offset)];
        };
        let (mut name, begin) = image.name(stated);
        let functions = self.functions(place, stated);
        if let (false, Some(outer)) = (matches!(name, Name::Function(_)), functions.outer) {
            name = Name::Function(outer);
        }
        let frame = |name, inlined| Frame {
            space: Space::Native,
            object: object.to_owned(),
            name,
            offset: begin,
            inlined,
        };
        let inlined = functions.inlined.into_iter();
        let inlined = inlined.map(|name| frame(Name::Function(name), true));
        let mut frames: Vec<Frame> = inlined.collect();
        frames.push(frame(name, false));
        frames
    }

    fn functions(&mut self, place: &CodeLocation, stated: u64) -> Functions {
        let CodeLocation::File(file, _) = place else {
            return Functions::default();
        };
        let debug = self.debug.get_mut(file).and_then(DebugFile::inlined);
        debug.map_or_else(Functions::default, |debug| debug.functions(stated))
    }

    fn image(&mut self, place: &CodeLocation, pid: u32) -> Option<Arc<Image>> {
        match place {
            CodeLocation::File(file, _) => {
                if let Some(image) = self.files.get(file) {
                    return image.clone();
                }
                let image = self.read(file, pid).map(Arc::new);
                self.files.insert(Arc::clone(file), image.clone());
                image
            }
            CodeLocation::Vdso(_) => {
                let read = || Image::read(&*read_vdso()?).map(Arc::new);
                self.vdso.get_or_init(read).clone()
            }
            CodeLocation::Kernel(_) | CodeLocation::Memory(..) => None,
        }
    }

    /// Reads a file and opens its debug information.
    fn read(&mut self, file: &Arc<MappedFile>, pid: u32) -> Option<Image> {
        let opened = open(file, pid)?;
        let image = Image::read(&ReadCache::new(&opened))?;
        let apart = |path: &str| open_regular(path, pid);
        if let Some(debug) = DebugFile::of(opened, &image, apart) {
            self.debug.insert(Arc::clone(file), debug);
        }
        Some(image)
    }
}

fn unknown(object: &str, offset: u64) -> Frame {
    Frame {
        space: Space::Native,
        object: object.to_owned(),
        name: Name::Unknown,
        offset,
        inlined: false,
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn open(file: &MappedFile, pid: u32) -> Option<File> {
    if file.deleted {
        return None;
    }
    open_regular(&file.path, pid)
}

/// Opens a regular file, as the process sees it or as this process does. Reading any other kind of file might
/// block or never end, such as `/dev/zero`.
fn open_regular(path: &str, pid: u32) -> Option<File> {
    let of_process = PathBuf::from(format!("/proc/{pid}/root{path}"));
    [of_process.as_path(), Path::new(path)].into_iter().find_map(|path| {
        let is_file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
        is_file.then(|| File::open(path).ok()).flatten()
    })
}

fn read_vdso() -> Option<Vec<u8>> {
    let space = AddressSpace::of(std::process::id()).ok()?;
    let code = space.code().find(|code| matches!(code.place, CodeLocation::Vdso(_)))?;
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
    use super::{Symbols, VDSO, file_name};
    use crate::symbols::proc_maps::MappedFile;
    use crate::symbols::test_library::{copied, library};
    use crate::symbols::{AddressSpace, CodeLocation};
    use std::collections::BTreeSet;
    use std::sync::Arc;
    use syncline_profile::{Frame, Name, Space};

    fn frame_at(symbols: &Symbols, space: &AddressSpace, address: u64) -> Frame {
        let place = space.place(address);
        symbols.image(&place, space.pid());
        outer(&symbols.frames(&place))
    }

    /// The frame that contains the others.
    fn outer(frames: &[Frame]) -> Frame {
        frames.last().unwrap().clone()
    }

    #[test]
    fn our_own_function_is_called_by_its_name() {
        let space = AddressSpace::of(std::process::id()).unwrap();
        let symbols = Symbols::new();
        let begin = our_own_function_is_called_by_its_name as fn() as usize as u64;
        let frame = frame_at(&symbols, &space, begin + 1);
        assert_eq!(frame.space, Space::Native);
        let Name::Function(name) = &frame.name else {
            panic!("{frame:?} has no name");
        };
        assert!(name.ends_with("symbols::tests::our_own_function_is_called_by_its_name"), "{name}");
        assert_eq!(frame_at(&symbols, &space, begin + 9), frame);
        assert_eq!(frame_at(&symbols, &space, 8).name, Name::Unknown);
    }

    #[test]
    fn clones_share_files_and_names() {
        let space = AddressSpace::of(std::process::id()).unwrap();
        let place = space.place(clones_share_files_and_names as fn() as usize as u64);
        let one = Symbols::new();
        let other = one.clone();
        let image = one.image(&place, space.pid()).unwrap();
        assert!(Arc::ptr_eq(&image, &other.image(&place, 0).unwrap()));
        assert!(Arc::ptr_eq(&one.frames(&place), &other.frames(&place)));
    }

    #[test]
    fn the_libraries_functions_and_the_vdso_are_named() {
        let space = AddressSpace::of(std::process::id()).unwrap();
        let symbols = Symbols::new();
        let (mut named, mut between, mut vdso, mut others) = (0, 0, 0, 0);
        let is_libc = |object: &str| object.starts_with("libc.so");
        let code = space.code().filter(|code| match &code.place {
            CodeLocation::File(file, _) => is_libc(file_name(&file.path)),
            _ => true,
        });
        let code: Vec<_> = code.map(|code| code.range).collect();
        for range in code {
            for address in range.step_by(64) {
                let frame = frame_at(&symbols, &space, address);
                match frame.name {
                    Name::Function(_) if frame.object == VDSO => vdso += 1,
                    Name::Function(_) if is_libc(&frame.object) => named += 1,
                    Name::Between { .. } if is_libc(&frame.object) => between += 1,
                    _ => others += 1,
                }
            }
        }
        assert!(vdso > 0, "no function of the vDSO has a name");
        // With debug information installed, nearly all functions are named.
        let nearly_all = !symbols.cache().debug.is_empty();
        assert!(
            named > 1000 && (between > 1000 || nearly_all && between * 9 < named),
            "libc: {named} named, {between} between, {others} elsewhere"
        );
    }

    /// The names at every address in the code of a library, from the innermost outwards.
    fn names(path: &std::path::Path, code: std::ops::Range<u64>) -> BTreeSet<Vec<String>> {
        let file = MappedFile {
            path: path.to_str().unwrap().to_owned(),
            identity: ("fe:00".to_owned(), 1),
            deleted: false,
        };
        let (file, symbols) = (Arc::new(file), Symbols::new());
        let named = code.map(|offset| {
            let frames = symbols.frames(&CodeLocation::File(Arc::clone(&file), offset));
            let (outer, inlined) = frames.split_last().unwrap();
            assert!(!outer.inlined);
            assert!(inlined.iter().all(|it| it.inlined && it.offset == outer.offset));
            frames.iter().map(Frame::label).collect()
        });
        named.collect()
    }

    #[test]
    fn debug_information_gives_inlined_functions_their_own_frames() {
        let made = library(&[]);
        let chain = ["mine::mix", "mine::twice", "mine_outer"].map(str::to_owned);
        let found = names(&made.path, made.code.clone());
        assert!(found.contains(&chain[..]), "{found:?}");
        assert!(found.contains(&chain[2..]));
        let stripped = names(&copied(&made, "--strip-debug"), made.code.clone());
        assert!(stripped.contains(&chain[2..]));
        assert!(stripped.iter().all(|names| names.len() == 1), "{stripped:?}");
    }

    #[allow(clippy::inline_always, reason = "the test needs it inlined in any profile")]
    #[inline(always)]
    fn put_into_its_caller(number: u64) -> u64 {
        std::hint::black_box(number).wrapping_mul(77_777)
    }

    #[inline(never)]
    fn its_caller(number: u64) -> u64 {
        put_into_its_caller(number) ^ 9
    }

    #[test]
    fn our_own_inlined_function_is_called_by_its_name() {
        let space = AddressSpace::of(std::process::id()).unwrap();
        let symbols = Symbols::new();
        let begin = its_caller as fn(u64) -> u64 as usize as u64;
        let mut names = (begin..begin + 32).map(|address| {
            let place = space.place(address);
            symbols.image(&place, space.pid());
            let frames = symbols.frames(&place);
            frames.iter().map(Frame::label).collect::<Vec<_>>()
        });
        let found = names.any(|names| {
            let inlined = names.iter().any(|name| name.ends_with("put_into_its_caller"));
            inlined && names.last().unwrap().ends_with("tests::its_caller")
        });
        assert!(found, "no code of an inlined function in {:#x}", its_caller(begin));
    }

    #[test]
    fn a_device_is_not_read() {
        let space = AddressSpace::of(std::process::id()).unwrap();
        let CodeLocation::File(file, _) = space.code().next().unwrap().place else {
            panic!("the first mapping is our program");
        };
        let mut device = (*file).clone();
        device.path = "/dev/zero".to_owned();
        let symbols = Symbols::new();
        let frame = outer(&symbols.frames(&CodeLocation::File(device.into(), 64)));
        assert_eq!((frame.object.as_str(), frame.name), ("zero", Name::Unknown));
        assert_eq!(frame.offset, 64);
    }

    #[test]
    fn the_kernels_functions_are_named_where_addresses_may_be_seen() {
        let listed = std::fs::read_to_string("/proc/kallsyms").unwrap();
        let line = listed.lines().find(|line| line.ends_with(" T schedule"));
        let line = line.expect("every kernel has it");
        let address = u64::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap();
        let frame = outer(&Symbols::new().frames(&CodeLocation::Kernel(address + 1)));
        let hidden = address == 0;
        let expected = if hidden { Name::Unknown } else { Name::Function("schedule".to_owned()) };
        assert_eq!(frame.name, expected);
    }
}
