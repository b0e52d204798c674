//! Rows by key, along a path, and joined.

use super::prepared::{Answered, Columns, Join, Path, Scan, Sorted};
use super::session::{Client, ClientContext};
use super::store::PlanTable;
use super::values::{answer, found, given, recycled};
use super::worker::Part;
use std::mem;
use std::ops::{self, ControlFlow};
use syncline_contract as contract;
use syncline_contract::{Range, Rows, Value};
use syncline_engine as engine;
use syncline_engine::{
    Direction, KeyRange, PrefetchKey, Prefetcher, Result, Row, Table, TypedSession,
};
use syncline_vfs::Disk;

/// So many right rows of a join are read together: as many as a scout takes at once.
const AHEAD: usize = 32;

impl<D: Disk> Client<D> {
    /// The row of a primary key.
    pub(super) fn get(&mut self, table: usize, columns: &Columns, key: &[Value<'_>]) -> Result<()> {
        let mut values = recycled(mem::take(&mut self.desk.values));
        values.extend(key.iter().copied().map(given));
        let rows = self.desk.replies.push(columns.list.len());
        let found = self.session.get(&self.tables[table].handle, &values);
        let answered = match found {
            Ok(Some(row)) => answer(rows, row, columns),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        self.desk.values = recycled(values);
        answered
    }

    /// Prepares to read the row of a primary key.
    #[inline]
    pub(super) fn seek(
        &mut self,
        table: usize,
        key: &[Value<'_>],
        sought: &mut PrefetchKey,
    ) -> Result<()> {
        let mut values = recycled(mem::take(&mut self.desk.values));
        values.extend(key.iter().copied().map(given));
        let made = self.session.seek(&self.tables[table].handle, &values, sought);
        self.desk.values = recycled(values);
        made
    }

    /// The row that was sought.
    #[inline]
    pub(super) fn get_sought(
        &mut self,
        table: usize,
        columns: &Columns,
        sought: &PrefetchKey,
    ) -> Result<()> {
        let rows = self.desk.replies.push(columns.list.len());
        let table = &self.tables[table].handle;
        let answered = |row: Row<'_>| answer(rows, row, columns);
        self.session.show_sought(table, sought, answered)?.unwrap_or(Ok(()))
    }

    /// Rows along a path; `rows_max` is how many at most.
    pub(super) fn scan(
        &mut self,
        scan: &Scan,
        rows_max: usize,
        values: &[Value<'_>],
    ) -> Result<()> {
        let rows = self.desk.replies.push(scan.columns.list.len());
        let walk = Walk {
            path: &scan.path,
            direction: scan.direction,
            rows_max,
            keys_only: scan.keys_only,
        };
        walk.run(
            &mut self.session,
            (&self.tables, &mut self.desk.values),
            values.iter().copied().map(given),
            |row| answer(rows, row, &scan.columns),
        )
    }

    /// One column along a path, sorted.
    pub(super) fn sorted(&mut self, sorted: &Sorted, values: &[Value<'_>]) -> Result<()> {
        self.scan(&sorted.scan, usize::MAX, values)?;
        self.desk.replies.newest().sort(sorted.distinct);
        Ok(())
    }

    /// Left rows along a path, each with the right rows that match it.
    pub(super) fn join(
        &mut self,
        join: &Join,
        worker: Option<&Part<D>>,
        values: &[Value<'_>],
    ) -> Result<()> {
        let Client { session, tables, desk } = self;
        let ClientContext { replies, left, sought, values: memory, .. } = &mut **desk;
        left.reset(join.left_columns.list.len());
        Walk::all(&join.left).run(
            session,
            (tables, &mut *memory),
            values.iter().copied().map(given),
            |row| answer(left, row, &join.left_columns),
        )?;
        let rows = replies.push(join.columns.len());
        if join.is_by_key {
            let right = &tables[join.right.table].handle;
            let mut first = 0;
            while first < left.len() {
                let some = first..left.len().min(first + AHEAD);
                first = some.end;
                let mut ahead = Ahead { join, right, left: &*left, sought: &mut *sought };
                ahead.seek(session, memory, some.clone())?;
                if let Some(worker) = worker {
                    ahead.go(&mut worker.near(), some.len())?;
                }
                for (place, number) in some.enumerate() {
                    let kept = left.row(number);
                    if join.has_null(kept) {
                        continue;
                    }
                    let answer = |row: Row<'_>| join.answer(rows, kept, row);
                    let answered = session.show_sought(right, &sought[place], answer)?;
                    answered.unwrap_or(Ok(()))?;
                }
            }
            return Ok(());
        }
        for kept in left.iter() {
            if join.has_null(kept) {
                continue;
            }
            let prefix = join.prefix.iter().map(|place| given(kept.value(*place)));
            let memory = (&**tables, &mut *memory);
            let answer = |row: Row<'_>| join.answer(rows, kept, row);
            Walk::all(&join.right).run(session, memory, prefix, answer)?;
        }
        Ok(())
    }
}

impl Join {
    /// True if the left row matches nothing: null is equal to nothing.
    fn has_null(&self, kept: contract::Row<'_>) -> bool {
        let mut matched = kept.values().take(self.matching);
        matched.any(|value| value == Value::Null)
    }

    /// Adds what is answered of a left row and a right one, if they match.
    fn answer(&self, rows: &mut Rows, kept: contract::Row<'_>, row: Row<'_>) -> Result<()> {
        for (place, column) in &self.rest {
            if found(row.value(*column)?) != kept.value(*place) {
                return Ok(());
            }
        }
        self.columns.iter().try_for_each(|column| {
            rows.push(match column {
                Answered::Kept(place) => kept.value(*place),
                Answered::Right(column) => found(row.value(*column)?),
            });
            Ok(())
        })
    }
}

/// Right rows of a join that are read together.
struct Ahead<'a> {
    join: &'a Join,
    right: &'a Table,
    left: &'a Rows,
    sought: &'a mut Vec<PrefetchKey>,
}

impl Ahead<'_> {
    /// Prepares to read the right rows of some left ones.
    fn seek<D: Disk>(
        &mut self,
        session: &TypedSession<D>,
        memory: &mut Memory,
        some: ops::Range<usize>,
    ) -> Result<()> {
        if self.sought.len() < some.len() {
            self.sought.resize(some.len(), PrefetchKey::default());
        }
        for (number, sought) in some.zip(&mut *self.sought) {
            let kept = self.left.row(number);
            if self.join.has_null(kept) {
                continue;
            }
            let prefix = self.join.prefix.iter();
            let mut key = recycled(mem::take(memory));
            key.extend(prefix.map(|place| given(kept.value(*place))));
            let made = session.seek(self.right, &key, sought);
            *memory = recycled(key);
            made?;
        }
        Ok(())
    }

    /// Goes ahead of the first so many. A row that matches nothing is sought where the one before it in
    /// that place was: in vain, which does no harm.
    fn go<D: Disk>(&mut self, scout: &mut Prefetcher<D>, count: usize) -> Result<()> {
        let sought = &mut self.sought[..count];
        for one in &*sought {
            scout.add(self.right, one)?;
        }
        scout.go();
        for (place, one) in sought.iter_mut().enumerate() {
            scout.tell(place, one);
        }
        Ok(())
    }
}

/// What memory an operation lends: a list of values, empty.
pub(super) type Memory = Vec<engine::Value<'static>>;

/// A walk along a path.
pub(super) struct Walk<'p> {
    path: &'p Path,
    direction: Direction,
    rows_max: usize,
    keys_only: bool,
}

impl<'p> Walk<'p> {
    /// Over all its rows.
    pub(super) fn all(path: &'p Path) -> Walk<'p> {
        Walk { path, direction: Direction::Ascending, rows_max: usize::MAX, keys_only: false }
    }

    /// Hands row after row to `visit`; `values` are the path's parameters in the contract's order.
    pub(super) fn run<'v, D: Disk>(
        &self,
        session: &mut TypedSession<D>,
        (tables, memory): (&[PlanTable], &mut Memory),
        values: impl Iterator<Item = engine::Value<'v>>,
        mut visit: impl FnMut(Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut bounds = recycled(mem::take(memory));
        let (lower, upper) = self.bounds(values, &mut bounds);
        let (path, range) = (self.path.of(tables)?, KeyRange::between(lower, upper));
        let visitor = |row: Row<'_>| visit(row).map(ControlFlow::Continue);
        let walked = if self.keys_only {
            session.scan_keys(path, range, self.direction, self.rows_max, visitor)
        } else {
            session.scan(path, range, self.direction, self.rows_max, visitor)
        };
        *memory = recycled(bounds);
        walked
    }

    /// The first and the last key, by their leading columns.
    fn bounds<'b, 'v>(
        &self,
        values: impl Iterator<Item = engine::Value<'v>>,
        bounds: &'b mut Vec<engine::Value<'v>>,
    ) -> (&'b [engine::Value<'v>], &'b [engine::Value<'v>]) {
        let equal = self.path.equal;
        let (lower, upper) = match self.path.range {
            Range::All => (equal, equal),
            Range::From => (equal + 1, equal),
            Range::Between => (equal + 1, equal + 1),
        };
        bounds
            .extend(values.take(lower.max(equal) + usize::from(self.path.range == Range::Between)));
        // Behind the equal columns and `from` stands `to`; the upper bound needs the equal ones before it.
        let to = (self.path.range == Range::Between).then(|| bounds.pop()).flatten();
        bounds.extend_from_within(..equal);
        bounds.extend(to);
        let (low, high) = bounds.split_at(lower);
        (low, &high[..upper])
    }
}
