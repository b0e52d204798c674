//! Pages with arbitrary bytes: verified, then read as a leaf or an inner node; packed ones are unpacked
//! first.

use super::extent;
use super::inner::{Branches, Inner};
use super::leaf::Leaf;
use super::page::{self, Kind};
use super::page_packing;
use super::version_word::VersionWord;
use crate::fuzzing::{Input, with_a_bit_flipped};
use crate::ids::{Csn, PageId, TreeId};

const PAGE: PageId = PageId(9);
const TREE: TreeId = TreeId(3);

/// A page: one byte for its kind and size, then its bytes from offset 28 on.
pub fn page(data: &[u8]) {
    if page::verify(data, PAGE).is_ok() {
        check(data);
    }
    let mut input = Input(data);
    let what = input.byte();
    let kind = [Kind::Leaf, Kind::Inner, Kind::Overflow, Kind::Extent][usize::from(what % 4)];
    let mut image = vec![0; [512, 1024][usize::from(what / 4 % 2)]];
    let content = input.take(image.len() - 28);
    check_packed(kind, content);
    image[28..28 + content.len()].copy_from_slice(content);
    page::label(&mut image, PAGE, TREE, kind, u8::from(kind == Kind::Inner));
    let crc = page::seal(&mut image, 5);
    assert_eq!(page::verify(&image, PAGE), Ok(crc), "a sealed page verifies");
    let flipped = with_a_bit_flipped(&image, image.len());
    assert!(page::verify(&flipped, PAGE).is_err(), "a flipped bit is detected");
    assert!(page::verify(&image, PageId(10)).is_err(), "the number is another page's");
    check(&image);
}

/// A sound unpacked page packs to a form that unpacks to the same rows.
fn check_packed(kind: Kind, content: &[u8]) {
    let mut bytes = vec![0; 28 + content.len().max(12)];
    bytes[28..28 + content.len()].copy_from_slice(content);
    page::label(&mut bytes, PAGE, TREE, kind, 0);
    let Ok(page) = page_packing::unpack(&bytes, 1024) else {
        return;
    };
    check(&page);
    let is_sound = kind != Kind::Leaf || Leaf::from_image((&*page).into()).check().is_empty();
    if !is_sound {
        return;
    }
    let mut again = Vec::new();
    page_packing::pack(&mut page.to_vec(), &mut again);
    let unpacked = page_packing::unpack(&again, 1024);
    assert_eq!(unpacked.as_deref(), Ok(&*page), "unpacked, packed, unpacked");
}

fn check(image: &[u8]) {
    match page::kind(image).expect("a verified page has a kind") {
        Kind::Leaf => check_leaf(&Leaf::from_image(image.into())),
        Kind::Inner => check_inner(&Inner::from_image(image)),
        Kind::Overflow | Kind::Extent => {}
    }
}

/// A leaf that its check finds sound can be read: each key is found in its slot.
fn check_leaf(leaf: &Leaf) {
    if !leaf.check().is_empty() {
        return;
    }
    let mut key = Vec::new();
    for slot in 0..leaf.count() {
        leaf.key_into(slot, &mut key);
        assert_eq!(leaf.search(&key), Ok(slot), "a key is found in its slot");
        assert_eq!(leaf.key_bytes(slot), key.len());
        assert!(leaf.value(slot).len() <= leaf.capacity(slot));
        assert!(leaf.covers(&key), "keys lie between the fences");
        let csn = leaf.word(slot).csn();
        assert!(csn.0 <= leaf.word(slot).0, "a word holds its csn");
        key.push(0);
        assert!(leaf.search(&key) == Err(slot + 1) || slot + 1 < leaf.count());
    }
}

/// A node with a sound frame can be taken apart; if its separators ascend, so that it can be searched, it can
/// be put together again.
fn check_inner(inner: &Inner) {
    if inner.check_frame().is_err() {
        return;
    }
    let branches = inner.branches();
    assert_eq!(branches.count(), inner.count());
    let separators = || (0..branches.count()).map(|index| branches.separator(index));
    if !separators().is_sorted_by(|one, next| one < next) {
        return;
    }
    let bytes = inner.image().len();
    let node = branches.node(bytes, PAGE, inner.tree(), inner.level());
    // A rewritten node shares the longest prefix, so it is no larger than before.
    let node = node.expect("branches from a page fit into a page");
    assert_eq!(node.branches(), branches, "taken apart, put together, taken apart");
    assert_eq!(node.check_frame(), Ok(()));
    for (index, separator) in separators().enumerate() {
        assert_eq!(node.index_of(separator), index + 1);
        assert_eq!(node.index_before(Some(separator)), index);
    }
}

/// Pages as trees fill them.
pub(crate) fn page_seeds() -> Vec<Vec<u8>> {
    let mut leaf = Leaf::empty(512, PAGE, TREE, b"a", Some(b"c"));
    for (slot, key) in [b"ab".as_slice(), b"abacus", b"abacuses", b"b"].iter().enumerate() {
        let word = VersionWord::of(Csn(slot as u64 + 1));
        assert!(leaf.insert(slot, key, word, 20).is_ok());
    }
    let mut branches = Branches::of(PageId(1));
    for (at, separator) in [b"ab".as_slice(), b"abacus", b"abx", b"ac"].iter().enumerate() {
        branches.insert(at, separator, PageId(at as u64 + 2));
    }
    let inner = branches.node(512, PAGE, TREE, 1).expect("it fits");
    let seed = |what: u8, image: &[u8]| [&[what], &image[28..]].concat();
    let mut packed = Vec::new();
    page_packing::pack(&mut leaf.image().to_vec(), &mut packed);
    vec![
        seed(0, &packed),
        seed(0, leaf.image()),
        seed(1, inner.image()),
        seed(2, &[7; 100]),
        seed(3, &extent::image(PAGE, TREE, PAGE, &[7; 1_500])),
    ]
}
