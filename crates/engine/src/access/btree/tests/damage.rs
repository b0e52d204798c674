//! Damage that the tree's check must report; each kind is planted into images of a sound tree.

use super::support::{TestTree, options};
use crate::access::btree::Tree;
use crate::buffer::{Buffer, page};
use crate::ids::{PageId, TreeId};
use std::collections::BTreeMap;

type Images = BTreeMap<PageId, Vec<u8>>;

/// The name of the damage, the expected message, and the damage itself.
type Damage<'a> = (&'a str, &'a str, &'a dyn Fn(&mut Images));

/// A tree of three levels with a long value, as images.
fn images() -> (Images, PageId, PageId) {
    let bed = TestTree::new(&options(None));
    for number in 0..1500_u32 {
        bed.put(&number.to_be_bytes(), &[3; 40], &mut || panic!("no snapshot"));
    }
    bed.put(&7_u32.to_be_bytes(), &[4; 1000], &mut || panic!("no snapshot"));
    let snapshot = bed.buffer.take_snapshot();
    let mut images = Images::new();
    for page in snapshot.dirty {
        let mut image = Vec::new();
        bed.buffer.capture(snapshot.epoch, page, &mut image);
        images.insert(page, image);
    }
    bed.buffer.finish_snapshot(snapshot.epoch);
    (images, snapshot.next_page, bed.tree.root())
}

fn check(images: &Images, next: PageId, root: PageId) -> Vec<String> {
    let buffer = Buffer::new(&options(None));
    for (page, image) in images {
        buffer.install(*page, image.clone().into_boxed_slice());
    }
    buffer.set_next_page(PageId(next.0 + 1));
    Tree::existing(TreeId(5), root).check(&buffer)
}

/// The first page of that kind and level that is not the root.
fn find(images: &Images, kind: page::Kind, level: u8, root: PageId) -> PageId {
    let fits = |(number, image): &(&PageId, &Vec<u8>)| {
        **number != root && page::kind(image) == Some(kind) && page::level(image) == level
    };
    *images.iter().find(fits).expect("the tree has such a page").0
}

#[test]
fn every_kind_of_planted_damage_is_reported() {
    use page::Kind::{Extent, Inner, Leaf};
    let (sound, next, root) = images();
    assert_eq!(check(&sound, next, root), Vec::<String>::new());
    let leaf = find(&sound, Leaf, 0, root);
    let inner = find(&sound, Inner, 1, root);
    let extent = find(&sound, Extent, 0, root);
    let is_other =
        |(page, image): &(&PageId, &Vec<u8>)| **page != leaf && page::kind(image) == Some(Leaf);
    let other = *sound.iter().rfind(is_other).expect("more than one leaf").0;
    let damages: [Damage<'_>; 14] = [
        ("a leaf is lost", "it does not exist", &|i| {
            i.remove(&leaf);
        }),
        ("an extent is lost", "it does not exist", &|i| {
            i.remove(&extent);
        }),
        ("a leaf in the position of another", "its fences differ", &|i| {
            let mut image = i[&other].clone();
            page::put_u64(&mut image, 0, leaf.0);
            i.insert(leaf, image);
        }),
        ("of another tree", "it belongs to tree 6", &|i| {
            edit(i, leaf, 8, 6);
        }),
        ("a leaf as an inner node", "an inner node of level 0", &|i| edit(i, leaf, 12, 2)),
        ("an inner node as a leaf", "a leaf where an inner", &|i| {
            edit(i, inner, 12, 1);
        }),
        ("another page as an extent", "not an extent", &|i| {
            let mut image = i[&leaf].clone();
            page::put_u64(&mut image, 0, extent.0);
            i.insert(extent, image);
        }),
        ("a wrong level", "an inner node of level 9", &|i| {
            edit(i, inner, 12, 0x0902);
        }),
        ("an extent that is too short", "that its extent pointer says", &|i| {
            i.get_mut(&extent).expect("it exists").pop();
        }),
        ("an extent of another value", "that its extent pointer says", &|i| {
            let image = i.get_mut(&extent).expect("it exists");
            page::put_u64(image, 32, extent.0 + 1);
        }),
        ("a leaf that nothing leads to", "nothing leads to it", &|i| {
            let mut image = i[&leaf].clone();
            page::put_u64(&mut image, 0, next.0);
            i.insert(next, image);
        }),
        ("a child twice", "two parents lead to it", &|i| {
            let image = i.get_mut(&inner).expect("it exists");
            let children = 40
                + usize::from(page::u16_at(image, 30))
                + 4 * usize::from(page::u16_at(image, 28));
            let first = page::u64_at(image, children);
            page::put_u64(image, children + 8, first);
        }),
        ("separators swapped", "is out of order", &|i| {
            let image = i.get_mut(&inner).expect("it exists");
            let heads = 40 + usize::from(page::u16_at(image, 30));
            let head = page::u32_at(image, heads);
            page::put_u32(image, heads + 4, head);
        }),
        ("a key out of order", "not above the one before", &|i| {
            let image = i.get_mut(&leaf).expect("it exists");
            let upper = match page::u16_at(image, 34) {
                0xFFFF => 0,
                bytes => usize::from(bytes),
            };
            let heads = 40 + usize::from(page::u16_at(image, 32)) + upper;
            let head = page::u32_at(image, heads);
            page::put_u32(image, heads + 4, head);
        }),
    ];
    for (what, expected, plant) in damages {
        let mut images = sound.clone();
        plant(&mut images);
        let problems = check(&images, next, root);
        assert!(problems.iter().any(|problem| problem.contains(expected)), "{what}: {problems:?}");
    }
}

fn edit(images: &mut Images, page: PageId, at: usize, value: u16) {
    let image = images.get_mut(&page).expect("the page exists");
    page::put_u16(image, at, value);
}
