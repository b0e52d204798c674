//! The key of a row: bytes in the order of their values, of which the first stand in the key itself.
//!
//! A search in a tree compares a key with some forty others. The first sixteen bytes are therefore
//! one number, compared without a call and without following a pointer; a key of one integer or of a
//! short text has no others, and takes no memory of its own.
//!
//! Invariants:
//! 1. `head` holds the first bytes, the very first highest, filled up with zeros.
//! 2. The derived order is that of the bytes. Equal heads of two keys of which one has no more than
//!    its head: that one begins the other, so fewer bytes come first, and `Within` before `Beyond`.

/// How many bytes stand in the key itself.
const HEAD_BYTES: usize = 16;

/// Two odd numbers far from each other; their bits have no pattern.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
const OTHER_ODD: u64 = 0xd6e8_feb8_6659_fd93;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    head: u128,
    rest: Rest,
}

/// What a key has beside its head. The order of the variants is part of the order of keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rest {
    /// Nothing: the head holds so many bytes.
    Within(u8),
    /// These bytes, at least one.
    Beyond(Box<[u8]>),
}

impl Key {
    /// The key before all others: no bytes.
    pub(super) const LEAST: Key = Key {
        head: 0,
        rest: Rest::Within(0),
    };

    /// A key of these bytes.
    #[inline]
    pub(super) fn new(bytes: &[u8]) -> Key {
        let mut head = [0; HEAD_BYTES];
        let rest = match bytes.split_first_chunk() {
            Some((first, rest)) if !rest.is_empty() => {
                head = *first;
                Rest::Beyond(rest.into())
            }
            _ => {
                head[..bytes.len()].copy_from_slice(bytes);
                Rest::Within(bytes.len() as u8)
            }
        };
        Key {
            head: u128::from_be_bytes(head),
            rest,
        }
    }

    /// How many bytes it has.
    #[inline]
    pub(super) fn len(&self) -> usize {
        match &self.rest {
            Rest::Within(length) => usize::from(*length),
            Rest::Beyond(rest) => HEAD_BYTES + rest.len(),
        }
    }

    /// Appends its bytes.
    #[inline]
    pub(super) fn put(&self, bytes: &mut Vec<u8>) {
        let head = self.head.to_be_bytes();
        match &self.rest {
            Rest::Within(length) => bytes.extend_from_slice(&head[..usize::from(*length)]),
            Rest::Beyond(rest) => {
                bytes.extend_from_slice(&head);
                bytes.extend_from_slice(rest);
            }
        }
    }

    /// Its first bytes as one number, filled up with zeros.
    pub(super) fn head(&self) -> u128 {
        self.head
    }

    /// A number whose high bits depend on every byte, the same in every run. Who chooses keys so that
    /// they meet in one shard slows down his own benchmark and nobody else, so a multiplication is
    /// enough, and nothing secret is mixed in.
    #[inline]
    pub(super) fn hash(&self) -> u64 {
        let head = mixed((self.head >> 64) as u64 ^ ODD, self.head as u64 ^ OTHER_ODD);
        match &self.rest {
            Rest::Within(_) => head,
            Rest::Beyond(rest) => rest.chunks(8).fold(head, |hash, chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                mixed(hash ^ u64::from_be_bytes(word), ODD)
            }),
        }
    }
}

/// Both halves of a product, one over the other.
#[inline]
fn mixed(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::Key;

    /// Byte strings around the length of a head, with zeros where a shorter one ends.
    fn strings() -> Vec<Vec<u8>> {
        let mut strings = Vec::new();
        for length in [0, 1, 7, 8, 9, 14, 15, 16, 17, 18, 24, 31, 32, 33] {
            for fill in [0, 1, 127, 128, 255] {
                let base = vec![fill; length];
                for change in 0..length {
                    for byte in [0, 254, 255] {
                        let mut one = base.clone();
                        one[change] = byte;
                        strings.push(one);
                    }
                }
                strings.push(base);
            }
        }
        strings
    }

    #[test]
    fn keys_have_the_order_and_the_bytes_that_they_were_made_of() {
        let strings = strings();
        let keys: Vec<_> = strings.iter().map(|bytes| Key::new(bytes)).collect();
        for (one, bytes) in keys.iter().zip(&strings) {
            let mut back = Vec::new();
            one.put(&mut back);
            assert_eq!((&back, one.len()), (bytes, bytes.len()));
            for (other, others) in keys.iter().zip(&strings) {
                assert_eq!(one.cmp(other), bytes.cmp(others), "{bytes:?} {others:?}");
                assert!(one != other || one.hash() == other.hash());
            }
        }
        assert_eq!(Key::LEAST, Key::new(&[]));
        assert_eq!(size_of::<Key>(), 32, "the rest fits behind the head");
    }

    #[test]
    fn near_keys_hash_apart_whatever_column_they_differ_in() {
        let key = |columns: [u64; 4], count: usize| {
            let bytes: Vec<u8> = columns[..count]
                .iter()
                .flat_map(|column| [[1].as_slice(), &(column ^ 1 << 63).to_be_bytes()].concat())
                .collect();
            Key::new(&bytes)
        };
        for count in 1..=4 {
            for differing in 0..count {
                for step in [1, 2, 16, 64, 1000, 1 << 32] {
                    let mut counts = [0_u32; 16];
                    for row in 0..16_000 {
                        let mut columns = [3; 4];
                        columns[differing] = row * step;
                        counts[(key(columns, count).hash() >> 60) as usize] += 1;
                    }
                    assert!(
                        counts.iter().all(|count| (600..1400).contains(count)),
                        "column {differing} of {count} in steps of {step}: {counts:?}"
                    );
                }
            }
        }
    }
}
