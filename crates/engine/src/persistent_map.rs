//! A sorted map as a value: clones share all nodes, and a change copies only the path to one node.
//!
//! It is an AVL tree. A clone costs one reference count; an insertion or a removal copies a number of nodes
//! that is logarithmic in the number of entries.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Index;
use std::sync::Arc;

type Link<K, V> = Option<Arc<Node<K, V>>>;

/// The most by which the heights of a node's two subtrees differ.
const IMBALANCE_MAX: u8 = 1;

struct Node<K, V> {
    key: K,
    value: V,
    height: u8,
    left: Link<K, V>,
    right: Link<K, V>,
}

/// A sorted map with cheap clones.
pub(crate) struct PersistentMap<K, V> {
    root: Link<K, V>,
}

impl<K: Ord + Clone, V: Clone> PersistentMap<K, V> {
    pub(crate) const fn new() -> PersistentMap<K, V> {
        PersistentMap { root: None }
    }

    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let mut link = &self.root;
        while let Some(node) = link {
            link = match key.cmp(node.key.borrow()) {
                Ordering::Less => &node.left,
                Ordering::Greater => &node.right,
                Ordering::Equal => return Some(&node.value),
            };
        }
        None
    }

    pub(crate) fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// Sets the value of a key; returns the previous one.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let before = self.get(&key).cloned();
        self.root = Some(inserted(self.root.as_ref(), key, value));
        before
    }

    /// Removes a key; returns its value.
    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let before = self.get(key).cloned();
        if before.is_some() {
            self.root = removed(self.root.as_ref(), key);
        }
        before
    }

    /// The entries in ascending order of their keys.
    pub(crate) fn iter(&self) -> Iter<'_, K, V> {
        let mut iter = Iter { path: Vec::new() };
        iter.descend(&self.root);
        iter
    }

    #[cfg(test)]
    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }
}

impl<K, V> Clone for PersistentMap<K, V> {
    fn clone(&self) -> PersistentMap<K, V> {
        PersistentMap { root: self.root.clone() }
    }
}

impl<K: Ord + Clone, V: Clone + PartialEq> PartialEq for PersistentMap<K, V> {
    fn eq(&self, other: &PersistentMap<K, V>) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<K: Ord + Clone + fmt::Debug, V: Clone + fmt::Debug> fmt::Debug for PersistentMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Ord + Clone, V: Clone> Index<&K> for PersistentMap<K, V> {
    type Output = V;

    fn index(&self, key: &K) -> &V {
        self.get(key).expect("the key is in the map")
    }
}

/// The nodes whose own entry and right subtree are still to be visited, the next one last.
pub(crate) struct Iter<'m, K, V> {
    path: Vec<&'m Node<K, V>>,
}

impl<'m, K, V> Iter<'m, K, V> {
    fn descend(&mut self, mut link: &'m Link<K, V>) {
        while let Some(node) = link {
            self.path.push(node);
            link = &node.left;
        }
    }
}

impl<'m, K, V> Iterator for Iter<'m, K, V> {
    type Item = (&'m K, &'m V);

    fn next(&mut self) -> Option<(&'m K, &'m V)> {
        let node = self.path.pop()?;
        self.descend(&node.right);
        Some((&node.key, &node.value))
    }
}

fn height<K, V>(link: &Link<K, V>) -> u8 {
    link.as_ref().map_or(0, |node| node.height)
}

fn node<K, V>((key, value): (K, V), left: Link<K, V>, right: Link<K, V>) -> Arc<Node<K, V>> {
    #[cfg(test)]
    tests::count_copy();
    Arc::new(Node { height: 1 + height(&left).max(height(&right)), key, value, left, right })
}

fn entry<K: Clone, V: Clone>(node: &Node<K, V>) -> (K, V) {
    (node.key.clone(), node.value.clone())
}

/// A node over two subtrees whose heights differ by at most one more than allowed.
fn balanced<K: Clone, V: Clone>(
    middle: (K, V),
    left: Link<K, V>,
    right: Link<K, V>,
) -> Arc<Node<K, V>> {
    if height(&left) > height(&right) + IMBALANCE_MAX {
        let top = left.expect("the higher side has a node");
        if height(&top.left) >= height(&top.right) {
            let below = node(middle, top.right.clone(), right);
            return node(entry(&top), top.left.clone(), Some(below));
        }
        let inner = top.right.clone().expect("the higher side has a node");
        let before = node(entry(&top), top.left.clone(), inner.left.clone());
        let behind = node(middle, inner.right.clone(), right);
        return node(entry(&inner), Some(before), Some(behind));
    }
    if height(&right) > height(&left) + IMBALANCE_MAX {
        let top = right.expect("the higher side has a node");
        if height(&top.right) >= height(&top.left) {
            let below = node(middle, left, top.left.clone());
            return node(entry(&top), Some(below), top.right.clone());
        }
        let inner = top.left.clone().expect("the higher side has a node");
        let before = node(middle, left, inner.left.clone());
        let behind = node(entry(&top), inner.right.clone(), top.right.clone());
        return node(entry(&inner), Some(before), Some(behind));
    }
    node(middle, left, right)
}

fn inserted<K: Ord + Clone, V: Clone>(
    link: Option<&Arc<Node<K, V>>>,
    key: K,
    value: V,
) -> Arc<Node<K, V>> {
    let Some(at) = link else {
        return node((key, value), None, None);
    };
    match key.cmp(&at.key) {
        Ordering::Equal => node((key, value), at.left.clone(), at.right.clone()),
        Ordering::Less => {
            let left = inserted(at.left.as_ref(), key, value);
            balanced(entry(at), Some(left), at.right.clone())
        }
        Ordering::Greater => {
            let right = inserted(at.right.as_ref(), key, value);
            balanced(entry(at), at.left.clone(), Some(right))
        }
    }
}

/// The tree without `key`, which must be in it.
fn removed<K, V, Q>(link: Option<&Arc<Node<K, V>>>, key: &Q) -> Link<K, V>
where
    K: Ord + Clone + Borrow<Q>,
    V: Clone,
    Q: Ord + ?Sized,
{
    let at = link?;
    match key.cmp(at.key.borrow()) {
        Ordering::Less => {
            let left = removed(at.left.as_ref(), key);
            Some(balanced(entry(at), left, at.right.clone()))
        }
        Ordering::Greater => {
            let right = removed(at.right.as_ref(), key);
            Some(balanced(entry(at), at.left.clone(), right))
        }
        Ordering::Equal => match &at.right {
            None => at.left.clone(),
            Some(right) => {
                let (first, right) = without_first(right);
                Some(balanced(first, at.left.clone(), right))
            }
        },
    }
}

/// The first entry, and the tree without it.
fn without_first<K: Clone, V: Clone>(at: &Arc<Node<K, V>>) -> ((K, V), Link<K, V>) {
    match &at.left {
        None => (entry(at), at.right.clone()),
        Some(left) => {
            let (first, left) = without_first(left);
            (first, Some(balanced(entry(at), left, at.right.clone())))
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{IMBALANCE_MAX, Link, PersistentMap, height};
    use std::cell::Cell;
    use std::collections::BTreeMap;

    thread_local! {
        static COPIES: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn count_copy() {
        COPIES.set(COPIES.get() + 1);
    }

    /// How many nodes this thread has created.
    pub(crate) fn copies() -> u64 {
        COPIES.get()
    }

    fn is_balanced<K, V>(link: &Link<K, V>) -> bool {
        link.as_ref().is_none_or(|node| {
            let (left, right) = (height(&node.left), height(&node.right));
            node.height == 1 + left.max(right)
                && left.abs_diff(right) <= IMBALANCE_MAX
                && is_balanced(&node.left)
                && is_balanced(&node.right)
        })
    }

    #[test]
    fn it_behaves_like_a_btree_map_and_clones_do_not_change() {
        for seed in 0..40 {
            let mut random = fastrand::Rng::with_seed(seed);
            let (mut shared, mut plain) = (PersistentMap::new(), BTreeMap::new());
            let mut clones = Vec::new();
            for step in 0..400_u32 {
                let key = random.u32(0..120);
                if random.u8(0..3) == 0 {
                    assert_eq!(shared.remove(&key), plain.remove(&key));
                } else {
                    assert_eq!(shared.insert(key, step), plain.insert(key, step));
                }
                assert!(is_balanced(&shared.root), "seed {seed}");
                assert_eq!(shared.get(&key), plain.get(&key));
                if random.u8(0..20) == 0 {
                    clones.push((shared.clone(), plain.clone()));
                }
            }
            for (shared, plain) in &clones {
                assert!(shared.iter().eq(plain.iter()), "seed {seed}");
            }
        }
    }
}
