//! The operations of a transaction, generated from seed, client and number alone; and the value of a put.
//!
//! Format of a value, 16 bytes, big-endian: the client (4), the number of its transaction (8), the number of
//! the operation (4).

use crate::distributions::{Stream, mixed};

/// Percentage of operations that put; the others remove.
const PUTS_PERCENT: u64 = 89;
/// The most bytes of a key.
pub(super) const KEY_BYTES_MAX: usize = 16;
/// Bytes of a value.
pub(super) const VALUE_BYTES: usize = 16;

/// A key: `key_len` bytes, followed by zeros.
pub(super) type Key = [u8; KEY_BYTES_MAX];

/// The origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) client: u32,
    pub(super) transaction: u64,
    pub(super) operation: u32,
}

impl Origin {
    /// Encodes the origin as a value.
    #[inline]
    pub(super) fn value(self) -> [u8; VALUE_BYTES] {
        let mut value = [0; VALUE_BYTES];
        value[..4].copy_from_slice(&self.client.to_be_bytes());
        value[4..12].copy_from_slice(&self.transaction.to_be_bytes());
        value[12..].copy_from_slice(&self.operation.to_be_bytes());
        value
    }

    /// Decodes a value; none if its length is wrong.
    pub(super) fn of_value(value: &[u8]) -> Option<Origin> {
        if value.len() != VALUE_BYTES {
            return None;
        }
        let (client, rest) = value.split_first_chunk()?;
        let (transaction, rest) = rest.split_first_chunk()?;
        let (operation, _) = rest.split_first_chunk()?;
        Some(Origin {
            client: u32::from_be_bytes(*client),
            transaction: u64::from_be_bytes(*transaction),
            operation: u32::from_be_bytes(*operation),
        })
    }
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    pub(super) key: Key,
    pub(super) puts: bool,
}

/// The operations of a transaction, in order.
#[derive(Debug)]
pub(super) struct Operations {
    stream: Stream,
    key_bytes: usize,
    left: u64,
}

impl Operations {
    /// The operations of transaction `number` of a client.
    #[inline]
    pub(super) fn of(seed: u64, client: u32, number: u64, size: TransactionSize) -> Operations {
        let seed = mixed(seed ^ mixed(number.wrapping_add(1)));
        Operations {
            stream: Stream::of_client(seed, client as usize, "ops"),
            key_bytes: size.key_bytes,
            left: size.nops,
        }
    }
}

/// The length of keys, and the number of operations per transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct TransactionSize {
    pub(super) key_bytes: usize,
    pub(super) nops: u64,
}

impl Iterator for Operations {
    type Item = Operation;

    #[inline]
    fn next(&mut self) -> Option<Operation> {
        self.left = self.left.checked_sub(1)?;
        let mut key = [0; KEY_BYTES_MAX];
        for part in key[..self.key_bytes].chunks_mut(8) {
            part.copy_from_slice(&self.stream.word().to_be_bytes()[..part.len()]);
        }
        let puts = self.stream.percent(PUTS_PERCENT);
        Some(Operation { key, puts })
    }
}

#[cfg(test)]
mod tests {
    use super::{Operations, Origin, TransactionSize};

    #[test]
    fn a_value_identifies_its_origin() {
        let origin = Origin { client: 7, transaction: u64::MAX - 1, operation: 99 };
        assert_eq!(Origin::of_value(&origin.value()), Some(origin));
        assert_eq!(Origin::of_value(&origin.value()[..15]), None);
        assert_eq!(Origin::of_value(&[0; 17]), None);
    }

    #[test]
    fn operations_depend_only_on_their_transaction() {
        let of = |client, number, key_bytes| {
            let size = TransactionSize { key_bytes, nops: 50 };
            Operations::of(3, client, number, size).collect::<Vec<_>>()
        };
        assert_eq!(of(1, 1, 4), of(1, 1, 4));
        assert_eq!(of(1, 1, 4).len(), 50);
        assert_ne!(of(1, 1, 4), of(1, 2, 4));
        assert_ne!(of(1, 1, 4), of(2, 1, 4));
        assert!(of(1, 1, 3).iter().all(|one| one.key[3..] == [0; 13]));
    }

    #[test]
    fn of_a_hundred_operations_89_put() {
        let size = TransactionSize { key_bytes: 4, nops: 100_000 };
        let puts = Operations::of(1, 0, 0, size).filter(|one| one.puts).count();
        assert!((88_500..=89_500).contains(&puts), "{puts}");
    }
}
