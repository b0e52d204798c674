//! Leaves in blocks: the cap holds, and memory is released when rows are deleted.

use super::support::{TestTree, options};
use crate::access::btree::Blocked;
use crate::buffer::page::Kind;
use crate::buffer::{BufferOptions, MemoryNeed};
use crate::error::Error;
use crate::own_process::in_own_process;

const PAGE_BYTES: u64 = 4096;
const BLOCK_BYTES: u64 = 2 << 20;

/// The pages that a split may need.
const SPLIT_PAGES: u64 = 4;

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

/// Inserts rows until one is refused although no page waits for its last reader. Returns its number.
fn fill(bed: &TestTree, from: u32) -> u32 {
    let mut number = from;
    loop {
        match bed.tree.make_room(&bed.buffer, &key(number), 900) {
            Ok(()) => {
                bed.put(&key(number), &[3; 900], &mut || panic!("no snapshot"));
                number += 1;
            }
            Err(Blocked::Failed(Error::Capped { .. })) => {
                bed.buffer.free_retired(MemoryNeed::Pages(Kind::Leaf, SPLIT_PAGES));
                if !bed.buffer.has_memory(MemoryNeed::Pages(Kind::Leaf, SPLIT_PAGES)) {
                    return number;
                }
            }
            Err(blocked) => panic!("{blocked:?}"),
        }
    }
}

/// Memory in use after retired pages are freed.
fn bytes_after_reclaim(bed: &TestTree) -> u64 {
    bed.buffer.free_all_retired();
    bed.buffer.resident_bytes()
}

#[test]
fn a_capped_store_fills_its_blocks_frees_them_and_fills_them_again() {
    in_own_process(
        concat!(
            module_path!(),
            "::a_capped_store_fills_its_blocks_frees_them_and_fills_them_again"
        ),
        || {
            for extra in [0, BLOCK_BYTES / 2, BLOCK_BYTES - PAGE_BYTES] {
                let resident_bytes_max = 4 * BLOCK_BYTES + extra;
                let bed = TestTree::new(&BufferOptions {
                    page_bytes: PAGE_BYTES as u32,
                    blocks_from_bytes: 1 << 20,
                    resident_bytes_max,
                    ..options(None)
                });
                let rows = fill(&bed, 0);
                let full = bytes_after_reclaim(&bed);
                // Once no block fits below the cap, leaves are allocated one by one up to it.
                let is_full =
                    resident_bytes_max - 4 * PAGE_BYTES..=resident_bytes_max + 4 * PAGE_BYTES;
                assert!(is_full.contains(&full), "{full} of {resident_bytes_max}");
                assert!(u64::from(rows) * 900 > resident_bytes_max * 8 / 10, "{rows}");
                for number in 0..rows * 3 / 4 {
                    assert!(bed.remove(&key(number), &mut || panic!("no snapshot")));
                }
                // A quarter of the rows, blocks that are not full, and the block that always stays.
                let left = bytes_after_reclaim(&bed);
                assert!(left <= full / 4 + 2 * BLOCK_BYTES, "{left} of {full} left");
                let again = fill(&bed, rows) - rows;
                assert!(again > rows * 7 / 10, "{again} rows again after {rows}");
                let full_again = bytes_after_reclaim(&bed);
                assert!(full_again <= resident_bytes_max + 4 * PAGE_BYTES);
                assert_eq!(bed.tree.check(&bed.buffer), Vec::<String>::new());
            }
        },
    );
}

/// Blocks are added when memory runs low, up to the cap and no further, and leaves then use them.
#[test]
#[cfg(target_os = "linux")]
fn memory_is_preallocated_for_leaves_within_the_cap() {
    in_own_process(
        concat!(module_path!(), "::memory_is_preallocated_for_leaves_within_the_cap"),
        || {
            let resident_bytes_max = 4 * BLOCK_BYTES;
            let bed = TestTree::new(&BufferOptions {
                page_bytes: PAGE_BYTES as u32,
                blocks_from_bytes: 1 << 20,
                resident_bytes_max,
                ..options(None)
            });
            let mut number = 0;
            let mut put_until = |bytes: u64| {
                while bed.buffer.resident_bytes() < bytes {
                    let room = bed.tree.make_room(&bed.buffer, &key(number), 900);
                    room.expect("there is room below the cap");
                    bed.put(&key(number), &[3; 900], &mut || panic!("no snapshot"));
                    number += 1;
                }
            };
            bed.buffer.preallocate();
            assert!(bed.buffer.resident_bytes() < BLOCK_BYTES, "too small for blocks");
            // Filled with rows, not with half-empty pages left by splits.
            let rows_bytes = BLOCK_BYTES + (1 << 20);
            while bytes_after_reclaim(&bed) < rows_bytes {
                put_until(rows_bytes);
            }
            let before = bed.buffer.resident_bytes();
            let blocks_more = |before: u64| {
                bed.buffer.preallocate();
                (bed.buffer.resident_bytes() - before) / BLOCK_BYTES
            };
            assert_eq!(blocks_more(before), 1);
            assert_eq!(blocks_more(before), 1, "one block was added, and memory is no longer low");
            assert!(bed.buffer.low().is_raised(), "the signal was raised when it ran low");
            // Half of the added memory is used: another block would exceed the cap.
            put_until(before + BLOCK_BYTES + PAGE_BYTES);
            fill(&bed, number);
            bed.buffer.preallocate();
            assert!(bed.buffer.resident_bytes() <= resident_bytes_max + 4 * PAGE_BYTES);
        },
    );
}

#[test]
fn leaves_scattered_over_blocks_leave_room_for_leaves() {
    in_own_process(
        concat!(module_path!(), "::leaves_scattered_over_blocks_leave_room_for_leaves"),
        || {
            let bed = TestTree::new(&BufferOptions {
                page_bytes: PAGE_BYTES as u32,
                blocks_from_bytes: 1 << 20,
                resident_bytes_max: 4 * BLOCK_BYTES,
                ..options(None)
            });
            let rows = fill(&bed, 0);
            // About one of ten leaves stays, so that no block becomes entirely free.
            for number in (0..rows).filter(|number| number % 40 > 3) {
                assert!(bed.remove(&key(number), &mut || panic!("no snapshot")));
            }
            let again = fill(&bed, rows) - rows;
            assert!(again > rows / 2, "{again} rows again after {rows}");
        },
    );
}
