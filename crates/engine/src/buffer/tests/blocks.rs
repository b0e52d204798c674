//! Pages in blocks: each cell has one owner, and unused memory goes back.

use crate::buffer::blocks::{BLOCK_BYTES, Blocks, CellsOf, PageBytes};
use std::collections::BTreeSet;

const PAGE_BYTES: usize = 8192;

fn copied(blocks: &Blocks, fill: u8) -> PageBytes {
    let cell = blocks.copy(&[fill; PAGE_BYTES], true);
    cell.expect("the system provides two megabytes")
}

fn address(cell: &PageBytes) -> usize {
    cell.as_ptr().addr()
}

#[test]
#[cfg(target_os = "linux")]
fn every_cell_has_one_owner_and_keeps_its_bytes() {
    for seed in 0..5 {
        let mut random = fastrand::Rng::with_seed(seed);
        let blocks = Blocks::new(CellsOf::pages(PAGE_BYTES));
        let mut cells: Vec<(u8, PageBytes)> = Vec::new();
        for _ in 0..3_000 {
            if random.u32(..3) > 0 || cells.is_empty() {
                let fill = random.u8(..);
                cells.push((fill, copied(&blocks, fill)));
            } else {
                let (fill, mut cell) = cells.swap_remove(random.usize(..cells.len()));
                assert!(cell.iter().all(|byte| *byte == fill), "seed {seed}");
                cell.fill(0xEE);
            }
        }
        let mut starts: Vec<usize> = cells.iter().map(|(_, cell)| address(cell)).collect();
        starts.sort_unstable();
        let is_apart = |pair: &[usize]| pair[0] + PAGE_BYTES <= pair[1];
        assert!(starts.windows(2).all(is_apart), "seed {seed}");
        for (fill, cell) in &cells {
            assert!(cell.iter().all(|byte| byte == fill), "seed {seed}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn blocks_go_back_one_by_one_and_one_stays() {
    let blocks = Blocks::new(CellsOf::pages(PAGE_BYTES));
    let count = CellsOf::pages(PAGE_BYTES).in_block();
    let full = BLOCK_BYTES - count * (PAGE_BYTES + 16);
    assert!(full * 50 < BLOCK_BYTES, "a block is nearly all pages");
    let mut cells: Vec<PageBytes> = (0..4 * count).map(|_| copied(&blocks, 1)).collect();
    assert_eq!(blocks.spare_bytes(), 4 * full as u64);
    assert!(!blocks.has_room());
    assert!(blocks.copy(&[1; PAGE_BYTES], false).is_none(), "no block comes unless it may");
    cells.sort_by_key(address);
    // Free nine of ten cells in each block: all blocks stay. A new page goes to the lowest one.
    let mut left: Vec<PageBytes> = Vec::new();
    for (at, cell) in cells.into_iter().enumerate() {
        if at % 10 == 0 {
            left.push(cell);
        }
    }
    let counted = |blocks: &Blocks, cells: usize| {
        (blocks.spare_bytes() + (cells * (PAGE_BYTES + 16)) as u64) / BLOCK_BYTES as u64
    };
    assert_eq!(counted(&blocks, left.len()), 4);
    assert!(blocks.has_room());
    let new = blocks.copy(&[2; PAGE_BYTES], false).expect("there is room");
    let block = |cell: &PageBytes| address(cell) / BLOCK_BYTES;
    assert_eq!(block(&new), block(&left[0]));
    drop(new);
    // Free the last cells of some blocks: one block stays for later pages, the others do not.
    let lowest = block(&left[0]);
    let (stays, goes): (Vec<_>, Vec<_>) = left.into_iter().partition(|it| block(it) == lowest);
    drop(goes);
    assert_eq!(counted(&blocks, stays.len()), 2);
    drop(stays);
    assert_eq!(blocks.spare_bytes(), BLOCK_BYTES as u64);
}

#[test]
#[cfg(target_os = "linux")]
fn a_preallocated_block_is_used_only_when_those_in_use_are_full() {
    let blocks = Blocks::new(CellsOf::pages(PAGE_BYTES));
    let count = CellsOf::pages(PAGE_BYTES).in_block();
    let mut cells = vec![copied(&blocks, 1)];
    assert!(blocks.runs_low(), "less than a block is free");
    assert!(blocks.preallocate() && !blocks.runs_low());
    let block = |cell: &PageBytes| address(cell) / BLOCK_BYTES;
    let mut more = |of: usize| {
        for _ in 0..of {
            let cell = blocks.copy(&[2; PAGE_BYTES], false);
            cells.push(cell.expect("a block was preallocated"));
        }
        let used: BTreeSet<usize> = cells.iter().map(block).collect();
        used.len()
    };
    assert_eq!(more(count - 1), 1, "the block with the lower address");
    assert!(!blocks.runs_low());
    assert_eq!(more(1), 2);
    assert!(blocks.runs_low());
    assert_eq!(more(count - 1), 2);
    assert!(blocks.copy(&[3; PAGE_BYTES], false).is_none());
    // With many blocks more may be preallocated; unneeded ones go back.
    cells.extend((0..254 * count).map(|_| copied(&blocks, 4)));
    assert!(blocks.preallocate() && blocks.runs_low());
    assert!(blocks.preallocate() && !blocks.runs_low());
    drop(cells);
    assert_eq!(blocks.spare_bytes(), BLOCK_BYTES as u64);
}

#[test]
#[cfg(target_os = "linux")]
fn cells_may_outlive_their_store_and_end_on_other_threads() {
    let blocks = Blocks::new(CellsOf::pages(PAGE_BYTES));
    let pool = blocks.weak();
    let cells: Vec<PageBytes> = (0..=255).map(|fill| copied(&blocks, fill)).collect();
    let (some, others) = (cells, (0..600).map(|_| copied(&blocks, 9)));
    let mut others: Vec<PageBytes> = others.collect();
    std::thread::scope(|scope| {
        scope.spawn(|| others.truncate(300));
        scope.spawn(|| {
            for (fill, cell) in some.into_iter().enumerate() {
                assert!(cell.iter().all(|byte| usize::from(*byte) == fill));
            }
        });
        for _ in 0..300 {
            drop(copied(&blocks, 3));
        }
    });
    drop(blocks);
    assert!(pool.upgrade().is_some(), "cells keep their blocks");
    assert!(others.iter().all(|cell| cell[PAGE_BYTES - 1] == 9));
    drop(others);
    assert!(pool.upgrade().is_none(), "nothing keeps a block");
}

#[test]
#[cfg(target_os = "linux")]
fn neighbouring_cells_map_to_different_cache_sets() {
    let blocks = Blocks::new(CellsOf::pages(PAGE_BYTES));
    let cells: Vec<PageBytes> = (0..64).map(|_| copied(&blocks, 0)).collect();
    let places: BTreeSet<usize> = cells.iter().map(|cell| address(cell) / 64 % 64).collect();
    assert_eq!(places.len(), 64);
}

/// As reported by the system: the mapping of a cell has the flag for huge pages.
#[test]
#[cfg(target_os = "linux")]
fn huge_pages_are_requested_from_the_system() {
    if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
        return; // This system has none.
    }
    let blocks = Blocks::new(CellsOf::pages(PAGE_BYTES));
    let cell = copied(&blocks, 1);
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("Linux lists the mappings");
    let holds = |line: &str| {
        let range = line.split(' ').next().and_then(|it| it.split_once('-'));
        let number = |text| usize::from_str_radix(text, 16).ok();
        let range = range.and_then(|(from, to)| Some(number(from)?..number(to)?));
        range.is_some_and(|range| range.contains(&address(&cell)))
    };
    let mut lines = maps.lines().skip_while(|line| !holds(line));
    let flags = lines.find(|line| line.starts_with("VmFlags:"));
    let flags = flags.expect("the cell is in a mapping");
    assert!(flags.split(' ').any(|flag| flag == "hg"), "{flags}");
}
