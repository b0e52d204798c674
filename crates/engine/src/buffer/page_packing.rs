//! A page's image on the disk: only as long as its contents.
//!
//! A leaf is packed ([`super::leaf`]). An inner node is as in memory, without the zeros at its end; an extent
//! is as long in memory. The header is the same in both forms, so that sealing and verifying do not depend on
//! the kind.

use super::extent;
use super::leaf::Leaf;
use super::page::{HEADER_BYTES, Kind, kind};
use crate::planted_bug::{PlantedBug, planted};

/// Packs a page into `out`, replacing its content. `page` may be used for that, and is undefined afterwards.
pub(crate) fn pack(page: &mut Vec<u8>, out: &mut Vec<u8>) {
    match kind(page) {
        Some(Kind::Leaf) => {
            out.resize(page.len(), 0);
            let used = Leaf::pack(page, out);
            out.truncate(used);
        }
        Some(Kind::Extent) if !planted(PlantedBug::TrimExtents) => std::mem::swap(page, out),
        _ => {
            std::mem::swap(page, out);
            let used = out.iter().rposition(|byte| *byte != 0);
            out.truncate(used.map_or(0, |last| last + 1).max(HEADER_BYTES));
        }
    }
}

/// The page in memory, `page_bytes` long if it is no extent, or why the bytes do not contain one. The caller
/// has verified them.
pub(crate) fn unpack(packed: &[u8], page_bytes: usize) -> Result<Box<[u8]>, &'static str> {
    if packed.len() >= HEADER_BYTES && kind(packed) == Some(Kind::Extent) {
        extent::check(packed)?;
        return Ok(packed.into());
    }
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
    use crate::buffer::extent;
    use crate::buffer::page::{HEADER_BYTES, Kind, label, seal, verify};
    use crate::ids::{PageId, TreeId};

    #[test]
    fn other_pages_lose_the_zeros_at_their_end() {
        let mut page = vec![0; 512];
        label(&mut page, PageId(9), TreeId(3), Kind::Inner, 1);
        page[100] = 7;
        let mut packed = vec![0xff; 512];
        pack(&mut page.clone(), &mut packed);
        assert_eq!(packed.len(), 101);
        let crc = seal(&mut packed, 5);
        assert_eq!(verify(&packed, PageId(9)), Ok(crc));
        let again = unpack(&packed, 512).unwrap();
        assert_eq!(again[28..], page[28..]);
        page[100] = 0;
        pack(&mut page, &mut packed);
        assert_eq!(packed.len(), HEADER_BYTES);
        assert!(unpack(&packed[..HEADER_BYTES - 1], 512).is_err());
        packed.resize(512, 0);
        assert!(unpack(&packed, 511).is_err());
    }

    #[test]
    fn an_extent_keeps_its_length_whatever_it_ends_with() {
        let extent = extent::image(PageId(9), TreeId(3), PageId(7), &[0; 3_000]);
        let (mut page, mut packed) = (extent.to_vec(), Vec::new());
        pack(&mut page, &mut packed);
        assert_eq!(packed, *extent);
        let crc = seal(&mut packed, 5);
        assert_eq!(verify(&packed, PageId(9)), Ok(crc));
        let again = unpack(&packed, 512).unwrap();
        assert_eq!(extent::part(&again), (&[0; 3_000][..], PageId(7)));
        packed.push(0);
        assert!(unpack(&packed, 512).is_err(), "it is longer than its header says");
    }
}
