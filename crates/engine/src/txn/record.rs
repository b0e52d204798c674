//! The content of a transaction's log record: its changes of trees of bytes.
//!
//! A record is a list of operations up to its end. A number is in LEB128: base 128, least digits first, the
//! high bit of a byte set if another follows, in the shortest form.
//!
//! | kind | name | then |
//! |---|---|---|
//! | 1 | put | tree, key length, key, value length, value: the row has that value afterwards |
//! | 2 | delete | tree, key length, key: the row does not exist afterwards |
//! | 3 | create tree | tree: the tree exists and is empty |
//! | 4 | drop tree | tree: the tree and its rows are gone |
//! | 5 | splice | tree, key length, key, value length, length of the pieces, pieces: the row has them afterwards |
//! | 128 to 255 | for later versions | length, content: a reader that does not know it may skip it |
//!
//! Any other kind is refused: skipping it would lose a change.
//!
//! A splice replaces a put if the row exists with its value in its leaf and of the same length, up to 32,766
//! bytes, and if at most half of the value changes, including the pieces' own lengths. A piece is the number
//! of bytes since the end of the piece before, its own length, and its bytes.
//!
//! Every operation names the resulting state, never a difference. A splice does not contain the bytes between
//! its pieces: redo applies it to the row as all earlier commits have left it, which a checkpoint and the log
//! after it provide, and refuses it if there is no row of that length. Values of puts are whole, even those
//! in extents, since pages are not logged.

use crate::ids::TreeId;
use std::ops::Range;

const PUT: u8 = 1;
const DELETE: u8 = 2;
const CREATE_TREE: u8 = 3;
const DROP_TREE: u8 = 4;
const SPLICE: u8 = 5;
const SKIPPABLE: u8 = 128;

/// Longer values are put: the length of a splice's pieces, at most half as long, takes two digits.
const SPLICED_BYTES_MAX: usize = 2 * ((1 << 14) - 1);

/// Bytes of two values that are compared at once.
const EQUAL_BYTES: usize = 32;

/// The longest number: ten digits of seven bits.
const NUMBER_BYTES_MAX: usize = 10;

/// One operation of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation<'a> {
    /// The row has this value afterwards.
    Put { tree: TreeId, key: &'a [u8], value: &'a [u8] },
    /// The row does not exist afterwards.
    Delete { tree: TreeId, key: &'a [u8] },
    /// The tree exists and is empty.
    CreateTree(TreeId),
    /// The tree and its rows are gone.
    DropTree(TreeId),
    /// The row, whose value has that length, has these pieces afterwards, and its old bytes between them.
    Splice { tree: TreeId, key: &'a [u8], length: usize, pieces: Pieces<'a> },
}

/// Pieces of a value, by ascending offset, with their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pieces<'a>(&'a [u8]);

/// Why a record cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("the log record ends within an operation")]
    Short,
    #[error("the log record holds a number that is too long or too large")]
    Number,
    #[error("the log record holds an operation of kind {0}, which this program does not know")]
    Kind(u8),
    #[error("the log record holds a piece of a row that lies outside of it")]
    Piece,
}

/// The maximum bytes of a put of such a row in a record.
pub(super) fn put_bytes_max(key_bytes: usize, value_bytes: usize) -> usize {
    // Tree and key length are small numbers; the value's length may take all of its digits.
    1 + 5 + 5 + key_bytes + NUMBER_BYTES_MAX + value_bytes
}

/// The bytes of a put of such a row in a record; without a value those of a delete.
#[inline]
pub(super) fn row_bytes(tree: TreeId, key_bytes: usize, value_bytes: Option<usize>) -> usize {
    let digits = |number: u64| (64 - (number | 1).leading_zeros() as usize).div_ceil(7);
    let value = value_bytes.map_or(0, |bytes| digits(bytes as u64) + bytes);
    1 + digits(tree.0.into()) + digits(key_bytes as u64) + key_bytes + value
}

/// Adds a put. Returns where its value starts.
pub(crate) fn add_put(record: &mut Vec<u8>, tree: TreeId, key: &[u8], value: &[u8]) -> usize {
    add_named(record, PUT, tree, key);
    add_number(record, value.len() as u64);
    let start = record.len();
    record.extend_from_slice(value);
    start
}

/// Adds a splice that turns the old value into the new one, if that is worth it. Returns the range of its
/// pieces in the record.
pub(crate) fn add_splice(
    record: &mut Vec<u8>,
    tree: TreeId,
    key: &[u8],
    (old, new): (&[u8], &[u8]),
) -> Option<Range<usize>> {
    if old.len() != new.len() || new.len() > SPLICED_BYTES_MAX {
        return None;
    }
    let before = record.len();
    add_named(record, SPLICE, tree, key);
    add_number(record, new.len() as u64);
    // The length of the pieces is known only after them, so room for it is reserved here.
    let length_at = record.len();
    record.extend_from_slice(&[0; 2]);
    let start = record.len();
    let mut end = 0;
    while let Some(piece) = difference(old, new, end) {
        add_number(record, (piece.start - end) as u64);
        add_number(record, piece.len() as u64);
        end = piece.end;
        record.extend_from_slice(&new[piece]);
        if record.len() - start > new.len() / 2 {
            record.truncate(before);
            return None;
        }
    }
    let length = record.len() - start;
    if length < 0x80 {
        record[length_at] = length as u8;
        record.remove(length_at + 1);
        return Some(start - 1..record.len());
    }
    record[length_at..start].copy_from_slice(&[length as u8 | 0x80, (length >> 7) as u8]);
    Some(start..record.len())
}

/// The next difference of two values of one length, from an offset on, extended to eight equal bytes.
fn difference(old: &[u8], new: &[u8], at: usize) -> Option<Range<usize>> {
    let at = skip_equal_bytes(old, new, at);
    let word = |bytes: &[u8], at: usize| {
        let rest = bytes.get(at..).unwrap_or_default();
        match rest.first_chunk() {
            Some(whole) => u64::from_le_bytes(*whole),
            None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        }
    };
    let differs = |at: usize| word(old, at) ^ word(new, at);
    let mut first = at;
    while first < old.len() && differs(first) == 0 {
        first += 8;
    }
    if first >= old.len() {
        return None;
    }
    let start = first + differs(first).trailing_zeros() as usize / 8;
    let (mut last, mut next) = (first, first + 8);
    while next < old.len() && differs(next) != 0 {
        (last, next) = (next, next + 8);
    }
    let end = last + 8 - differs(last).leading_zeros() as usize / 8;
    Some(start..end.min(old.len()))
}

/// Skips bytes that are equal for certain, from an offset on. Most bytes of a changed row are equal, so this
/// compares lengths that the compiler can compare at once.
#[inline]
fn skip_equal_bytes(old: &[u8], new: &[u8], at: usize) -> usize {
    let (old, new) = (old.get(at..), new.get(at..));
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let chunks = old.as_chunks::<EQUAL_BYTES>().0.iter();
    let pairs = chunks.zip(new.as_chunks::<EQUAL_BYTES>().0);
    at + EQUAL_BYTES * pairs.take_while(|(old, new)| old == new).count()
}

/// The pieces that [`add_splice`] has added.
#[inline]
pub(crate) fn pieces(added: &[u8]) -> Pieces<'_> {
    Pieces(added)
}

/// Writes pieces into a value of the length that they were made for.
#[inline]
pub(crate) fn splice(value: &mut [u8], pieces: Pieces<'_>) {
    for (at, piece) in pieces.each() {
        value[at..at + piece.len()].copy_from_slice(piece);
    }
}

impl<'a> Pieces<'a> {
    /// Offset and bytes of each piece. They are sound: decoding or adding has checked them.
    #[inline]
    fn each(self) -> impl Iterator<Item = (usize, &'a [u8])> {
        let mut rest = Operations { rest: self.0 };
        let mut end = 0;
        std::iter::from_fn(move || {
            let (at, piece) = rest.piece(end).ok()??;
            end = at + piece.len();
            Some((at, piece))
        })
    }

    /// Fails if a piece is truncated or lies beyond a value of that length.
    fn check(self, length: usize) -> Result<(), Malformed> {
        let mut rest = Operations { rest: self.0 };
        let mut end = 0;
        while let Some((at, piece)) = rest.piece(end)? {
            end = at + piece.len();
            if end > length {
                return Err(Malformed::Piece);
            }
        }
        Ok(())
    }
}

pub(crate) fn add_delete(record: &mut Vec<u8>, tree: TreeId, key: &[u8]) {
    add_named(record, DELETE, tree, key);
}

pub(crate) fn add(record: &mut Vec<u8>, operation: Operation<'_>) {
    let (kind, tree) = match operation {
        Operation::Put { tree, key, value } => {
            add_put(record, tree, key, value);
            return;
        }
        Operation::Delete { tree, key } => return add_delete(record, tree, key),
        Operation::CreateTree(tree) => (CREATE_TREE, tree),
        Operation::DropTree(tree) => (DROP_TREE, tree),
        Operation::Splice { tree, key, length, pieces: Pieces(pieces) } => {
            add_named(record, SPLICE, tree, key);
            add_number(record, length as u64);
            add_number(record, pieces.len() as u64);
            record.extend_from_slice(pieces);
            return;
        }
    };
    record.push(kind);
    add_number(record, tree.0.into());
}

/// The operations of a record, in order. After an error there are no more.
pub(crate) fn operations(record: &[u8]) -> Operations<'_> {
    Operations { rest: record }
}

/// Decodes a record. See [`operations`].
#[derive(Clone, Debug)]
pub(crate) struct Operations<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Operations<'a> {
    type Item = Result<Operation<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            match self.read() {
                Ok(None) => {}
                Ok(Some(operation)) => return Some(Ok(operation)),
                Err(malformed) => {
                    self.rest = &[];
                    return Some(Err(malformed));
                }
            }
        }
        None
    }
}

impl<'a> Operations<'a> {
    /// The next operation; none if one was skipped.
    fn read(&mut self) -> Result<Option<Operation<'a>>, Malformed> {
        let kind = self.bytes(1)?[0];
        if kind >= SKIPPABLE {
            self.counted()?;
            return Ok(None);
        }
        if !(PUT..=SPLICE).contains(&kind) {
            return Err(Malformed::Kind(kind));
        }
        let tree = u32::try_from(self.number()?).map_err(|_too_large| Malformed::Number)?;
        let tree = TreeId(tree);
        Ok(Some(match kind {
            PUT => Operation::Put { tree, key: self.counted()?, value: self.counted()? },
            DELETE => Operation::Delete { tree, key: self.counted()? },
            CREATE_TREE => Operation::CreateTree(tree),
            DROP_TREE => Operation::DropTree(tree),
            _ => self.splice(tree)?,
        }))
    }

    fn splice(&mut self, tree: TreeId) -> Result<Operation<'a>, Malformed> {
        let key = self.counted()?;
        let length = self.number()?;
        let length = usize::try_from(length).map_err(|_too_large| Malformed::Number)?;
        let pieces = Pieces(self.counted()?);
        pieces.check(length)?;
        Ok(Operation::Splice { tree, key, length, pieces })
    }

    /// The next piece of a value, after the one that ends at `end`: its offset and bytes.
    #[inline]
    fn piece(&mut self, end: usize) -> Result<Option<(usize, &'a [u8])>, Malformed> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let skipped = self.number()?;
        let skipped = usize::try_from(skipped).map_err(|_too_large| Malformed::Number)?;
        let piece = self.counted()?;
        let at = end.checked_add(skipped).ok_or(Malformed::Piece)?;
        if at.checked_add(piece.len()).is_none() {
            return Err(Malformed::Piece);
        }
        Ok(Some((at, piece)))
    }

    /// Bytes after their length.
    fn counted(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.number()?;
        let length = usize::try_from(length).map_err(|_too_large| Malformed::Number)?;
        self.bytes(length)
    }

    fn number(&mut self) -> Result<u64, Malformed> {
        let mut number = 0_u64;
        for digit in 0..NUMBER_BYTES_MAX {
            let byte = self.bytes(1)?[0];
            let digits = u64::from(byte & 0x7f);
            if digits << (7 * digit) >> (7 * digit) != digits || (byte == 0 && digit > 0) {
                return Err(Malformed::Number);
            }
            number |= digits << (7 * digit);
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Malformed::Number)
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(Malformed::Short)?;
        self.rest = rest;
        Ok(bytes)
    }
}

#[inline]
fn add_named(record: &mut Vec<u8>, kind: u8, tree: TreeId, key: &[u8]) {
    record.push(kind);
    add_number(record, tree.0.into());
    add_number(record, key.len() as u64);
    record.extend_from_slice(key);
}

#[inline]
fn add_number(record: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        record.push(number as u8 | 0x80);
        number >>= 7;
    }
    record.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::{
        Malformed, Operation, add, add_delete, add_number, add_put, add_splice, operations, pieces,
        put_bytes_max, row_bytes, splice,
    };
    use crate::ids::TreeId;

    fn decoded(record: &[u8]) -> Result<Vec<Operation<'_>>, Malformed> {
        operations(record).collect()
    }

    #[test]
    fn operations_come_back_as_they_were_added() {
        let long = vec![7; 70_000];
        let all = [
            Operation::CreateTree(TreeId(1)),
            Operation::Put { tree: TreeId(1), key: b"key", value: b"" },
            Operation::Put { tree: TreeId(u32::MAX), key: b"", value: &long },
            Operation::Delete { tree: TreeId(300), key: b"gone" },
            Operation::DropTree(TreeId(128)),
        ];
        let mut record = Vec::new();
        for operation in all {
            add(&mut record, operation);
        }
        assert_eq!(decoded(&record).unwrap(), all);
        let mut one = Vec::new();
        let start = add_put(&mut one, TreeId(u32::MAX), b"key", &long);
        assert_eq!(one[start..], long);
        assert!(one.len() <= put_bytes_max(3, long.len()));
        for (tree, key, value) in
            [(1, 0, 0), (127, 127, 127), (128, 128, 128), (1 << 21, 9, 16_384)]
        {
            let (tree, key, value) = (TreeId(tree), vec![1; key], vec![2; value]);
            let mut record = Vec::new();
            add_put(&mut record, tree, &key, &value);
            assert_eq!(record.len(), row_bytes(tree, key.len(), Some(value.len())));
            record.clear();
            add_delete(&mut record, tree, &key);
            assert_eq!(record.len(), row_bytes(tree, key.len(), None));
        }
    }

    #[test]
    fn a_splice_makes_the_one_value_of_the_other_and_is_shorter_than_a_put() {
        let mut random = fastrand::Rng::with_seed(5);
        let (mut spliced, mut put) = (0, 0);
        for _ in 0..20_000 {
            let old: Vec<u8> = (0..random.usize(..900)).map(|_| random.u8(..4)).collect();
            let mut new = old.clone();
            for _ in 0..random.usize(..5) {
                let at = random.usize(..=new.len());
                let bytes = random.usize(..=(new.len() - at).min(80));
                new[at..at + bytes].fill_with(|| random.u8(..4));
            }
            let mut record = vec![9];
            let (tree, key) = (TreeId(3), b"key".as_slice());
            let Some(range) = add_splice(&mut record, tree, key, (&old, &new)) else {
                assert_eq!(record, [9]);
                put += 1;
                continue;
            };
            spliced += 1;
            assert!(record.len() - 1 <= put_bytes_max(key.len(), new.len()));
            let read = decoded(&record[1..]).unwrap();
            let [Operation::Splice { length, pieces: read, .. }] = read[..] else {
                panic!("a splice is decoded as another operation");
            };
            assert_eq!((length, read), (new.len(), pieces(&record[range])));
            let mut made = old.clone();
            splice(&mut made, read);
            assert_eq!(made, new);
            let mut again = Vec::new();
            for operation in decoded(&record[1..]).unwrap() {
                add(&mut again, operation);
            }
            assert_eq!(again, record[1..]);
        }
        assert!(spliced > 5_000 && put > 500, "{spliced} {put}");
        let (long, mut record) = (vec![1; 40_000], Vec::new());
        assert_eq!(add_splice(&mut record, TreeId(1), b"", (&long, &long)), None);
        assert_eq!(add_splice(&mut record, TreeId(1), b"", (b"a", b"ab")), None);
    }

    #[test]
    fn pieces_outside_of_the_value_are_refused() {
        let splice = |length: u8, pieces: &[u8]| {
            let mut record = vec![5, 1, 1, b'k', length, pieces.len() as u8];
            record.extend_from_slice(pieces);
            decoded(&record).map(|operations| operations.len())
        };
        assert_eq!(splice(4, &[1, 2, 7, 7, 0, 1, 7]), Ok(1));
        assert_eq!(splice(4, &[1, 2, 7, 7, 0, 2, 7, 7]), Err(Malformed::Piece));
        assert_eq!(splice(4, &[5, 0]), Err(Malformed::Piece));
        assert_eq!(splice(4, &[1, 2, 7]), Err(Malformed::Short));
        assert_eq!(splice(0, &[]), Ok(1));
    }

    #[test]
    fn the_bytes_are_the_documented_ones() {
        let mut record = Vec::new();
        add_put(&mut record, TreeId(300), b"ab", b"c");
        assert_eq!(record, [1, 0xac, 2, 2, b'a', b'b', 1, b'c']);
        record.clear();
        let (old, new) = (b"0123456789abcdefghijklmn", b"0123x56789abcdefghijzlmn");
        add_splice(&mut record, TreeId(2), b"ab", (old, new)).unwrap();
        let pieces = [4, 1, b'x', 15, 1, b'z'];
        assert_eq!(record[..7], [5, 2, 2, b'a', b'b', 24, 6]);
        assert_eq!(record[7..], pieces);
    }

    #[test]
    fn later_kinds_are_skipped_if_they_say_so_and_refused_otherwise() {
        let mut record = vec![200, 3, 9, 9, 9];
        add(&mut record, Operation::DropTree(TreeId(4)));
        assert_eq!(decoded(&record).unwrap(), [Operation::DropTree(TreeId(4))]);
        for kind in [0, 6, 127] {
            assert_eq!(decoded(&[kind, 1, 1]), Err(Malformed::Kind(kind)));
        }
    }

    #[test]
    fn numbers_have_one_form_and_end() {
        for number in [0, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX] {
            let mut record = Vec::new();
            add_number(&mut record, number);
            assert_eq!(operations(&record).number(), Ok(number));
        }
        assert_eq!(operations(&[0x80, 0]).number(), Err(Malformed::Number));
        assert_eq!(operations(&[0xff; 10]).number(), Err(Malformed::Number));
        assert_eq!(operations(&[0x80; 4]).number(), Err(Malformed::Short));
    }

    /// The decoder returns for any bytes; what it accepts is what the encoder would write.
    #[test]
    fn any_bytes_are_decoded_or_refused() {
        let mut random = fastrand::Rng::with_seed(11);
        let mut accepted = 0;
        for _ in 0..200_000 {
            let mut record: Vec<u8> = (0..random.usize(..24)).map(|_| random.u8(..)).collect();
            if random.bool() {
                for byte in &mut record {
                    *byte %= 6;
                }
            }
            let Ok(operations) = decoded(&record) else {
                continue;
            };
            accepted += 1;
            if record.iter().all(|&byte| byte < 128) {
                let mut again = Vec::new();
                for operation in operations {
                    add(&mut again, operation);
                }
                assert_eq!(again, record);
            }
        }
        assert!(accepted > 2_000, "{accepted}");
        // A good record, truncated or changed anywhere.
        let mut good = Vec::new();
        for key in 0..40_u8 {
            add_put(&mut good, TreeId(3), &[key; 9], &vec![key; 3 * usize::from(key)]);
        }
        for at in 0..good.len() {
            assert!(
                decoded(&good[..at]).is_ok_and(|operations| operations.len() < 40)
                    || decoded(&good[..at]).is_err()
            );
            let mut bad = good.clone();
            bad[at] ^= random.u8(1..);
            drop(decoded(&bad));
        }
    }
}
