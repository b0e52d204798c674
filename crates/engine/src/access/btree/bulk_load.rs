//! Builds a tree from sorted rows, bottom up: leaves are filled one after the other, then the levels above
//! them.
//!
//! Nothing leads to the pages before the root is placed, and only the builder knows the root before the build
//! ends: so it needs no section, and runs concurrently with commits and checkpoints. A checkpoint may contain
//! some of the pages; opening frees pages of trees that its tree directory does not name.
//!
//! At the cap on memory the builder's owner makes room, for each page anew, with no page latched and no epoch
//! pinned.

use super::extents::{self, ExtentPointer};
use super::tree::Tree;
use crate::buffer::VersionWord;
use crate::buffer::page::{HEADER_BYTES, Kind};
use crate::buffer::{Branches, Buffer, Content, Leaf, MemoryNeed, common_bytes, retry_at_cap};
use crate::error::{Error, Result};
use crate::ids::{Csn, PageId, TreeId};

#[cfg(test)]
impl Tree {
    /// Builds a tree from rows in strictly ascending key order. After a failure its pages are free.
    pub(crate) fn bulk<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        id: TreeId,
        buffer: &Buffer,
        rows: impl Iterator<Item = (K, V)>,
        csn: Csn,
        fill_percent: u32,
    ) -> Result<Tree> {
        let mut bulk = BulkLoader::new(id, buffer, csn, fill_percent, |_| Ok(false))?;
        let pushed = rows
            .into_iter()
            .try_for_each(|(key, value)| bulk.push(key.as_ref(), value.as_ref()).map(drop));
        let built = pushed.and_then(|()| bulk.finish());
        if built.is_err() {
            let pages = buffer.pages_of(id);
            for page in pages {
                buffer.free(page);
            }
        }
        built
    }
}

/// Frees memory for pages of a kind; false if it cannot.
type Reclaim<'a> = Box<dyn Fn(MemoryNeed) -> Result<bool> + 'a>;

/// A tree under construction. If it is dropped before [`BulkLoader::finish`], or that fails, the pages placed
/// so far stay; their label finds them: [`Buffer::pages_of`].
pub(crate) struct BulkLoader<'a> {
    id: TreeId,
    buffer: &'a Buffer,
    reclaim: Reclaim<'a>,
    csn: Csn,
    fill_percent: usize,
    root: PageId,
    root_is_placed: bool,
    /// Rows of the leaf that is being filled.
    rows: Vec<Row>,
    /// Bytes of those rows with whole keys.
    rows_bytes: usize,
    /// The lower fence of the leaf that is being filled.
    lower: Vec<u8>,
    /// The levels above the leaves, bottom up, each with the node that is being filled.
    levels: Vec<Branches>,
    /// The separator left of the open node of each level; empty for the first node.
    behind: Vec<Vec<u8>>,
}

fn allocate(buffer: &Buffer, kind: Kind, reclaim: &Reclaim<'_>) -> Result<PageId> {
    retry_at_cap(&mut (), |()| reclaim(MemoryNeed::Pages(kind, 1)), |()| buffer.allocate(kind))
}

struct Row {
    key: Vec<u8>,
    value: Vec<u8>,
    word: VersionWord,
}

impl<'a> BulkLoader<'a> {
    /// An empty tree. Rows carry `csn`; leaves and inner nodes are filled to that percentage (50 to 100).
    /// `reclaim` is called if memory for pages is refused.
    pub(crate) fn new(
        id: TreeId,
        buffer: &'a Buffer,
        csn: Csn,
        fill_percent: u32,
        reclaim: impl Fn(MemoryNeed) -> Result<bool> + 'a,
    ) -> Result<BulkLoader<'a>> {
        assert!((50..=100).contains(&fill_percent), "a fill of {fill_percent} percent");
        let reclaim: Reclaim<'a> = Box::new(reclaim);
        Ok(BulkLoader {
            id,
            buffer,
            csn,
            fill_percent: fill_percent as usize,
            root: allocate(buffer, Kind::Leaf, &reclaim)?,
            reclaim,
            root_is_placed: false,
            rows: Vec::new(),
            rows_bytes: 0,
            lower: Vec::new(),
            levels: Vec::new(),
            behind: Vec::new(),
        })
    }

    /// Appends a row, whose key must not be less than those before; false if it equals the last key.
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let bytes_max = Tree::key_bytes_max(self.buffer);
        if key.len() > bytes_max {
            let (bytes, bytes_max) = (key.len() as u64, bytes_max as u64);
            return Err(Error::TooLong { what: "a key", bytes, bytes_max });
        }
        let before = self.rows.last().map(|row| row.key.as_slice());
        assert!(before.is_none_or(|before| before <= key), "rows for a bulk load must ascend");
        if before == Some(key) {
            return Ok(false);
        }
        let row = self.row(key, value)?;
        let row_bytes = Leaf::row_bytes_in_page(row.key.len(), row.value.len());
        // All keys of the leaf will share about the prefix of its lower fence and this key.
        let prefix = common_bytes(&self.lower, key);
        let saved = (self.rows.len() + 1) * prefix;
        let all = HEADER_BYTES + self.lower.len() + key.len() + self.rows_bytes + row_bytes - saved;
        if !self.rows.is_empty() && all > self.buffer.page_bytes() * self.fill_percent / 100 {
            self.close(key)?;
        }
        self.rows_bytes += row_bytes;
        self.rows.push(row);
        Ok(true)
    }

    fn row(&mut self, key: &[u8], value: &[u8]) -> Result<Row> {
        let word = VersionWord::of(self.csn);
        if !extents::is_needed(self.buffer, value.len()) {
            return Ok(Row { key: key.to_vec(), value: value.to_vec(), word });
        }
        let pointer = self.write_extents(value)?;
        extents::attach(self.buffer, pointer);
        let (key, value) = (key.to_vec(), pointer.to_value().to_vec());
        Ok(Row { key, value, word: word.overflow() })
    }

    fn write_extents(&self, value: &[u8]) -> Result<ExtentPointer> {
        let needed = extents::memory(self.buffer, value.len());
        retry_at_cap(
            &mut (),
            |()| (self.reclaim)(needed),
            |()| extents::write(self.buffer, self.id, value),
        )
    }

    fn allocate(&self, kind: Kind) -> Result<PageId> {
        allocate(self.buffer, kind, &self.reclaim)
    }

    /// Places leaves of the rows so far, up to `next`, the following key. Rows that do not fit once the upper
    /// fence is known stay for the next leaf.
    fn close(&mut self, next: &[u8]) -> Result<()> {
        let mut count = self.rows.len();
        loop {
            let behind = self.rows.get(count).map_or(next, |row| row.key.as_slice());
            let mut upper = behind.to_vec();
            upper.truncate(common_bytes(&self.rows[count - 1].key, behind) + 1);
            if let Some(leaf) = self.leaf(count, Some(&upper), None)? {
                self.add_leaf(leaf)?;
                self.rows.drain(..count);
                self.lower = upper;
                break;
            }
            count -= 1;
        }
        self.rows_bytes = self
            .rows
            .iter()
            .map(|row| Leaf::row_bytes_in_page(row.key.len(), row.value.len()))
            .sum();
        Ok(())
    }

    /// A leaf of the first rows, with that number or a new one; none if they do not fit.
    fn leaf(
        &mut self,
        count: usize,
        upper: Option<&[u8]>,
        page: Option<PageId>,
    ) -> Result<Option<Leaf>> {
        let mut leaf =
            Leaf::empty(self.buffer.page_bytes(), PageId::default(), self.id, &self.lower, upper);
        for (slot, row) in self.rows[..count].iter().enumerate() {
            if leaf.insert(slot, &row.key, row.word, row.value.len()).is_err() {
                return Ok(None);
            }
            leaf.set_value(slot, &row.value);
        }
        let page = page.map_or_else(|| self.allocate(Kind::Leaf), Ok)?;
        Ok(Some(leaf.renumbered(page)))
    }

    fn add_leaf(&mut self, leaf: Leaf) -> Result<()> {
        let (page, separator) = (leaf.page(), leaf.lower_fence().to_vec());
        self.buffer.add_page(Content::Leaf(leaf));
        self.add_child(0, &separator, page)
    }

    /// Adds a child to the open node of that level; a full node is placed and a new one begun.
    fn add_child(&mut self, level: usize, separator: &[u8], page: PageId) -> Result<()> {
        let Some(node) = self.levels.get_mut(level) else {
            self.levels.push(Branches::of(page));
            return Ok(());
        };
        let bytes_max = self.buffer.page_bytes() * self.fill_percent / 100;
        if node.count() < 3 || node.bytes_with(separator) <= bytes_max {
            node.insert(node.count(), separator, page);
            return Ok(());
        }
        let full = std::mem::replace(node, Branches::of(page));
        let first = self.add_node(&full, level)?;
        self.raise(level, first, separator)
    }

    /// Adds a full node to the level above, and keeps the separator after it for the next node.
    fn raise(&mut self, level: usize, page: PageId, behind: &[u8]) -> Result<()> {
        let before = self.behind.get(level).cloned().unwrap_or_default();
        if self.behind.len() <= level {
            self.behind.push(Vec::new());
        }
        self.behind[level] = behind.to_vec();
        self.add_child(level + 1, &before, page)
    }

    fn add_node(&mut self, branches: &Branches, level: usize) -> Result<PageId> {
        let page = self.allocate(Kind::Inner)?;
        self.add_node_as(branches, level, page);
        Ok(page)
    }

    fn add_node_as(&self, branches: &Branches, level: usize, page: PageId) {
        let level = u8::try_from(level + 1).expect("no tree is that high");
        let node = branches.node(self.buffer.page_bytes(), page, self.id, level);
        let node = node.expect("a node is placed before it overflows");
        self.buffer.add_page(Content::Inner(node));
    }

    /// Places the open nodes, the root last.
    pub(crate) fn finish(mut self) -> Result<Tree> {
        self.add_rest()?;
        self.root_is_placed = true;
        Ok(Tree::existing(self.id, self.root))
    }

    fn add_rest(&mut self) -> Result<()> {
        // Without an upper fence nothing is truncated: the rows may need more than one leaf.
        let last = loop {
            let page = self.levels.is_empty().then_some(self.root);
            if let Some(leaf) = self.leaf(self.rows.len(), None, page)? {
                break leaf;
            }
            let row = self.rows.pop().expect("a leaf without rows fits");
            let key = row.key.clone();
            self.close(&key)?;
            self.rows.push(row);
        };
        if self.levels.is_empty() {
            self.buffer.add_page(Content::Leaf(last));
            return Ok(());
        }
        self.add_leaf(last)?;
        let mut level = 0;
        while level + 1 < self.levels.len() {
            let open = std::mem::take(&mut self.levels[level]);
            let page = self.add_node(&open, level)?;
            self.raise(level, page, &[])?;
            level += 1;
        }
        let top = std::mem::take(&mut self.levels[level]);
        self.add_node_as(&top, level, self.root);
        Ok(())
    }
}

impl Drop for BulkLoader<'_> {
    fn drop(&mut self) {
        if !self.root_is_placed {
            self.buffer.release(self.root);
        }
    }
}
