//! Pages that leave memory and come back.

use crate::buffer::page::Kind;
use crate::buffer::{Buffer, BufferOptions, Content, Leaf, MemoryEvictor, Miss, VersionWord, pin};
use crate::ids::{Csn, PageId, TreeId};
use crate::planted_bug::{PlantedBug, with};

/// A buffer with a leaf of rows, each written by the commit of its number.
fn leaf_of(commits: &[u64]) -> (Buffer, MemoryEvictor, PageId) {
    let options = BufferOptions { page_bytes: 512, evicts: true, ..BufferOptions::default() };
    let mut buffer = Buffer::new(&options);
    let evictor = buffer.evict_to_memory();
    let page = buffer.allocate(Kind::Leaf).unwrap();
    let mut leaf = Leaf::empty(512, page, TreeId(3), &[], None);
    for (slot, commit) in commits.iter().enumerate() {
        leaf.insert(slot, &[slot as u8], VersionWord::of(Csn(*commit)), 4).unwrap();
        leaf.set_value(slot, &commit.to_le_bytes()[..4]);
    }
    buffer.add_page(Content::Leaf(leaf));
    (buffer, evictor, page)
}

fn counter_of(buffer: &Buffer, page: PageId) -> Option<u64> {
    buffer.view_leaf(page, &pin(), Leaf::counter)
}

#[test]
fn a_leaf_leaves_its_counter_and_newest_commit_and_comes_back_as_it_left() {
    let (buffer, evictor, page) = leaf_of(&[5, 9, 7]);
    let counter = counter_of(&buffer, page).unwrap();
    assert_eq!(buffer.evidence(page), None, "it is in memory");
    assert!(evictor.evict(&buffer, page) && !evictor.evict(&buffer, page));
    let evidence = buffer.evidence(page).unwrap();
    assert_eq!((evidence.counter, evidence.newest), (counter, Csn(9)));
    assert_eq!(counter_of(&buffer, page), None);
    assert!(matches!(buffer.find(page, &pin()), Err(Miss(missing)) if missing == page));
    buffer.load(Miss(page)).unwrap();
    assert_eq!(counter_of(&buffer, page), Some(counter));
    let values =
        |leaf: &Leaf| (0..leaf.count()).map(|slot| leaf.value(slot)[0]).collect::<Vec<_>>();
    assert_eq!(buffer.view_leaf(page, &pin(), values), Some(vec![5, 9, 7]));
    assert_eq!(buffer.evidence(page), None);
}

/// True if nothing is known of a page whose number belonged to an evicted leaf before.
fn forgets_freed_leaves() -> bool {
    let (buffer, evictor, page) = leaf_of(&[5]);
    assert!(evictor.evict(&buffer, page));
    buffer.free(page);
    assert_eq!(buffer.allocate(Kind::Inner).unwrap(), page, "its number is used again");
    buffer.release(page);
    let other = buffer.allocate(Kind::Leaf).unwrap();
    buffer.add_page(Content::Leaf(Leaf::empty(512, other, TreeId(4), &[], None)));
    assert_eq!(other, page);
    let counter = counter_of(&buffer, page).unwrap();
    evictor.evict(&buffer, page);
    buffer.load(Miss(page)).unwrap();
    counter_of(&buffer, page) == Some(counter) && buffer.evidence(page).is_none()
}

#[test]
fn evidence_ends_with_its_leaf() {
    assert!(forgets_freed_leaves());
    let kept = || {
        let (buffer, evictor, page) = leaf_of(&[5]);
        assert!(evictor.evict(&buffer, page));
        buffer.free(page);
        buffer.has_evidence(page)
    };
    assert!(!kept());
    assert!(with(Some(PlantedBug::KeepEvidence), kept), "the bug is noticed");
}

#[test]
fn a_leaf_with_a_locked_row_stays() {
    let (buffer, evictor, page) = leaf_of(&[5, 6]);
    let lock = |leaf: &mut Leaf| leaf.set_word(1, leaf.word(1).locked());
    buffer.change_leaf(page, &pin(), lock).unwrap();
    assert!(!evictor.evict(&buffer, page));
    let unlock = |leaf: &mut Leaf| leaf.set_word(1, leaf.word(1).unlocked());
    buffer.change_leaf(page, &pin(), unlock).unwrap();
    assert!(evictor.evict(&buffer, page));
}
