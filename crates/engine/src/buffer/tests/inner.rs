//! Inner nodes compared with a sorted list of separators.

use crate::buffer::{Branches, Inner};
use crate::ids::{PageId, TreeId};

fn key(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut key = if random.u8(..2) == 0 { b"same".to_vec() } else { Vec::new() };
    let bytes = random.usize(1..9);
    key.extend((0..bytes).map(|_| random.u8(..3) * 100));
    key
}

#[test]
fn an_inner_node_leads_to_the_same_child_as_a_sorted_list() {
    let mut with_branch = 0;
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut branches = Branches::of(PageId(1));
        let mut list: Vec<Vec<u8>> = Vec::new();
        let mut children = vec![PageId(1)];
        let mut next = 2;
        for _ in 0..60 {
            let separator = key(&mut random);
            if let Err(at) = list.binary_search(&separator) {
                let mut more = branches.clone();
                more.insert(at, &separator, PageId(next));
                if more.node(512, PageId(9), TreeId(2), 1).is_none() {
                    continue;
                }
                let fits = branches.node(512, PageId(9), TreeId(2), 1);
                let before = fits.expect("it fitted before");
                if let Some(node) = before.with_branch(at, &separator, PageId(next)) {
                    let whole = more.node(512, PageId(9), TreeId(2), 1);
                    let whole = whole.expect("it fitted before");
                    assert_eq!(node.image(), whole.image(), "seed {seed}");
                    with_branch += 1;
                }
                branches = more;
                list.insert(at, separator);
                children.insert(at + 1, PageId(next));
                next += 1;
            } else {
                let index = random.usize(..children.len());
                branches.remove_child(index);
                children.remove(index);
                list.remove(index.saturating_sub(1));
            }
            let node = branches.node(512, PageId(9), TreeId(2), 1).expect("it fitted before");
            compare(&node, &list, &children, &key(&mut random), seed);
            assert_eq!(node.branches(), branches, "seed {seed}");
        }
        if branches.count() >= 3 {
            let at = random.usize(1..branches.count() - 1);
            let (low, middle, high) = branches.split_at(at);
            assert_eq!(middle, list[at], "seed {seed}");
            let low = low.node(512, PageId(3), TreeId(2), 1).expect("a part fits");
            compare(&low, &list[..at], &children[..=at], &middle, seed);
            let high = high.node(512, PageId(4), TreeId(2), 1).expect("a part fits");
            compare(&high, &list[at + 1..], &children[at + 1..], &middle, seed);
        }
    }
    assert!(
        with_branch > 1000,
        "{with_branch} separators were inserted without taking nodes apart"
    );
}

fn compare(node: &Inner, list: &[Vec<u8>], children: &[PageId], other: &[u8], seed: u64) {
    assert_eq!(node.check_frame(), Ok(()), "seed {seed}");
    assert_eq!(node.count(), list.len(), "seed {seed}");
    let found: Vec<PageId> = (0..=node.count()).map(|index| node.child(index)).collect();
    assert_eq!(found, children, "seed {seed}");
    for key in list.iter().map(Vec::as_slice).chain([other, &[], &[255; 9]]) {
        let not_above = list.iter().filter(|separator| separator.as_slice() <= key).count();
        let below = list.iter().filter(|separator| separator.as_slice() < key).count();
        assert_eq!(node.index_of(key), not_above, "seed {seed} {key:?} in {list:?}");
        assert_eq!(node.index_before(Some(key)), below, "seed {seed} {key:?} in {list:?}");
    }
    assert_eq!(node.index_before(None), list.len());
}
