//! The content of a transaction's log record: what it did to trees of bytes.
//!
//! A record is a list of operations, one after another to its end. A number is in base 128, least
//! digits first, the high bit of a byte set if another follows (LEB128, at most as long as needed).
//!
//! | kind | name | then |
//! |---|---|---|
//! | 1 | put | tree, key length, key, value length, value: the row is that afterwards |
//! | 2 | delete | tree, key length, key: there is no such row afterwards |
//! | 3 | create tree | tree: it is there, and empty |
//! | 4 | drop tree | tree: it and its rows are gone |
//! | 128 to 255 | for later versions | length, content: a reader that does not know it may skip it |
//!
//! Any other kind is refused: to skip it would lose a change.
//!
//! Every operation names what holds afterwards, never a difference: replaying a record twice, or over a
//! state that already holds part of it, gives the same. Values are whole, also those that lie in
//! overflow pages, since pages are no matter of the log.

use crate::ids::TreeId;

const PUT: u8 = 1;
const DELETE: u8 = 2;
const CREATE_TREE: u8 = 3;
const DROP_TREE: u8 = 4;
const SKIPPABLE: u8 = 128;

/// The longest a number may be: ten digits of seven bits.
const NUMBER_BYTES_MAX: usize = 10;

/// One operation of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation<'a> {
    /// The row is that afterwards.
    Put {
        tree: TreeId,
        key: &'a [u8],
        value: &'a [u8],
    },
    /// There is no such row afterwards.
    Delete { tree: TreeId, key: &'a [u8] },
    /// The tree is there, and empty.
    CreateTree(TreeId),
    /// The tree and its rows are gone.
    DropTree(TreeId),
}

/// What is wrong with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("the log record ends within an operation")]
    Short,
    #[error("the log record holds a number that is too long or too large")]
    Number,
    #[error("the log record holds an operation of kind {0}, which this program does not know")]
    Kind(u8),
}

/// The most bytes that a put of such a row takes in a record.
pub(super) fn put_bytes_max(key_bytes: usize, value_bytes: usize) -> usize {
    // Tree and key length are small numbers; the value's may take all of its digits.
    1 + 5 + 5 + key_bytes + NUMBER_BYTES_MAX + value_bytes
}

/// The bytes that a put of such a row takes in a record; without a value those of a delete.
pub(super) fn row_bytes(tree: TreeId, key_bytes: usize, value_bytes: Option<usize>) -> usize {
    let digits = |number: u64| (64 - (number | 1).leading_zeros() as usize).div_ceil(7);
    let value = value_bytes.map_or(0, |bytes| digits(bytes as u64) + bytes);
    1 + digits(tree.0.into()) + digits(key_bytes as u64) + key_bytes + value
}

/// Adds a put; returns where its value starts.
pub(crate) fn add_put(record: &mut Vec<u8>, tree: TreeId, key: &[u8], value: &[u8]) -> usize {
    add_named(record, PUT, tree, key);
    add_number(record, value.len() as u64);
    let start = record.len();
    record.extend_from_slice(value);
    start
}

/// Adds a delete.
pub(crate) fn add_delete(record: &mut Vec<u8>, tree: TreeId, key: &[u8]) {
    add_named(record, DELETE, tree, key);
}

/// Adds any operation.
pub(crate) fn add(record: &mut Vec<u8>, operation: Operation<'_>) {
    let (kind, tree) = match operation {
        Operation::Put { tree, key, value } => {
            add_put(record, tree, key, value);
            return;
        }
        Operation::Delete { tree, key } => return add_delete(record, tree, key),
        Operation::CreateTree(tree) => (CREATE_TREE, tree),
        Operation::DropTree(tree) => (DROP_TREE, tree),
    };
    record.push(kind);
    add_number(record, tree.0.into());
}

/// The operations of a record, in order. After an error there are no more.
pub(crate) fn operations(record: &[u8]) -> Operations<'_> {
    Operations { rest: record }
}

/// See [`operations`].
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
        if !(PUT..=DROP_TREE).contains(&kind) {
            return Err(Malformed::Kind(kind));
        }
        let tree = u32::try_from(self.number()?).map_err(|_too_large| Malformed::Number)?;
        let tree = TreeId(tree);
        Ok(Some(match kind {
            PUT => Operation::Put {
                tree,
                key: self.counted()?,
                value: self.counted()?,
            },
            DELETE => Operation::Delete {
                tree,
                key: self.counted()?,
            },
            CREATE_TREE => Operation::CreateTree(tree),
            _ => Operation::DropTree(tree),
        }))
    }

    /// Bytes behind their length.
    fn counted(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.number()?;
        let length = usize::try_from(length).map_err(|_too_large| Malformed::Number)?;
        self.bytes(length)
    }

    fn number(&mut self) -> Result<u64, Malformed> {
        let mut number = 0_u64;
        for place in 0..NUMBER_BYTES_MAX {
            let byte = self.bytes(1)?[0];
            let digits = u64::from(byte & 0x7f);
            if digits << (7 * place) >> (7 * place) != digits || (byte == 0 && place > 0) {
                return Err(Malformed::Number);
            }
            number |= digits << (7 * place);
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
        Malformed, Operation, add, add_delete, add_number, add_put, operations, put_bytes_max,
        row_bytes,
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
            Operation::Put {
                tree: TreeId(1),
                key: b"key",
                value: b"",
            },
            Operation::Put {
                tree: TreeId(u32::MAX),
                key: b"",
                value: &long,
            },
            Operation::Delete {
                tree: TreeId(300),
                key: b"gone",
            },
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
        for (tree, key, value) in [
            (1, 0, 0),
            (127, 127, 127),
            (128, 128, 128),
            (1 << 21, 9, 16_384),
        ] {
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
    fn the_bytes_are_the_documented_ones() {
        let mut record = Vec::new();
        add_put(&mut record, TreeId(300), b"ab", b"c");
        assert_eq!(record, [1, 0xac, 2, 2, b'a', b'b', 1, b'c']);
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

    /// Whatever the bytes are, the decoder answers; and what it accepts it would have written itself.
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
            let Ok(found) = decoded(&record) else {
                continue;
            };
            accepted += 1;
            if record.iter().all(|&byte| byte < 128) {
                let mut again = Vec::new();
                for operation in found {
                    add(&mut again, operation);
                }
                assert_eq!(again, record);
            }
        }
        assert!(accepted > 2_000, "{accepted}");
        // A good record, cut or changed anywhere.
        let mut good = Vec::new();
        for key in 0..40_u8 {
            add_put(
                &mut good,
                TreeId(3),
                &[key; 9],
                &vec![key; 3 * usize::from(key)],
            );
        }
        for at in 0..good.len() {
            assert!(
                decoded(&good[..at]).is_ok_and(|found| found.len() < 40)
                    || decoded(&good[..at]).is_err()
            );
            let mut bad = good.clone();
            bad[at] ^= random.u8(1..);
            drop(decoded(&bad));
        }
    }
}
