//! A page's image on the disk: only as long as its contents.
//!
//! A leaf is packed ([`super::leaf`]). Any other page is as in memory, without the zeros at its end; there
//! are few of those, except overflow pages, which are full. The header is the same in both forms, so that
//! sealing and verifying do not depend on the kind.

use super::leaf::Leaf;
use super::page::{HEADER_BYTES, Kind, kind};

/// Packs a page into `out`, which is as long, and returns the length of the packed form.
pub(crate) fn pack(page: &[u8], out: &mut [u8]) -> usize {
    if kind(page) == Some(Kind::Leaf) {
        return Leaf::pack(page, out);
    }
    let used = page.iter().rposition(|byte| *byte != 0);
    let used = used.map_or(0, |last| last + 1).max(HEADER_BYTES);
    out[..used].copy_from_slice(&page[..used]);
    used
}

/// The page in memory, `page_bytes` long, or why the bytes do not contain one. The caller has verified them.
pub(crate) fn unpack(packed: &[u8], page_bytes: usize) -> Result<Box<[u8]>, &'static str> {
    if !(HEADER_BYTES..=page_bytes).contains(&packed.len()) {
        return Err("its length is not that of a packed page");
    }
    let mut page = vec![0; page_bytes].into_boxed_slice();
    if kind(packed) == Some(Kind::Leaf) {
        Leaf::unpack(packed, &mut page)?;
    } else {
        page[..packed.len()].copy_from_slice(packed);
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::{pack, unpack};
    use crate::buffer::page::{HEADER_BYTES, Kind, label, seal, verify};
    use crate::ids::{PageId, TreeId};

    #[test]
    fn other_pages_lose_the_zeros_at_their_end() {
        let mut page = vec![0; 512];
        label(&mut page, PageId(9), TreeId(3), Kind::Overflow, 0);
        page[100] = 7;
        let mut packed = vec![0xff; 512];
        let bytes = pack(&page, &mut packed);
        assert_eq!(bytes, 101);
        let crc = seal(&mut packed[..bytes], 5);
        assert_eq!(verify(&packed[..bytes], PageId(9)), Ok(crc));
        let again = unpack(&packed[..bytes], 512).unwrap();
        assert_eq!(again[28..], page[28..]);
        page[100] = 0;
        assert_eq!(pack(&page, &mut packed), HEADER_BYTES);
        assert!(unpack(&packed[..HEADER_BYTES - 1], 512).is_err());
        assert!(unpack(&packed, 511).is_err());
    }
}
