//! An inner node: separators and children. A node is immutable and is replaced as a whole.
//!
//! After the header of every page ([`super::page`]), little endian, n separators:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 28 | 2 | n |
//! | 30 | 2 | prefix: the number of bytes that all separators begin with |
//! | 32 | 8 | zero |
//! | 40 | | the prefix |
//! | | 4n | heads: the first 4 bytes of each separator behind the prefix, as in a leaf |
//! | | 8(n+1) | page numbers of the children |
//! | | 2n | length of each separator behind the prefix |
//! | | 2n | where the tail of each separator ends |
//! | | | tails back to back: the separators' bytes behind prefix and head |
//!
//! Invariants:
//! 1. Separators ascend strictly. Child i holds the keys from separator i-1 (inclusive) up to
//!    separator i (exclusive); the first and the last child have no bound here, only above.
//! 2. The children's level is one less than the node's.

use super::leaf::{common_bytes, head_of};
use super::page::{self, HEADER_BYTES, Kind, put_u16, put_u32, put_u64, u16_at, u32_at, u64_at};
use super::prefetch::prefetch;
use super::separator_index::{Rank, SAMPLE_EVERY, SeparatorIndex};
use crate::ids::{PageId, TreeId};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

const COUNT_AT: usize = 28;
const PREFIX_AT: usize = 30;
const HEAD_BYTES: usize = 4;
const CHILD_BYTES: usize = 8;

/// Bytes that a separator takes in addition to its tail.
const SEPARATOR_BYTES: usize = HEAD_BYTES + CHILD_BYTES + 2 + 2;

/// An immutable inner node.
#[derive(Clone)]
pub(crate) struct Inner {
    bytes: Arc<[u8]>,
    separator_index: SeparatorIndex,
    tree: TreeId,
    count: u16,
    prefix: u16,
    level: u8,
}

impl Inner {
    /// The node in an image from the disk.
    pub(super) fn from_image(image: &[u8]) -> Inner {
        let mut inner = Inner {
            tree: page::tree(image),
            count: u16_at(image, COUNT_AT),
            prefix: u16_at(image, PREFIX_AT),
            level: page::level(image),
            bytes: image.into(),
            separator_index: SeparatorIndex::new(0, |_, _| 0),
        };
        // A damaged node has none, because its separators cannot be read.
        if inner.check_frame().is_ok() {
            inner.separator_index =
                SeparatorIndex::new(inner.count(), |index, out| inner.separator_into(index, out));
        }
        inner
    }

    /// The page image.
    pub(super) fn image(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// The tree that the node belongs to.
    #[inline]
    pub(crate) fn tree(&self) -> TreeId {
        self.tree
    }

    /// 1 above leaves, 2 above that, and so on.
    #[inline]
    pub(crate) fn level(&self) -> u8 {
        self.level
    }

    /// The page's number.
    pub(crate) fn page(&self) -> PageId {
        page::number(&self.bytes)
    }

    /// The number of separators; there is one child more.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        usize::from(self.count)
    }

    /// The child at that index.
    #[inline]
    pub(crate) fn child(&self, index: usize) -> PageId {
        assert!(index <= self.count(), "child {index} of {}", self.count() + 1);
        let children = self.heads_at() + HEAD_BYTES * self.count();
        PageId(u64_at(&self.bytes, children + CHILD_BYTES * index))
    }

    /// Prefetches the memory that a search reads first.
    #[inline]
    pub(crate) fn prefetch_separator_index(&self) {
        self.separator_index.prefetch();
    }

    /// Prefetches the page numbers of `count` children from `first` on.
    #[inline]
    fn prefetch_children(&self, first: usize, count: usize) {
        let children = self.heads_at() + HEAD_BYTES * self.count();
        let at = self.bytes.as_ptr().addr() + children + CHILD_BYTES * first;
        prefetch(at, CHILD_BYTES * count);
    }

    /// The relative position of the key in that child's range, from 0 at its first key to 1, if it can be
    /// estimated.
    #[inline]
    pub(crate) fn part(&self, index: usize, key: &[u8]) -> Option<f64> {
        self.separator_index.part(index, key)
    }

    /// The index of the child that holds the key: the number of separators at or below it.
    #[inline]
    pub(crate) fn index_of(&self, key: &[u8]) -> usize {
        self.rank(key, true)
    }

    /// The index of the child that holds the greatest keys below `key`: the number of separators below it.
    /// Without a key, the last child.
    pub(crate) fn index_before(&self, key: Option<&[u8]>) -> usize {
        key.map_or(self.count(), |key| self.rank(key, false))
    }

    /// The number of separators below the key; with `or_equal` also counting one equal to it.
    #[inline]
    fn rank(&self, key: &[u8], or_equal: bool) -> usize {
        // The child is needed next: fetch its number while the last discriminators are searched.
        let near = |first: usize| self.prefetch_children(first, SAMPLE_EVERY + 1);
        let (mut rank, mut end) = match self.separator_index.rank(key, near) {
            Rank::Behind(rank) => return rank,
            Rank::Among(first, end) => (first, end),
        };
        while rank < end {
            let middle = usize::midpoint(rank, end);
            let order = self.compare(middle, key);
            if order == Ordering::Less || (or_equal && order == Ordering::Equal) {
                rank = middle + 1;
            } else {
                end = middle;
            }
        }
        rank
    }

    /// Compares a separator with a key.
    fn compare(&self, index: usize, key: &[u8]) -> Ordering {
        let prefix = &self.bytes[HEADER_BYTES..self.heads_at()];
        let Some(suffix) = key.strip_prefix(prefix) else {
            // All separators begin with the prefix; a key without it is below or above all of them.
            return prefix.cmp(key);
        };
        let (tail, suffix_bytes) = self.tail(index);
        let of_key = suffix.get(HEAD_BYTES..).unwrap_or_default();
        let heads = self.head(index).cmp(&head_of(suffix));
        heads.then_with(|| tail.cmp(of_key)).then(suffix_bytes.cmp(&suffix.len()))
    }

    /// Copies a separator into `out`, as much as fits; returns its length in bytes.
    fn separator_into(&self, index: usize, out: &mut [u8]) -> usize {
        let prefix = &self.bytes[HEADER_BYTES..self.heads_at()];
        let (tail, suffix_bytes) = self.tail(index);
        let head = self.head(index).to_be_bytes();
        let mut rest = out;
        for piece in [prefix, &head[..suffix_bytes.min(HEAD_BYTES)], tail] {
            let fits = piece.len().min(rest.len());
            rest[..fits].copy_from_slice(&piece[..fits]);
            rest = &mut rest[fits..];
        }
        prefix.len() + suffix_bytes
    }

    #[inline]
    fn head(&self, index: usize) -> u32 {
        u32_at(&self.bytes, self.heads_at() + HEAD_BYTES * index)
    }

    /// A separator's tail, and its length after the prefix.
    fn tail(&self, index: usize) -> (&[u8], usize) {
        let lengths = self.heads_at() + (HEAD_BYTES + CHILD_BYTES) * self.count() + CHILD_BYTES;
        let ends = lengths + 2 * self.count();
        let suffix_bytes = usize::from(u16_at(&self.bytes, lengths + 2 * index));
        let end = usize::from(u16_at(&self.bytes, ends + 2 * index));
        (&self.bytes[end - suffix_bytes.saturating_sub(HEAD_BYTES)..end], suffix_bytes)
    }

    /// The node with a separator inserted at that index, and the child to its right: byte for byte the result
    /// of [`Branches`], without taking everything apart. None if it does not fit into the page, or if the
    /// separators would have a shorter common prefix.
    pub(crate) fn with_branch(
        &self,
        index: usize,
        separator: &[u8],
        right: PageId,
    ) -> Option<Inner> {
        let count = self.count().checked_sub(1)? + 1;
        let heads = self.heads_at();
        let suffix = separator.strip_prefix(&self.bytes[HEADER_BYTES..heads])?;
        let tail = suffix.get(HEAD_BYTES..).unwrap_or_default();
        let children = heads + HEAD_BYTES * count;
        let lengths = children + CHILD_BYTES * (count + 1);
        let ends = lengths + 2 * count;
        let tails = ends + 2 * count;
        let end_of = |index: usize| usize::from(u16_at(&self.bytes, ends + 2 * index));
        let end = end_of(count - 1);
        if end + SEPARATOR_BYTES + tail.len() > self.bytes.len() {
            return None;
        }
        let cut = index.checked_sub(1).map_or(tails, end_of);
        let mut image = Vec::with_capacity(self.bytes.len());
        image.resize(HEADER_BYTES, 0);
        page::label(&mut image, self.page(), self.tree, Kind::Inner, self.level);
        put_u16(&mut image, COUNT_AT, (count + 1) as u16);
        put_u16(&mut image, PREFIX_AT, self.prefix);
        image.extend_from_slice(&self.bytes[HEADER_BYTES..heads]);
        // Copies a piece of the node with `new` inserted at `at`.
        let mut put = |piece: Range<usize>, at: usize, new: &[u8]| {
            image.extend_from_slice(&self.bytes[piece.start..at]);
            image.extend_from_slice(new);
            image.extend_from_slice(&self.bytes[at..piece.end]);
            image.len()
        };
        let head = head_of(suffix).to_le_bytes();
        put(heads..children, heads + HEAD_BYTES * index, &head);
        let child = children + CHILD_BYTES * (index + 1);
        put(children..lengths, child, &right.0.to_le_bytes());
        let length = (suffix.len() as u16).to_le_bytes();
        let ends_at = put(lengths..ends, lengths + 2 * index, &length);
        let new_end = (cut + SEPARATOR_BYTES + tail.len()) as u16;
        put(ends..tails, ends + 2 * index, &new_end.to_le_bytes());
        put(tails..end, cut, tail);
        // Tails before the new one move by the bytes of its separator, later ones by its tail as well.
        let ends = &mut image[ends_at..][..2 * (count + 1)];
        for (at, end) in ends.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            let moved = match at.cmp(&index) {
                Ordering::Less => SEPARATOR_BYTES,
                Ordering::Equal => 0,
                Ordering::Greater => SEPARATOR_BYTES + tail.len(),
            };
            *end = (u16::from_le_bytes(*end) + moved as u16).to_le_bytes();
        }
        image.resize(self.bytes.len(), 0);
        let Some(separator_index) = self.separator_index.with(index, separator) else {
            return Some(Inner::from_image(&image));
        };
        Some(Inner {
            bytes: image.into(),
            separator_index,
            tree: self.tree,
            count: self.count + 1,
            prefix: self.prefix,
            level: self.level,
        })
    }

    /// The node taken apart, to be changed and put together again.
    pub(crate) fn branches(&self) -> Branches {
        let mut branches = Branches::default();
        let prefix = &self.bytes[HEADER_BYTES..self.heads_at()];
        for index in 0..self.count() {
            let (tail, suffix_bytes) = self.tail(index);
            let head = self.head(index).to_be_bytes();
            branches.bytes.extend_from_slice(prefix);
            branches.bytes.extend_from_slice(&head[..suffix_bytes.min(HEAD_BYTES)]);
            branches.bytes.extend_from_slice(tail);
            branches.ends.push(branches.bytes.len());
        }
        branches.children = (0..=self.count()).map(|index| self.child(index)).collect();
        branches
    }

    /// Checks the page's own frame; the contents can be read if it is sound.
    pub(crate) fn check_frame(&self) -> Result<(), String> {
        let fixed = self.heads_at() + SEPARATOR_BYTES * self.count() + CHILD_BYTES;
        if fixed > self.bytes.len() {
            return Err(format!("{} separators end beyond the page", self.count()));
        }
        let ends = fixed - 2 * self.count();
        let mut end = fixed;
        for index in 0..self.count() {
            let suffix_bytes = usize::from(u16_at(&self.bytes, ends - 2 * (self.count() - index)));
            end += suffix_bytes.saturating_sub(HEAD_BYTES);
            if usize::from(u16_at(&self.bytes, ends + 2 * index)) != end || end > self.bytes.len() {
                return Err(format!("separator {index} does not end at its position"));
            }
        }
        Ok(())
    }

    #[inline]
    fn heads_at(&self) -> usize {
        HEADER_BYTES + usize::from(self.prefix)
    }
}

/// An inner node's separators and children, outside a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Branches {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    children: Vec<PageId>,
}

impl Branches {
    /// One child, no separator.
    pub(crate) fn of(child: PageId) -> Branches {
        Branches { children: vec![child], ..Branches::default() }
    }

    /// Separators; there is one child more.
    pub(crate) fn count(&self) -> usize {
        self.ends.len()
    }

    /// The children in key order.
    pub(crate) fn children(&self) -> &[PageId] {
        &self.children
    }

    /// The separator at that index.
    pub(crate) fn separator(&self, index: usize) -> &[u8] {
        &self.bytes[self.start(index)..self.ends[index]]
    }

    /// Inserts a separator and the child to its right at that index.
    pub(crate) fn insert(&mut self, index: usize, separator: &[u8], right: PageId) {
        let start = self.start(index);
        self.bytes.splice(start..start, separator.iter().copied());
        for end in &mut self.ends[index..] {
            *end += separator.len();
        }
        self.ends.insert(index, start + separator.len());
        self.children.insert(index + 1, right);
    }

    /// Removes a child, and the separator that divides it from its left neighbour, or (for the first child)
    /// from its right neighbour.
    pub(crate) fn remove_child(&mut self, index: usize) {
        self.children.remove(index);
        let separator = index.saturating_sub(1);
        let (start, end) = (self.start(separator), self.ends[separator]);
        self.bytes.drain(start..end);
        self.ends.remove(separator);
        for later in &mut self.ends[separator..] {
            *later -= end - start;
        }
    }

    /// Splits at a separator, which moves up: the part to its left, the separator, the part to its right.
    pub(crate) fn split_at(&self, index: usize) -> (Branches, Vec<u8>, Branches) {
        let (start, end) = (self.start(index), self.ends[index]);
        let left = Branches {
            bytes: self.bytes[..start].to_vec(),
            ends: self.ends[..index].to_vec(),
            children: self.children[..=index].to_vec(),
        };
        let right = Branches {
            bytes: self.bytes[end..].to_vec(),
            ends: self.ends[index + 1..].iter().map(|later| later - end).collect(),
            children: self.children[index + 1..].to_vec(),
        };
        (left, self.bytes[start..end].to_vec(), right)
    }

    /// The separator to split at when the node is full: the middle one; but if the newest one, at `grown_at`,
    /// is the last, the one before it, so that ascending inserts fill nodes.
    pub(crate) fn split_index(&self, grown_at: usize) -> usize {
        let count = self.count();
        assert!(count >= 3, "a full inner node has three separators");
        if grown_at + 1 == count { count - 2 } else { count / 2 }
    }

    /// The node with these branches; none if they do not fit into a page.
    pub(crate) fn node(
        &self,
        page_bytes: usize,
        page: PageId,
        tree: TreeId,
        level: u8,
    ) -> Option<Inner> {
        let count = self.count();
        let prefix = self.prefix_bytes();
        let fixed = HEADER_BYTES + prefix + SEPARATOR_BYTES * count + CHILD_BYTES;
        let suffix_bytes = |index| self.separator(index).len() - prefix;
        let tails: usize = (0..count).map(|i| suffix_bytes(i).saturating_sub(HEAD_BYTES)).sum();
        if fixed + tails > page_bytes {
            return None;
        }
        let mut image = vec![0; page_bytes];
        page::label(&mut image, page, tree, Kind::Inner, level);
        put_u16(&mut image, COUNT_AT, count as u16);
        put_u16(&mut image, PREFIX_AT, prefix as u16);
        let heads = HEADER_BYTES + prefix;
        image[HEADER_BYTES..heads].copy_from_slice(&self.bytes[..prefix]);
        let children = heads + HEAD_BYTES * count;
        let lengths = children + CHILD_BYTES * (count + 1);
        let mut end = fixed;
        for (index, child) in self.children.iter().enumerate() {
            put_u64(&mut image, children + CHILD_BYTES * index, child.0);
        }
        for index in 0..count {
            let suffix = &self.separator(index)[prefix..];
            let tail = suffix.get(HEAD_BYTES..).unwrap_or_default();
            put_u32(&mut image, heads + HEAD_BYTES * index, head_of(suffix));
            put_u16(&mut image, lengths + 2 * index, suffix.len() as u16);
            image[end..end + tail.len()].copy_from_slice(tail);
            end += tail.len();
            put_u16(&mut image, lengths + 2 * (count + index), end as u16);
        }
        Some(Inner::from_image(&image))
    }

    /// Appends the separators and children of the following node, with the separator between the two.
    pub(crate) fn join(&mut self, separator: &[u8], behind: &Branches) {
        self.insert(self.count(), separator, behind.children[0]);
        for index in 0..behind.count() {
            let right = behind.children[index + 1];
            self.insert(self.count(), behind.separator(index), right);
        }
    }

    /// An upper bound of the bytes that a node with these branches takes.
    pub(crate) fn bytes(&self) -> usize {
        let prefix = self.prefix_bytes();
        let suffixes = self.bytes.len() - prefix * self.count();
        HEADER_BYTES + prefix + SEPARATOR_BYTES * self.count() + CHILD_BYTES + suffixes
    }

    /// An upper bound of the bytes that a node with these branches and one more separator at the end takes.
    pub(crate) fn bytes_with(&self, separator: &[u8]) -> usize {
        let prefix = match self.count() {
            0 => 0,
            _ => common_bytes(self.separator(0), separator),
        };
        let suffixes = self.bytes.len() + separator.len() - prefix * (self.count() + 1);
        HEADER_BYTES + prefix + SEPARATOR_BYTES * (self.count() + 1) + CHILD_BYTES + suffixes
    }

    /// The length of the common prefix of all separators: since they ascend, that of the first and the last.
    fn prefix_bytes(&self) -> usize {
        match self.count() {
            0 => 0,
            count => common_bytes(self.separator(0), self.separator(count - 1)),
        }
    }

    fn start(&self, index: usize) -> usize {
        index.checked_sub(1).map_or(0, |before| self.ends[before])
    }
}
