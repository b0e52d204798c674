//! The content of `c` and `pad`: groups of eleven digits like sysbench's, which follow from table, owner and
//! version.
//!
//! ```text
//! c     version   nine groups of the text
//! pad   version   base   three groups of the text
//! ```
//!
//! A row's owner is its id; a row of test `insert`, whose id the store may choose, has owner 0 and its
//! number as version. `base` is the row's initial `k`. Version and base are masked by a number that follows
//! from table, owner and column, so that all groups look alike; the other groups are derived from all of
//! these. So a text in a wrong row, column or table, and a torn or truncated one, is detected.

use crate::distributions::mixed;

/// Bytes of `c`.
pub(super) const C_BYTES: usize = bytes(10);
/// Bytes of `pad`.
pub(super) const PAD_BYTES: usize = bytes(5);

/// Upper bound of versions and bases: eleven digits.
pub(super) const GROUP: u64 = 100_000_000_000;
const DIGITS: usize = 11;

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The length of this many groups and the dashes between them.
const fn bytes(groups: usize) -> usize {
    groups * (DIGITS + 1) - 1
}

/// The owner of a text: a table, by position, and an owner in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) table: usize,
    pub(super) id: u64,
}

impl Owner {
    fn word(self, column: u64) -> u64 {
        let table = mixed(self.table as u64 * 2 + column + 1);
        mixed(self.id.wrapping_mul(ODD) ^ table)
    }

    /// Writes a `c`.
    #[inline]
    pub(super) fn c(self, version: u64, text: &mut [u8; C_BYTES]) {
        let word = self.word(0);
        group(text, 0, (version + word % GROUP) % GROUP);
        for place in 1..10 {
            group(text, place, derived(word, version, place));
        }
    }

    /// Writes a `pad`.
    #[inline]
    pub(super) fn pad(self, version: u64, base: u64, text: &mut [u8; PAD_BYTES]) {
        let word = self.word(1);
        group(text, 0, (version + word % GROUP) % GROUP);
        let hidden = derived(word, version, 1);
        group(text, 1, (base + hidden) % GROUP);
        for place in 2..5 {
            group(text, place, derived(word, version ^ (base << 37), place));
        }
    }

    /// The version of a `c`; none if this text was never written for this owner.
    pub(super) fn version_of_c(self, text: &str) -> Option<u64> {
        let version = self.version(text.as_bytes(), 0)?;
        let mut again = [0; C_BYTES];
        self.c(version, &mut again);
        (again == text.as_bytes()).then_some(version)
    }

    /// As [`Owner::version_of_c`], but checks only the first groups: fast enough for every read.
    #[inline]
    pub(super) fn may_have_c(self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let Some(version) = self.version(bytes, 0).filter(|_| bytes.len() == C_BYTES) else {
            return false;
        };
        let word = self.word(0);
        read_group(bytes, 1) == Some(derived(word, version, 1))
    }

    /// The version and base of a `pad`; none if this text was never written for this owner.
    pub(super) fn of_pad(self, text: &str) -> Option<(u64, u64)> {
        let bytes = text.as_bytes();
        let version = self.version(bytes, 1)?;
        let hidden = derived(self.word(1), version, 1);
        let base = (read_group(bytes, 1)? + GROUP - hidden) % GROUP;
        let mut again = [0; PAD_BYTES];
        self.pad(version, base, &mut again);
        (again == bytes).then_some((version, base))
    }

    fn version(self, text: &[u8], column: u64) -> Option<u64> {
        let shown = read_group(text, 0)?;
        Some((shown + GROUP - self.word(column) % GROUP) % GROUP)
    }
}

/// The derived number of a group.
#[inline]
fn derived(word: u64, version: u64, place: usize) -> u64 {
    mixed(word ^ version.wrapping_mul(ODD) ^ ((place as u64) << 59)) % GROUP
}

/// Writes a number as the group at a place, followed by a dash if there is space.
#[inline]
fn group(text: &mut [u8], place: usize, number: u64) {
    let from = place * (DIGITS + 1);
    // Halves that fit 32 bits are divided faster.
    let (mut high, mut low) = ((number / 1_000_000) as u32, (number % 1_000_000) as u32);
    for byte in text[from + 5..from + DIGITS].iter_mut().rev() {
        *byte = b'0' + (low % 10) as u8;
        low /= 10;
    }
    for byte in text[from..from + 5].iter_mut().rev() {
        *byte = b'0' + (high % 10) as u8;
        high /= 10;
    }
    if let Some(dash) = text.get_mut(from + DIGITS) {
        *dash = b'-';
    }
}

/// The number of a group; none if it is not eleven digits.
#[inline]
fn read_group(text: &[u8], place: usize) -> Option<u64> {
    let from = place * (DIGITS + 1);
    let digits = text.get(from..from + DIGITS)?;
    digits.iter().try_fold(0, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| number * 10 + u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::{C_BYTES, GROUP, Owner, PAD_BYTES};

    fn c(owner: Owner, version: u64) -> String {
        let mut text = [0; C_BYTES];
        owner.c(version, &mut text);
        String::from_utf8(text.to_vec()).unwrap()
    }

    fn pad(owner: Owner, version: u64, base: u64) -> String {
        let mut text = [0; PAD_BYTES];
        owner.pad(version, base, &mut text);
        String::from_utf8(text.to_vec()).unwrap()
    }

    #[test]
    fn texts_have_sysbench_s_form() {
        let owner = Owner { table: 0, id: 7 };
        for (text, groups) in [(c(owner, 1), 10), (pad(owner, 2, 3), 5)] {
            let parts: Vec<&str> = text.split('-').collect();
            assert_eq!(parts.len(), groups);
            let digits = |part: &&str| part.len() == 11 && part.bytes().all(|b| b.is_ascii_digit());
            assert!(parts.iter().all(digits), "{text}");
        }
        assert_eq!((C_BYTES, PAD_BYTES), (119, 59));
    }

    #[test]
    fn a_text_is_valid_only_for_its_owner() {
        let mut words = fastrand::Rng::with_seed(1);
        for _ in 0..2_000 {
            let (version, base) = (words.u64(..GROUP), words.u64(..GROUP));
            let owner = Owner { table: words.usize(..10), id: words.u64(..5) };
            let (text, other) = (c(owner, version), pad(owner, version, base));
            assert_eq!(owner.version_of_c(&text), Some(version));
            assert!(owner.may_have_c(&text));
            assert_eq!(owner.of_pad(&other), Some((version, base)));
            for wrong in
                [Owner { id: owner.id + 1, ..owner }, Owner { table: owner.table + 1, ..owner }]
            {
                assert_eq!(wrong.version_of_c(&text), None);
                assert!(!wrong.may_have_c(&text));
                assert_eq!(wrong.of_pad(&other), None);
            }
        }
    }

    #[test]
    fn a_change_of_any_byte_is_detected() {
        let owner = Owner { table: 3, id: 11 };
        let (text, other) = (c(owner, 5), pad(owner, 6, 7));
        let changed = |text: &str, place: usize| {
            let mut bytes = text.as_bytes().to_vec();
            bytes[place] = if bytes[place] == b'1' { b'2' } else { b'1' };
            String::from_utf8(bytes).unwrap()
        };
        for place in 0..C_BYTES {
            assert_eq!(owner.version_of_c(&changed(&text, place)), None, "{place}");
        }
        for place in 0..PAD_BYTES {
            assert_eq!(owner.of_pad(&changed(&other, place)), None, "{place}");
        }
        assert_eq!(owner.version_of_c(&text[..C_BYTES - 1]), None);
        assert!(!owner.may_have_c(&text[..C_BYTES - 1]));
        assert_eq!(owner.of_pad(&format!("{other}0")), None);
    }
}
