//! A packed leaf: its rows back to back, as stored on the disk.
//!
//! In memory a row has a head, an offset, and lengths of a fixed size, so that it is found and changed
//! without moving anything. On the disk no search takes place: the packed form has no slots, no room for
//! growth, and no gaps. Little endian:
//!
//! | bytes | field |
//! |---|---|
//! | 40 | the header, in which the positions of the lowest row and of dead rows are zero |
//! | | lower fence, upper fence |
//! | 8 | the latest csn of any row |
//! | | the rows in key order, up to the end |
//!
//! A row; a *number* has seven bits per byte, the lowest first, and the highest bit set in all bytes but the
//! last:
//!
//! | field |
//! |---|
//! | number: length of the key after the prefix |
//! | number: length of the value |
//! | number: how many commits the row is older than the latest one, times 4; 1 more for a ghost, 2 for an extent pointer |
//! | the key after the prefix |
//! | the value |
//!
//! Invariants:
//! 1. An unpacked leaf has the rows, words and fences of the packed one, but no dead rows and no room beyond
//!    values.
//! 2. A packed leaf is not longer than its page: a row's three numbers have at most twelve bytes, the fields
//!    that they replace sixteen; and a leaf of one row or none has room for the latest csn.
//! 3. Unpacking trusts nothing: any bytes give a leaf or an error. [`Leaf::check`] then checks whether it is
//!    sound.

use super::view::{
    CAPACITY_AT, COUNT_AT, DEAD_AT, HEAD_BYTES, HEAP_AT, LENGTH_AT, LOWER_AT, Leaf, NO_FENCE,
    OFFSET_BYTES, PREFIX_AT, ROW_BYTES, SUFFIX_AT, UPPER_AT, head_of,
};
use crate::buffer::VersionWord;
use crate::buffer::page::{HEADER_BYTES, put_u16, put_u32, put_u64, u16_at, u64_at};
use crate::ids::Csn;

const GHOST: u64 = 1;
const OVERFLOW: u64 = 2;
const AGE_SHIFT: u32 = 2;

/// Bytes of the latest csn.
const LATEST_BYTES: usize = 8;

impl Leaf {
    /// Packs a leaf's image into `out`, which is as long, and returns the length of the packed form. The
    /// image must be sound and have no locked row.
    pub(in crate::buffer) fn pack(image: &[u8], out: &mut [u8]) -> usize {
        let frame = Frame::of(image).expect("a leaf in memory is sound");
        let rows = frame.start + HEAD_BYTES * frame.count;
        let row_at = |slot: usize| usize::from(u16_at(image, rows + OFFSET_BYTES * slot));
        let word_at = |slot: usize| VersionWord(u64_at(image, row_at(slot)));
        let latest = (0..frame.count).map(|slot| word_at(slot).csn()).max();
        let latest = latest.unwrap_or(Csn::ZERO);
        out[..frame.start].copy_from_slice(&image[..frame.start]);
        put_u16(out, HEAP_AT, 0);
        put_u16(out, DEAD_AT, 0);
        put_u64(out, frame.start, latest.0);
        let mut out = Out { bytes: out, at: frame.start + LATEST_BYTES };
        for slot in 0..frame.count {
            let (row, word) = (row_at(slot), word_at(slot));
            let flags = flags_of(word);
            assert!(word_of(word.csn(), flags) == word, "{word:?} has no packed form");
            let suffix = usize::from(u16_at(image, row + SUFFIX_AT));
            let value = usize::from(u16_at(image, row + LENGTH_AT));
            out.number(suffix as u64);
            out.number(value as u64);
            out.number((latest.0 - word.csn().0) << AGE_SHIFT | flags);
            let head = &image[frame.start + HEAD_BYTES * slot..][..HEAD_BYTES];
            // In memory the head is a little-endian number.
            let head = [head[3], head[2], head[1], head[0]];
            out.put(&head[..suffix.min(HEAD_BYTES)]);
            out.put(&image[row + ROW_BYTES..][..suffix.saturating_sub(HEAD_BYTES) + value]);
        }
        out.at
    }

    /// Unpacks a leaf into `page`, which is all zeros and a page long. The error says what is wrong.
    pub(in crate::buffer) fn unpack(packed: &[u8], page: &mut [u8]) -> Result<(), &'static str> {
        let frame = Frame::of(packed).ok_or("its fences do not fit into it")?;
        let offsets = frame.start + HEAD_BYTES * frame.count;
        let (slots_end, end) = (offsets + OFFSET_BYTES * frame.count, page.len());
        if slots_end > end || frame.start + LATEST_BYTES > packed.len() {
            return Err("it has more rows than a page has room for");
        }
        page[..frame.start].copy_from_slice(&packed[..frame.start]);
        let latest = u64_at(packed, frame.start);
        let mut from = In(&packed[frame.start + LATEST_BYTES..]);
        let mut heap = end;
        for slot in 0..frame.count {
            let row = from.row(latest).ok_or("a row continues beyond its end")?;
            let (key, tail) = (row.suffix, row.suffix.get(HEAD_BYTES..).unwrap_or_default());
            let bytes = ROW_BYTES + tail.len() + row.value.len();
            if heap < slots_end + bytes {
                return Err("its rows are longer than a page");
            }
            heap -= bytes;
            put_u64(page, heap, row.word.0);
            put_u16(page, heap + SUFFIX_AT, key.len() as u16);
            put_u16(page, heap + LENGTH_AT, row.value.len() as u16);
            put_u16(page, heap + CAPACITY_AT, row.value.len() as u16);
            let content = heap + ROW_BYTES;
            page[content..content + tail.len()].copy_from_slice(tail);
            page[content + tail.len()..heap + bytes].copy_from_slice(row.value);
            put_u32(page, frame.start + HEAD_BYTES * slot, head_of(key));
            put_u16(page, offsets + OFFSET_BYTES * slot, heap as u16);
        }
        if !from.0.is_empty() {
            return Err("it continues after its rows");
        }
        put_u16(page, HEAP_AT, heap as u16);
        put_u16(page, DEAD_AT, 0);
        Ok(())
    }
}

/// The header fields that packing and unpacking need.
struct Frame {
    count: usize,
    /// Where the fences end.
    start: usize,
}

impl Frame {
    /// None if the fences do not lie within the image, or the prefix is longer than the lower fence.
    fn of(image: &[u8]) -> Option<Frame> {
        if image.len() < HEADER_BYTES {
            return None;
        }
        let (lower, upper) = (u16_at(image, LOWER_AT), u16_at(image, UPPER_AT));
        let upper = if upper == NO_FENCE { 0 } else { upper };
        let start = HEADER_BYTES + usize::from(lower) + usize::from(upper);
        let fits = start <= image.len() && u16_at(image, PREFIX_AT) <= lower;
        fits.then(|| Frame { count: usize::from(u16_at(image, COUNT_AT)), start })
    }
}

fn flags_of(word: VersionWord) -> u64 {
    let ghost = if word.is_ghost() { GHOST } else { 0 };
    let overflow = if word.is_overflow() { OVERFLOW } else { 0 };
    ghost | overflow
}

fn word_of(csn: Csn, flags: u64) -> VersionWord {
    let word = VersionWord::of(csn);
    let word = if flags & GHOST != 0 { word.ghost() } else { word };
    if flags & OVERFLOW != 0 { word.overflow() } else { word }
}

/// A row as it is read.
struct Row<'a> {
    word: VersionWord,
    suffix: &'a [u8],
    value: &'a [u8],
}

/// The output of packing.
struct Out<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl Out<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.put(&[number as u8 | 0x80]);
            number >>= 7;
        }
        self.put(&[number as u8]);
    }
}

/// The input that is left to unpack.
struct In<'a>(&'a [u8]);

impl<'a> In<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// None if it does not end, or is greater than any number that packing writes.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..56).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn length(&mut self) -> Option<usize> {
        let length = self.number()?;
        u16::try_from(length).ok().map(usize::from)
    }

    fn row(&mut self, latest: u64) -> Option<Row<'a>> {
        let (suffix, value, age) = (self.length()?, self.length()?, self.number()?);
        let csn = latest.checked_sub(age >> AGE_SHIFT)?;
        if csn >= 1 << 48 {
            return None;
        }
        Some(Row {
            word: word_of(Csn(csn), age),
            suffix: self.take(suffix)?,
            value: self.take(value)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Leaf;
    use crate::buffer::{VersionWord, page};
    use crate::ids::{Csn, PageId, TreeId};

    const PAGE: PageId = PageId(9);

    fn row_of(leaf: &Leaf, slot: usize) -> (Vec<u8>, VersionWord, Vec<u8>) {
        let mut key = Vec::new();
        leaf.key_into(slot, &mut key);
        (key, leaf.word(slot), leaf.value(slot).to_vec())
    }

    fn unpacked(packed: &[u8], page_bytes: usize) -> Result<Leaf, &'static str> {
        let mut page = vec![0; page_bytes];
        Leaf::unpack(packed, &mut page)?;
        Ok(Leaf::from_image(page.as_slice().into()))
    }

    /// A leaf after random inserts, updates and removals.
    fn used_leaf(random: &mut fastrand::Rng) -> Leaf {
        let page_bytes = [512, 1024, 8192, 32_768][random.usize(0..4)];
        let prefix = vec![b'k'; random.usize(0..9)];
        let fence = |last: u8| [prefix.as_slice(), &[last]].concat();
        let upper = random.bool().then(|| fence(0xff));
        let mut leaf = Leaf::empty(page_bytes, PAGE, TreeId(3), &fence(0), upper.as_deref());
        for _ in 0..random.usize(0..400) {
            let mut key = fence(random.u8(1..0xff));
            key.extend((0..random.usize(0..7)).map(|_| random.u8(..)));
            let age = 1 << random.u32(0..48);
            let mut word = VersionWord::of(Csn((1 << 47) - random.u64(0..age).min(1 << 47)));
            word = if random.u8(0..9) == 0 { word.ghost() } else { word };
            word = if random.u8(0..9) == 0 { word.overflow() } else { word };
            let value = vec![random.u8(..); random.usize(0..page_bytes / 4)];
            match leaf.search(&key) {
                Ok(slot) if random.bool() => leaf.remove(slot),
                Ok(slot) => {
                    if leaf.reserve(slot, value.len()).is_ok() {
                        leaf.set_value(slot, &value);
                        leaf.set_word(slot, word);
                    }
                }
                Err(at) => {
                    let capacity = value.len() + random.usize(0..20);
                    if leaf.insert(at, &key, word, capacity).is_ok() {
                        leaf.set_value(at, &value);
                    }
                }
            }
        }
        leaf
    }

    #[test]
    fn a_packed_leaf_unpacks_to_the_same_rows() {
        let mut rows = 0;
        for seed in 0..300 {
            let leaf = used_leaf(&mut fastrand::Rng::with_seed(seed));
            let page_bytes = leaf.image().len();
            let mut packed = vec![0xaa; page_bytes];
            let bytes = Leaf::pack(leaf.image(), &mut packed);
            let again = unpacked(&packed[..bytes], page_bytes).unwrap();
            assert_eq!(again.check(), Vec::<String>::new(), "seed {seed}");
            let fences = |leaf: &Leaf| {
                let upper = leaf.upper_fence().map(<[u8]>::to_vec);
                (leaf.lower_fence().to_vec(), upper)
            };
            assert_eq!(fences(&again), fences(&leaf), "seed {seed}");
            assert_eq!((again.page(), again.tree()), (leaf.page(), leaf.tree()));
            assert_eq!(again.count(), leaf.count(), "seed {seed}");
            for slot in 0..leaf.count() {
                assert_eq!(row_of(&again, slot), row_of(&leaf, slot), "seed {seed}");
            }
            // Packing the unpacked leaf gives the same bytes.
            let mut twice = vec![0x55; page_bytes];
            let bytes_again = Leaf::pack(again.image(), &mut twice);
            assert_eq!(twice[..bytes_again], packed[..bytes], "seed {seed}");
            rows += leaf.count();
        }
        assert!(rows > 2_000, "{rows}");
    }

    #[test]
    fn a_packed_row_has_few_bytes_in_addition_to_key_and_value() {
        let mut leaf = Leaf::empty(8192, PAGE, TreeId(3), b"", None);
        let value = [7; 100];
        for slot in 0..50 {
            let key = [0, 0, 0, 0, 0, 0, 0, slot as u8];
            let word = VersionWord::of(Csn(1_000_000 - 10_000 * slot as u64));
            leaf.insert(slot, &key, word, 120).unwrap();
            leaf.set_value(slot, &value);
        }
        let mut packed = vec![0; 8192];
        let bytes = Leaf::pack(leaf.image(), &mut packed);
        assert!(bytes <= page::HEADER_BYTES + 8 + 50 * 114, "{bytes}");
    }

    #[test]
    fn bytes_that_are_not_a_packed_leaf_are_refused() {
        let leaf = used_leaf(&mut fastrand::Rng::with_seed(3));
        assert!(leaf.count() > 3);
        let page_bytes = leaf.image().len();
        let mut packed = vec![0; page_bytes];
        let bytes = Leaf::pack(leaf.image(), &mut packed);
        packed.truncate(bytes);
        for cut in 0..bytes {
            assert!(unpacked(&packed[..cut], page_bytes).is_err(), "{cut}");
        }
        packed.push(0);
        assert!(unpacked(&packed, page_bytes).is_err());
        packed.pop();
        assert!(unpacked(&packed, 512.min(page_bytes / 2)).is_err());
        // Any other byte gives a leaf, sound or not, or an error.
        for at in 0..bytes {
            let before = packed[at];
            packed[at] = !before;
            if let Ok(leaf) = unpacked(&packed, page_bytes) {
                leaf.check();
            }
            packed[at] = before;
        }
    }
}
