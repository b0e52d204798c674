//! Versions of rows, found by the row's name and dropped in the order in which they were saved: a hash
//! table whose entries stay in place, so that a number names a version as long as it is there.
//!
//! 1. A row's versions are chained newest first from its bucket, among those of other rows there.
//! 2. Every version stands in one list of all, oldest first; a place without a version in one of the free.

use crate::buffer::Word;
use crate::ids::{Csn, TreeId};

pub(super) const NONE: u32 = u32::MAX;
pub(super) const PENDING: u64 = u64::MAX;

/// What an entry takes besides its bytes.
const ENTRY_BYTES: i64 = size_of::<Entry>() as i64;

/// Memory of an unusually long value that is not kept for the next one.
const BUFFER_BYTES_KEPT: usize = 4 << 10;

/// A row's name with its hash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name<'a> {
    pub(super) hash: u64,
    pub(super) tree: TreeId,
    pub(super) key: &'a [u8],
}

#[derive(Debug)]
pub(super) struct Table {
    /// The newest version of the rows whose hash ends so.
    buckets: Vec<u32>,
    pub(super) entries: Vec<Entry>,
    /// Entries without a version, by `next_saved`.
    free: u32,
    /// All versions in the order in which they were saved, by `next_saved`.
    pub(super) oldest: u32,
    newest: u32,
    pub(super) chained: usize,
    /// How often something was saved: says which lane is visited next.
    pub(super) saves: u32,
    pub(super) bytes: i64,
    pub(super) told: i64,
}

#[derive(Debug)]
pub(super) struct Entry {
    hash: u64,
    pub(super) superseded_by: u64,
    pub(super) word: Word,
    tree: TreeId,
    pub(super) key_bytes: u32,
    /// The key, then the value as it lay in the leaf.
    pub(super) bytes: Vec<u8>,
    newer: u32,
    older: u32,
    pub(super) next_saved: u32,
    pub(super) chained: bool,
}

impl Default for Table {
    fn default() -> Table {
        Table {
            buckets: Vec::new(),
            entries: Vec::new(),
            free: NONE,
            oldest: NONE,
            newest: NONE,
            chained: 0,
            saves: 0,
            bytes: 0,
            told: 0,
        }
    }
}

impl Table {
    pub(super) fn add(&mut self, name: Name<'_>, word: Word, value: &[u8]) -> u32 {
        if self.chained >= self.buckets.len() {
            self.grow();
        }
        let at = self.unused();
        let bucket = self.bucket(name.hash);
        let older = std::mem::replace(&mut self.buckets[bucket], at);
        if older != NONE {
            self.entries[older as usize].newer = at;
        }
        let entry = &mut self.entries[at as usize];
        entry.hash = name.hash;
        entry.superseded_by = PENDING;
        entry.word = word;
        entry.tree = name.tree;
        entry.key_bytes = name.key.len() as u32;
        entry.bytes.clear();
        entry.bytes.reserve(name.key.len() + value.len());
        entry.bytes.extend_from_slice(name.key);
        entry.bytes.extend_from_slice(value);
        (entry.newer, entry.older) = (NONE, older);
        entry.next_saved = NONE;
        entry.chained = true;
        self.bytes += ENTRY_BYTES + entry.bytes.len() as i64;
        match self.newest {
            NONE => self.oldest = at,
            newest => self.entries[newest as usize].next_saved = at,
        }
        self.newest = at;
        self.chained += 1;
        at
    }

    /// The oldest version of a row that was superseded behind `point`.
    #[inline]
    pub(super) fn find(&self, name: Name<'_>, point: Csn) -> Option<&Entry> {
        let mut at = self.buckets.get(self.bucket(name.hash)).copied()?;
        let mut found = None;
        while at != NONE {
            let entry = &self.entries[at as usize];
            at = entry.older;
            if entry.is_of(name) {
                if entry.superseded_by <= point.0 {
                    break;
                }
                found = Some(entry);
            }
        }
        found
    }

    /// Drops up to `most` of the oldest, as far as nobody reads them any more.
    #[inline]
    pub(super) fn collect(&mut self, bound: Csn, most: usize, stubs: &mut Vec<u8>) {
        for _ in 0..most {
            let at = self.oldest;
            if at == NONE || self.entries[at as usize].superseded_by > bound.0 {
                return;
            }
            self.unchain(at);
            let entry = &mut self.entries[at as usize];
            if entry.word.is_overflow() {
                stubs.extend_from_slice(&entry.bytes[entry.key_bytes as usize..]);
            }
            self.bytes -= ENTRY_BYTES + entry.bytes.len() as i64;
            if entry.bytes.capacity() > BUFFER_BYTES_KEPT {
                entry.bytes = Vec::new();
            }
            self.oldest = entry.next_saved;
            if self.oldest == NONE {
                self.newest = NONE;
            }
            entry.next_saved = std::mem::replace(&mut self.free, at);
        }
    }

    pub(super) fn unchain(&mut self, at: u32) {
        let entry = &mut self.entries[at as usize];
        if !std::mem::replace(&mut entry.chained, false) {
            return;
        }
        let (hash, newer, older) = (entry.hash, entry.newer, entry.older);
        if older != NONE {
            self.entries[older as usize].newer = newer;
        }
        if newer == NONE {
            let bucket = self.bucket(hash);
            self.buckets[bucket] = older;
        } else {
            self.entries[newer as usize].older = older;
        }
        self.chained -= 1;
    }

    fn unused(&mut self) -> u32 {
        if self.free == NONE {
            self.entries.push(Entry {
                hash: 0,
                superseded_by: 0,
                word: Word(0),
                tree: TreeId(0),
                key_bytes: 0,
                bytes: Vec::new(),
                newer: NONE,
                older: NONE,
                next_saved: NONE,
                chained: false,
            });
            return self.entries.len() as u32 - 1;
        }
        let at = self.free;
        self.free = self.entries[at as usize].next_saved;
        at
    }

    /// Doubles the buckets. Walks from the oldest saved, so that chains stay newest first.
    #[cold]
    fn grow(&mut self) {
        let buckets = (2 * self.buckets.len()).max(64);
        self.buckets.clear();
        self.buckets.resize(buckets, NONE);
        let mut at = self.oldest;
        while at != NONE {
            let entry = &self.entries[at as usize];
            let next = entry.next_saved;
            if entry.chained {
                let bucket = self.bucket(entry.hash);
                let older = std::mem::replace(&mut self.buckets[bucket], at);
                if older != NONE {
                    self.entries[older as usize].newer = at;
                }
                let entry = &mut self.entries[at as usize];
                (entry.newer, entry.older) = (NONE, older);
            }
            at = next;
        }
    }

    #[inline]
    fn bucket(&self, hash: u64) -> usize {
        hash as usize & self.buckets.len().wrapping_sub(1)
    }
}

impl Entry {
    #[inline]
    fn is_of(&self, name: Name<'_>) -> bool {
        self.hash == name.hash
            && self.tree == name.tree
            && &self.bytes[..self.key_bytes as usize] == name.key
    }
}
