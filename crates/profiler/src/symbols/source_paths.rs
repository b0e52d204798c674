//! Finds the source file of a function from the strings that it refers to.
//!
//! A C or C++ program with assertions passes `__FILE__` to their failure function, so a function loads the
//! address of a string with the path of its source file. For functions without symbols this is the only hint
//! (`InnoDB` in Debian's `MariaDB` exports none of its own), and since the linker keeps the functions of a
//! file together, the functions around it are from the same file. Headers are excluded: their functions occur
//! in every file that uses them.
//!
//! Only x86's `lea register, [rip + distance]` is searched for; on other architectures nothing is found.
//! Bytes that only look like this instruction almost never refer to a string that is a path.

use std::ops::Range;

/// An instruction that refers to a path, and the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Anchor<'a> {
    pub(super) address: u64,
    pub(super) path: &'a str,
}

/// A section's stated address and its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a> {
    pub(super) address: u64,
    pub(super) bytes: &'a [u8],
}

/// The length of the instruction, in bytes.
const LENGTH: usize = 7;
/// The maximum length of a path.
const LONGEST: usize = 200;
/// The endings of sources, not headers.
const ENDINGS: [&str; 4] = [".c", ".cc", ".cpp", ".cxx"];

/// All references in code to the path of a source file, by address.
pub(super) fn anchors<'a>(code: Bytes<'_>, texts: Bytes<'a>) -> Vec<Anchor<'a>> {
    let places = code.bytes.windows(LENGTH).enumerate();
    let found = places.filter_map(|(place, window)| {
        let address = code.address.checked_add(place as u64)?;
        let target = referred(address, window)?;
        let path = path_at(texts, target)?;
        Some(Anchor { address, path })
    });
    found.collect()
}

/// The address that an instruction loads.
fn referred(address: u64, window: &[u8]) -> Option<u64> {
    let [prefix, 0x8d, operands, distance @ ..] = window else {
        return None;
    };
    // 64-bit operand size, with or without an upper register; the address is relative to the next
    // instruction.
    if !matches!(prefix, 0x48 | 0x4c) || operands & 0b1100_0111 != 0b0000_0101 {
        return None;
    }
    let distance = i32::from_le_bytes(distance.try_into().ok()?);
    let next = address.checked_add(LENGTH as u64)?;
    next.checked_add_signed(i64::from(distance))
}

fn path_at(texts: Bytes<'_>, address: u64) -> Option<&str> {
    let place = usize::try_from(address.checked_sub(texts.address)?).ok()?;
    let rest = texts.bytes.get(place..)?;
    let Range { start, end } = 0..rest.len().min(LONGEST);
    let length = rest[start..end].iter().position(|byte| *byte == 0)?;
    let path = std::str::from_utf8(&rest[..length]).ok()?;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._+-".contains(letter);
    let is_path = ENDINGS.iter().any(|ending| path.ends_with(ending))
        && path.contains('/')
        && path.chars().all(plain);
    is_path.then_some(path)
}

#[cfg(test)]
mod tests {
    use super::{Anchor, Bytes, anchors};

    const TEXTS: &[u8] = b"\0./sql/log.cc\0no path.c\0include/page.h\0plain.c\0";

    /// `lea` of an upper or lower register, at an address.
    fn lea(prefix: u8, at: u64, to: u64) -> Vec<u8> {
        let distance = to.wrapping_sub(at + 7) as i32;
        let mut bytes = vec![prefix, 0x8d, 0x15];
        bytes.extend(distance.to_le_bytes());
        bytes
    }

    fn found(code: &[u8]) -> Vec<(u64, &'static str)> {
        let texts = Bytes { address: 0x9000, bytes: TEXTS };
        let code = Bytes { address: 0x1000, bytes: code };
        let found = anchors(code, texts).into_iter();
        found.map(|Anchor { address, path }| (address, path)).collect()
    }

    #[test]
    fn code_that_loads_the_path_of_a_source_is_found() {
        let mut code = vec![0x90; 3];
        code.extend(lea(0x48, 0x1003, 0x9001));
        code.extend(lea(0x4c, 0x100a, 0x9001));
        assert_eq!(found(&code), [(0x1003, "./sql/log.cc"), (0x100a, "./sql/log.cc")]);
    }

    #[test]
    fn other_strings_headers_and_instructions_are_ignored() {
        let text = |part: &str| {
            let place = TEXTS.windows(part.len()).position(|it| it == part.as_bytes());
            0x9000 + place.unwrap() as u64
        };
        for part in ["no path.c", "include/page.h", "plain.c", "l/log.cc"] {
            let seen = found(&lea(0x48, 0x1000, text(part)));
            assert!(seen.len() == usize::from(part == "l/log.cc"), "{part}");
        }
        assert!(found(&lea(0x40, 0x1000, 0x9001)).is_empty());
        assert!(found(&lea(0x48, 0x1000, 0x8fff)).is_empty());
        assert!(found(&lea(0x48, 0x1000, 0x9fff)).is_empty());
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let mut random = 1_u64;
        let mut bytes = Vec::new();
        for _ in 0..10_000 {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(99);
            bytes.push([0x48, 0x8d, 0x15, 0xff, (random >> 24) as u8][(random >> 33) as usize % 5]);
        }
        for address in [0, u64::MAX - 100, 1 << 63] {
            let piece = Bytes { address, bytes: &bytes };
            anchors(piece, piece);
        }
    }
}
