//! Iterates over the rows of a range, forwards and backwards, while the transaction is used between steps.
//!
//! Two cursors move towards each other: the front one in the order of the path, the back one against it. Each
//! reads some rows ahead, in the encoded form, into memory of its own, first a few and then more.
//!
//! Invariants:
//! 1. A step returns the next row as the transaction sees it at that step: what was read ahead before a write
//!    of the transaction is read again.
//! 2. A row is returned once, unless a write of the transaction moves it ahead of a cursor: the cursors
//!    exclude each other's last row and what lies behind it.
//! 3. Rows beyond the limit are not read. Rows that were read ahead count as read.
//! 4. After an error or the end every further step returns nothing.

use crate::access::btree::Tree;
use crate::access::key::ByteRange;
use crate::access::row::{Entry, RowView, primary_key_of};
use crate::error::Result;
use crate::planted_bug::{PlantedBug, planted};
use crate::table::handle::Table;
use crate::table::read::{check_entry, row_of_entry};
use crate::table::row::{OwnedRow, Row};
use crate::table::transaction::Transaction;
use crate::txn::{Direction, Scan};
use std::fmt;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use syncline_vfs::{Disk, RealDisk};

/// Rows that a cursor reads ahead at first, and again after a write; then twice as many each time.
const AHEAD_FIRST: usize = 8;
/// Maximum rows that a cursor reads ahead.
const AHEAD_MAX: usize = 256;
/// A cursor stops to read ahead beyond these bytes.
const AHEAD_BYTES: usize = 64 << 10;

/// The rows of a range, in the order of the table's key or of an index: from [`Transaction::rows`] or
/// [`Transaction::keys`].
///
/// As an iterator it returns rows that can be kept, from either end. [`next_row`](Rows::next_row) and
/// [`next_row_back`](Rows::next_row_back) return one borrowed row at a time and allocate nothing for it.
///
/// The transaction may be used between steps, for writes too. A step returns the next row as the transaction
/// sees it then; if a write moves a row ahead, for example by changing an indexed column, it is met again.
pub struct Rows<'t, 's, D: Disk = RealDisk> {
    transaction: &'t Transaction<'s, D>,
    table: Table,
    index: Option<usize>,
    range: ByteRange,
    keys_only: bool,
    /// Rows that may still be returned.
    left: usize,
    front: Cursor,
    back: Cursor,
}

/// One end of the iteration.
struct Cursor {
    direction: Direction,
    /// The keys and values that were read ahead, one after another.
    ahead: Vec<u8>,
    /// Where the key and the value of each end.
    ends: Vec<(usize, usize)>,
    /// The next of them.
    next: usize,
    /// True if no row of the range lies behind them.
    is_last: bool,
    /// The transaction's writes when they were read.
    writes: u64,
    ahead_max: usize,
    /// The key of the row returned last, in the tree that is walked.
    last: Option<Vec<u8>>,
    /// The current row of an index entry: its key and value.
    key: Vec<u8>,
    value: Vec<u8>,
    /// The current key, decoded.
    plain: Vec<u8>,
}

impl Cursor {
    fn new(direction: Direction) -> Cursor {
        Cursor {
            direction,
            ahead: Vec::new(),
            ends: Vec::new(),
            next: 0,
            is_last: false,
            writes: 0,
            ahead_max: AHEAD_FIRST,
            last: None,
            key: Vec::new(),
            value: Vec::new(),
            plain: Vec::new(),
        }
    }

    /// The key and the value of a row read ahead, as positions.
    fn at(&self, row: usize) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before].1);
        let (key_end, value_end) = self.ends[row];
        (start..key_end, key_end..value_end)
    }

    /// True if the key lies behind the last row of the other cursor, or is that row.
    fn meets(&self, key: &[u8], other: &Cursor) -> bool {
        other.last.as_deref().is_some_and(|last| match self.direction {
            Direction::Ascending => key >= last,
            Direction::Descending => key <= last,
        })
    }
}

impl<'t, 's, D: Disk> Rows<'t, 's, D> {
    /// Over a range of a table's key or of an index; `range` none: over nothing.
    pub(super) fn new(
        transaction: &'t Transaction<'s, D>,
        (table, index): (&Table, Option<usize>),
        range: Option<ByteRange>,
        keys_only: bool,
    ) -> Rows<'t, 's, D> {
        Rows {
            transaction,
            table: table.clone(),
            index,
            left: if range.is_some() { usize::MAX } else { 0 },
            range: range.unwrap_or_default(),
            keys_only,
            front: Cursor::new(Direction::Ascending),
            back: Cursor::new(Direction::Descending),
        }
    }

    /// At most `limit` more rows. Unlike [`Iterator::take`] this tells the iterator not to read beyond them,
    /// so that changes of others there do not conflict.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.left = self.left.min(limit);
        self
    }

    /// The next row, borrowed until the next step; none at the end.
    ///
    /// # Errors
    ///
    /// As [`Transaction::get`]. The iteration is then over.
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>> {
        self.step(Direction::Ascending)
    }

    /// The next row from the back, borrowed until the next step; none at the end.
    ///
    /// # Errors
    ///
    /// As [`Rows::next_row`].
    pub fn next_row_back(&mut self) -> Result<Option<Row<'_>>> {
        self.step(Direction::Descending)
    }

    /// The next row in a direction, which is that of the front or of the back cursor.
    pub(super) fn step(&mut self, direction: Direction) -> Result<Option<Row<'_>>> {
        if self.left == 0 {
            return Ok(None);
        }
        // A failed step leaves it so.
        let left = std::mem::take(&mut self.left);
        if !self.advance(direction, left)? {
            return Ok(None);
        }
        let cursor = match direction {
            Direction::Ascending => &mut self.front,
            Direction::Descending => &mut self.back,
        };
        let schema = self.table.schema();
        let (key, value) = if self.index.is_some() {
            (&cursor.key[..], &cursor.value[..])
        } else {
            let (key, value) = cursor.at(cursor.next - 1);
            (&cursor.ahead[key], &cursor.ahead[value])
        };
        let view = if self.keys_only && self.index.is_some() {
            RowView::of_key(schema, key, &mut cursor.plain)
        } else {
            RowView::open(schema, key, value, &mut cursor.plain)
        };
        let view = view.map_err(|what| schema.damaged(what))?;
        self.left = left - 1;
        Ok(Some(Row { table: &self.table, view }))
    }

    /// Moves a cursor to the next row, and reads that row if it is known by an index entry only. False at the
    /// end.
    fn advance(&mut self, direction: Direction, left: usize) -> Result<bool> {
        let (cursor, other) = match direction {
            Direction::Ascending => (&mut self.front, &self.back),
            Direction::Descending => (&mut self.back, &self.front),
        };
        let writes = self.transaction.writes();
        let is_stale = cursor.writes != writes && !planted(PlantedBug::KeepReadAhead);
        if is_stale || cursor.next == cursor.ends.len() {
            if !is_stale && cursor.is_last {
                return Ok(false);
            }
            if is_stale {
                (cursor.ahead_max, cursor.writes) = (AHEAD_FIRST, writes);
            }
            let tree = self.index.map_or(self.table.tree(), |index| self.table.index_tree(index));
            read_ahead(self.transaction, tree, &self.range, (cursor, other), left)?;
            if cursor.ends.is_empty() {
                return Ok(false);
            }
        }
        let (key, value) = cursor.at(cursor.next);
        if cursor.meets(&cursor.ahead[key.clone()], other) {
            return Ok(false);
        }
        let last = cursor.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(&cursor.ahead[key.clone()]);
        cursor.next += 1;
        let Some(index) = self.index else {
            return Ok(true);
        };
        let entry = Entry { key: &cursor.ahead[key], value: &cursor.ahead[value] };
        let schema = self.table.schema();
        let primary_key = primary_key_of(schema, index, entry);
        let primary_key = primary_key.map_err(|what| schema.damaged(what))?;
        cursor.key.clear();
        cursor.key.extend_from_slice(primary_key);
        let (table, keys_only) = (&self.table, self.keys_only);
        self.transaction.with(|session, memory| {
            if keys_only {
                return check_entry(session, memory, table, &cursor.key);
            }
            row_of_entry(session, memory, table, &cursor.key, &mut cursor.value)
        })?;
        Ok(true)
    }
}

/// Reads ahead from a cursor's last row, up to the other cursor's.
fn read_ahead<D: Disk>(
    transaction: &Transaction<'_, D>,
    tree: &Arc<Tree>,
    range: &ByteRange,
    (cursor, other): (&mut Cursor, &Cursor),
    left: usize,
) -> Result<()> {
    let (lowest, highest) = match cursor.direction {
        Direction::Ascending => (&cursor.last, &other.last),
        Direction::Descending => (&other.last, &cursor.last),
    };
    let limit = left.min(cursor.ahead_max);
    let scan = Scan {
        lower: lowest.as_deref().map_or(Bound::Included(&range.lower[..]), Bound::Excluded),
        upper: match (highest.as_deref(), range.upper()) {
            (Some(last), _) => Bound::Excluded(last),
            (None, Some(end)) => Bound::Excluded(end),
            (None, None) => Bound::Unbounded,
        },
        direction: cursor.direction,
        limit,
    };
    let (ahead, ends) = (&mut cursor.ahead, &mut cursor.ends);
    ahead.clear();
    ends.clear();
    let mut is_full = false;
    transaction.with(|session, memory| {
        let scanned = session.scan(tree, scan, |key, value| {
            ahead.extend_from_slice(key);
            let key_end = ahead.len();
            ahead.extend_from_slice(value);
            ends.push((key_end, ahead.len()));
            is_full = ahead.len() >= AHEAD_BYTES;
            if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        scanned.map_err(|error| memory.named(error))
    })?;
    cursor.next = 0;
    cursor.is_last = !is_full && ends.len() < limit;
    cursor.ahead_max = (2 * cursor.ahead_max).min(AHEAD_MAX);
    Ok(())
}

impl<D: Disk> Iterator for Rows<'_, '_, D> {
    type Item = Result<OwnedRow>;

    fn next(&mut self) -> Option<Result<OwnedRow>> {
        self.next_row().map(|row| row.map(Row::into_owned)).transpose()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, (self.left < usize::MAX).then_some(self.left))
    }
}

impl<D: Disk> DoubleEndedIterator for Rows<'_, '_, D> {
    fn next_back(&mut self) -> Option<Result<OwnedRow>> {
        self.next_row_back().map(|row| row.map(Row::into_owned)).transpose()
    }
}

impl<D: Disk> std::iter::FusedIterator for Rows<'_, '_, D> {}

impl<D: Disk> fmt::Debug for Rows<'_, '_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Rows");
        debug.field("table", &self.table.name()).finish_non_exhaustive()
    }
}
