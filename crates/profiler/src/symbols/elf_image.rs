//! Reads an ELF file: the names and addresses of its functions, and the tables for unwinding its stacks.
//!
//! Only 64-bit files are read. Every length in the file is checked by the reader, so a file of arbitrary
//! bytes yields an image with less in it, or none.

use super::demangle::demangle;
use super::source_paths::{Bytes, anchors};
use gimli::{BaseAddresses, EhFrameHdr, EndianSlice, NativeEndian};
use object::elf::{
    ELF_NOTE_GNU, FileHeader64, NT_GNU_BUILD_ID, PF_X, PT_LOAD, ProgramHeader64, SHT_DYNSYM,
    SHT_PROGBITS, SHT_SYMTAB, STB_WEAK, STT_FUNC, STT_GNU_IFUNC, SectionHeader64, Sym64,
};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{Endianness, ReadRef};
use std::ops::Range;
use std::sync::Arc;
use syncline_profile::Name;

/// The number of symbols before an address that are checked for covering it, since symbols may be nested.
const NESTED: usize = 8;
/// The smallest page.
const PAGE: u64 = 4096;

/// The contents of a file.
#[derive(Debug, Default)]
pub(crate) struct Image {
    /// Executable segments.
    segments: Vec<Segment>,
    /// By their first address, one function per address.
    functions: Vec<Function>,
    /// The first addresses of functions from the unwind table, in order.
    begins: Vec<u64>,
    /// `.text`, by stated addresses.
    pub text: Option<Range<u64>>,
    /// `.got`, likewise.
    pub got: Option<Range<u64>>,
    /// `.eh_frame`.
    pub eh_frame: Option<Section>,
    /// `.eh_frame_hdr`.
    pub eh_frame_hdr: Option<Section>,
    /// True if the file contains debug information.
    pub(super) has_debug_info: bool,
    /// The linker's build id.
    pub(super) build_id: Option<Box<[u8]>>,
}

/// A section's bytes.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    /// Its stated addresses.
    pub range: Range<u64>,
    /// Its content.
    pub bytes: Arc<[u8]>,
}

#[derive(Debug)]
struct Segment {
    offset: u64,
    address: u64,
    bytes: u64,
}

#[derive(Debug)]
struct Function {
    begin: u64,
    /// None if the symbol has no size.
    end: Option<u64>,
    symbol: Box<str>,
    /// True for weak C++ functions, which occur in every file that uses them and so do not identify a source
    /// file.
    anywhere: bool,
}

/// The sections from which source files of functions are found, in a file without its own symbols.
#[derive(Default)]
struct Sources<'a> {
    code: Option<Bytes<'a>>,
    texts: Option<Bytes<'a>>,
    /// True if the file has symbols.
    needless: bool,
}

impl<'a> Sources<'a> {
    fn add_section(
        &mut self,
        endian: Endianness,
        file: impl ReadRef<'a>,
        section: &SectionHeader64<Endianness>,
        name: &[u8],
    ) {
        let read = || {
            let bytes = section.data(endian, file).ok()?;
            let address = section.sh_addr(endian);
            Some(Bytes { address, bytes })
        };
        self.needless |= section.sh_type(endian) == SHT_SYMTAB;
        match name {
            b".text" => self.code = read(),
            b".rodata" => self.texts = read(),
            _ => {}
        }
    }
}

/// The stated addresses of a section.
fn range_of(endian: Endianness, section: &SectionHeader64<Endianness>) -> Range<u64> {
    let begin = section.sh_addr(endian);
    begin..begin.saturating_add(section.sh_size(endian))
}

impl Image {
    /// Reads a file; none if it is not a 64-bit ELF file.
    pub(super) fn read<'a>(file: impl ReadRef<'a>) -> Option<Image> {
        let header = FileHeader64::<Endianness>::parse(file).ok()?;
        let endian = header.endian().ok()?;
        let mut image = Image::default();
        for segment in header.program_headers(endian, file).ok()? {
            image.add_segment(endian, segment);
        }
        let mut sources = Sources::default();
        // A file without sections still has its segments.
        if let Ok(sections) = header.sections(endian, file) {
            for section in sections.iter() {
                let name = sections.section_name(endian, section).unwrap_or_default();
                image.add_section(endian, file, section, name);
                sources.add_section(endian, file, section, name);
                if matches!(section.sh_type(endian), SHT_SYMTAB | SHT_DYNSYM) {
                    let names = object::SectionIndex(section.sh_link(endian) as usize);
                    let names = sections.section(names);
                    let names = names.and_then(|names| names.data(endian, file));
                    let symbols = section.data_as_array::<Sym64<Endianness>, _>(endian, file);
                    if let (Ok(names), Ok(symbols)) = (names, symbols) {
                        image.functions.extend(functions(endian, symbols, names));
                    }
                }
            }
        }
        image.order();
        image.begins = image.read_begins().unwrap_or_default();
        if let (false, Some(code), Some(texts)) = (sources.needless, sources.code, sources.texts) {
            image.learn_sources(code, texts);
        }
        Some(image)
    }

    fn add_segment(&mut self, endian: Endianness, segment: &ProgramHeader64<Endianness>) {
        if segment.p_type(endian) == PT_LOAD && segment.p_flags(endian).contains(PF_X) {
            self.segments.push(Segment {
                offset: segment.p_offset(endian),
                address: segment.p_vaddr(endian),
                bytes: segment.p_filesz(endian),
            });
        }
    }

    /// Reads the sections for unwinding.
    fn add_section<'a>(
        &mut self,
        endian: Endianness,
        file: impl ReadRef<'a>,
        section: &SectionHeader64<Endianness>,
        name: &[u8],
    ) {
        let range = range_of(endian, section);
        let read = || {
            let bytes = section.data(endian, file).ok()?.into();
            let range = range.clone();
            Some(Section { range, bytes })
        };
        match name {
            b".text" => self.text = Some(range),
            b".got" => self.got = Some(range),
            b".eh_frame" => self.eh_frame = read(),
            b".eh_frame_hdr" => self.eh_frame_hdr = read(),
            // A file with separate debug information may have the section without content.
            b".debug_info" => self.has_debug_info = section.sh_type(endian) == SHT_PROGBITS,
            b".note.gnu.build-id" => self.build_id = build_id(endian, file, section),
            _ => {}
        }
    }

    /// The stated address of a position in the file; none outside executable segments. A segment is mapped in
    /// whole pages, so the page around its begin belongs to it unless another segment contains it.
    pub(crate) fn stated(&self, offset: u64) -> Option<u64> {
        let exactly = |segment: &&Segment| {
            let into = offset.checked_sub(segment.offset);
            into.is_some_and(|into| into < segment.bytes)
        };
        let around =
            |segment: &&Segment| offset < segment.offset && offset >= segment.offset & !(PAGE - 1);
        let mut segments = self.segments.iter();
        if let Some(segment) = segments.find(exactly) {
            return segment.address.checked_add(offset - segment.offset);
        }
        let segment = self.segments.iter().find(around)?;
        segment.address.checked_sub(segment.offset - offset)
    }

    /// The name at a stated address, and the begin of its function, or the address itself.
    pub(super) fn name(&self, address: u64) -> (Name, u64) {
        let after = self.functions.partition_point(|function| function.begin <= address);
        let before = &self.functions[..after];
        let covering = before.iter().rev().take(NESTED).find(|function| {
            let end = function.end.unwrap_or_else(|| self.end_of(function.begin));
            address < end
        });
        if let Some(function) = covering {
            return (Name::Function(demangle(&function.symbol)), function.begin);
        }
        let identifies_file = |function: &&Function| !function.anywhere;
        let name = |function: &Function| demangle(&function.symbol);
        let begin = self.begin_of(address).unwrap_or(address);
        let before = before.iter().rev().find(identifies_file);
        // A function that refers to its source file is between that file and itself.
        let own = before.filter(|function| function.begin == begin);
        let after = own.or_else(|| self.functions[after..].iter().find(identifies_file));
        let (before, after) = (before.map(name), after.map(name));
        if before.is_none() && after.is_none() {
            return (Name::Unknown, begin);
        }
        (Name::Between { before, after }, begin)
    }

    /// Adds the source files that unnamed functions refer to, as symbols of length zero.
    fn learn_sources(&mut self, code: Bytes<'_>, texts: Bytes<'_>) {
        let known = |begin: &u64| {
            let found = self.functions.binary_search_by_key(begin, |it| it.begin);
            found.is_ok()
        };
        let sources = anchors(code, texts).into_iter().filter_map(|anchor| {
            let begin = self.begin_of(anchor.address)?;
            (!known(&begin)).then(|| Function {
                begin,
                end: Some(begin),
                symbol: anchor.path.into(),
                anywhere: false,
            })
        });
        let sources: Vec<Function> = sources.collect();
        self.functions.extend(sources);
        self.order();
    }

    /// The begin of the function at an address, from the unwind table.
    fn begin_of(&self, address: u64) -> Option<u64> {
        let after = self.begins.partition_point(|begin| *begin <= address);
        self.begins.get(after.checked_sub(1)?).copied()
    }

    /// The end of a function without a size: the begin of the next one in either table.
    fn end_of(&self, begin: u64) -> u64 {
        let next = self.functions.partition_point(|function| function.begin <= begin);
        let next = self.functions.get(next).map(|function| function.begin);
        let other = self.begins.partition_point(|other| *other <= begin);
        let ends = [next, self.begins.get(other).copied()];
        ends.into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    /// Sorts the symbols, and keeps the plainest name of each address.
    fn order(&mut self) {
        let underscores = |function: &Function| {
            let plain = function.symbol.trim_start_matches('_');
            function.symbol.len() - plain.len()
        };
        self.functions.sort_by(|one, other| {
            let plainness = |function: &Function| {
                (function.end.is_none(), underscores(function), function.symbol.len())
            };
            let order = one.begin.cmp(&other.begin);
            let order = order.then_with(|| plainness(one).cmp(&plainness(other)));
            order.then_with(|| one.symbol.cmp(&other.symbol))
        });
        self.functions.dedup_by_key(|function| function.begin);
    }

    fn read_begins(&self) -> Option<Vec<u64>> {
        let section = self.eh_frame_hdr.as_ref()?;
        let start = |range: &Option<Range<u64>>| range.as_ref().map_or(0, |range| range.start);
        let eh_frame = self.eh_frame.as_ref().map_or(0, |section| section.range.start);
        let bases = BaseAddresses::default()
            .set_eh_frame_hdr(section.range.start)
            .set_eh_frame(eh_frame)
            .set_text(start(&self.text))
            .set_got(start(&self.got));
        let bytes = EndianSlice::new(&section.bytes, NativeEndian);
        let header = EhFrameHdr::from(bytes).parse(&bases, 8).ok()?;
        let table = header.table()?;
        let mut entries = table.iter(&bases);
        let mut begins = Vec::new();
        while let Ok(Some((begin, _))) = entries.next() {
            if let gimli::Pointer::Direct(begin) = begin {
                begins.push(begin);
            }
        }
        begins.sort_unstable();
        Some(begins)
    }
}

fn build_id<'a>(
    endian: Endianness,
    file: impl ReadRef<'a>,
    section: &SectionHeader64<Endianness>,
) -> Option<Box<[u8]>> {
    let mut notes = section.notes(endian, file).ok()??;
    while let Ok(Some(note)) = notes.next() {
        if note.name() == ELF_NOTE_GNU && note.n_type(endian) == NT_GNU_BUILD_ID {
            return Some(note.desc().into());
        }
    }
    None
}

fn functions(
    endian: Endianness,
    symbols: &[Sym64<Endianness>],
    names: &[u8],
) -> impl Iterator<Item = Function> {
    symbols.iter().filter_map(move |symbol| {
        let is_function = matches!(symbol.st_type(), STT_FUNC | STT_GNU_IFUNC);
        let begin = symbol.st_value(endian);
        if !is_function || begin == 0 || symbol.is_undefined(endian) {
            return None;
        }
        let name = names.get(symbol.st_name(endian) as usize..)?;
        let name = name.split(|byte| *byte == 0).next()?;
        let name = std::str::from_utf8(name).ok().filter(|name| !name.is_empty())?;
        let bytes = symbol.st_size(endian);
        Some(Function {
            begin,
            end: (bytes > 0).then(|| begin.saturating_add(bytes)),
            symbol: name.into(),
            anywhere: symbol.st_bind() == STB_WEAK && name.starts_with("_Z"),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{Function, Image, Segment};
    use syncline_profile::Name;

    fn image() -> Image {
        let function = |begin, end, symbol: &str| Function {
            begin,
            end,
            symbol: symbol.into(),
            anywhere: symbol.starts_with("_ZNSt"),
        };
        let mut image = Image {
            functions: vec![
                function(0x300, None, "third"),
                function(0x100, Some(0x180), "__first"),
                function(0x100, Some(0x180), "first"),
                function(0x120, Some(0x130), "inside"),
                function(0x1c0, Some(0x1d0), "_ZNSt6vectorIiSaIiEE5clearEv"),
            ],
            begins: vec![0x100, 0x180, 0x200, 0x300, 0x380],
            ..Image::default()
        };
        image.order();
        image
    }

    #[test]
    fn an_address_is_in_a_function_or_between_two() {
        let function = |name: &str| Name::Function(name.to_owned());
        let between = |before: Option<&str>, after: Option<&str>| Name::Between {
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        };
        let image = image();
        let expected = [
            (0x110, function("first"), 0x100),
            (0x125, function("inside"), 0x120),
            (0x17f, function("first"), 0x100),
            (0x1c8, function("std::vector<int, std::allocator<int> >::clear"), 0x1c0),
            (0x180, between(Some("inside"), Some("third")), 0x180),
            (0x2ff, between(Some("inside"), Some("third")), 0x200),
            (0x350, function("third"), 0x300),
            (0x399, between(Some("third"), None), 0x380),
            (0x50, between(None, Some("first")), 0x50),
        ];
        for (address, name, begin) in expected {
            assert_eq!(image.name(address), (name, begin), "{address:#x}");
        }
    }

    #[test]
    fn positions_in_the_file_have_stated_addresses() {
        let image = Image {
            segments: vec![Segment { offset: 0x1234, address: 0x40_2234, bytes: 0x100 }],
            ..Image::default()
        };
        assert_eq!(image.stated(0x1240), Some(0x40_2240));
        assert_eq!(image.stated(0x1000), Some(0x40_2000));
        assert_eq!(image.stated(0xfff), None);
        assert_eq!(image.stated(0x1334), None);
    }

    #[test]
    fn a_truncated_or_corrupted_file_is_read_without_a_panic() {
        let program = std::fs::read("/proc/self/exe").unwrap();
        // The headers are at the begin, so a short prefix exercises them.
        let mut random = 1_u64;
        for _ in 0..200 {
            let mut piece = program[..4096].to_vec();
            for _ in 0..4 {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(99);
                let place = (random >> 33) as usize % 200;
                piece[place] = (random >> 24) as u8;
            }
            if let Some(image) = Image::read(&*piece) {
                image.name(random);
                image.stated(random);
            }
        }
    }
}
