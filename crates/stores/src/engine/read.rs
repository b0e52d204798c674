//! Reads: rows by key, along a path, and joined.

use super::prepared::{Columns, Join, JoinColumn, Path, Scan, Sorted};
use super::session::{Client, ClientContext};
use super::store::PlanTable;
use super::values::{answer, from_engine, recycled, to_engine};
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

/// How many right rows of a join are read together: the size of a batched prefetch.
const PREFETCH_ROWS: usize = 32;

impl<D: Disk> Client<D> {
    /// The row of a primary key.
    pub(super) fn get(&mut self, table: usize, columns: &Columns, key: &[Value<'_>]) -> Result<()> {
        let mut values = recycled(mem::take(&mut self.context.values));
        values.extend(key.iter().copied().map(to_engine));
        let rows = self.context.replies.push(columns.list.len());
        let row = self.session.get(&self.tables[table].handle, &values);
        let answered = match row {
            Ok(Some(row)) => answer(rows, row, columns),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        self.context.values = recycled(values);
        answered
    }

    /// Prepares a read of the row of a primary key.
    #[inline]
    pub(super) fn prepare_key(
        &mut self,
        table: usize,
        key: &[Value<'_>],
        prefetch_key: &mut PrefetchKey,
    ) -> Result<()> {
        let mut values = recycled(mem::take(&mut self.context.values));
        values.extend(key.iter().copied().map(to_engine));
        let made = self.session.prepare_key(&self.tables[table].handle, &values, prefetch_key);
        self.context.values = recycled(values);
        made
    }

    /// Reads the row of a prepared key.
    #[inline]
    pub(super) fn get_prefetched(
        &mut self,
        table: usize,
        columns: &Columns,
        prefetch_key: &PrefetchKey,
    ) -> Result<()> {
        let rows = self.context.replies.push(columns.list.len());
        let table = &self.tables[table].handle;
        let answered = |row: Row<'_>| answer(rows, row, columns);
        self.session.show_prefetched(table, prefetch_key, answered)?.unwrap_or(Ok(()))
    }

    /// Rows along a path, at most `rows_max`.
    pub(super) fn scan(
        &mut self,
        scan: &Scan,
        rows_max: usize,
        values: &[Value<'_>],
    ) -> Result<()> {
        let rows = self.context.replies.push(scan.columns.list.len());
        let path_scan = PathScan {
            path: &scan.path,
            direction: scan.direction,
            rows_max,
            keys_only: scan.keys_only,
        };
        path_scan.run(
            &mut self.session,
            (&self.tables, &mut self.context.values),
            values.iter().copied().map(to_engine),
            |row| answer(rows, row, &scan.columns),
        )
    }

    /// One column along a path, sorted.
    pub(super) fn sorted(&mut self, sorted: &Sorted, values: &[Value<'_>]) -> Result<()> {
        self.scan(&sorted.scan, usize::MAX, values)?;
        self.context.replies.newest().sort(sorted.distinct);
        Ok(())
    }

    /// Left rows along a path, each with the right rows that match it.
    pub(super) fn join(
        &mut self,
        join: &Join,
        worker: Option<&Part<D>>,
        values: &[Value<'_>],
    ) -> Result<()> {
        let Client { session, tables, context } = self;
        let ClientContext { replies, left, prefetch_keys, values: memory, .. } = &mut **context;
        left.reset(join.left_columns.list.len());
        PathScan::all(&join.left).run(
            session,
            (tables, &mut *memory),
            values.iter().copied().map(to_engine),
            |row| answer(left, row, &join.left_columns),
        )?;
        let rows = replies.push(join.columns.len());
        if join.is_by_key {
            let right = &tables[join.right.table].handle;
            let mut first = 0;
            while first < left.len() {
                let some = first..left.len().min(first + PREFETCH_ROWS);
                first = some.end;
                let mut prefetch =
                    JoinPrefetch { join, right, left: &*left, prefetch_keys: &mut *prefetch_keys };
                prefetch.prepare_keys(session, memory, some.clone())?;
                if let Some(worker) = worker {
                    prefetch.run(&mut worker.transaction_prefetcher(), some.len())?;
                }
                for (place, number) in some.enumerate() {
                    let kept = left.row(number);
                    if join.has_null(kept) {
                        continue;
                    }
                    let answer = |row: Row<'_>| join.answer(rows, kept, row);
                    let answered = session.show_prefetched(right, &prefetch_keys[place], answer)?;
                    answered.unwrap_or(Ok(()))?;
                }
            }
            return Ok(());
        }
        for kept in left.iter() {
            if join.has_null(kept) {
                continue;
            }
            let prefix = join.prefix.iter().map(|place| to_engine(kept.value(*place)));
            let memory = (&**tables, &mut *memory);
            let answer = |row: Row<'_>| join.answer(rows, kept, row);
            PathScan::all(&join.right).run(session, memory, prefix, answer)?;
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

    /// Adds the returned columns of a left row and a right one, if they match.
    fn answer(&self, rows: &mut Rows, kept: contract::Row<'_>, row: Row<'_>) -> Result<()> {
        for (place, column) in &self.rest {
            if from_engine(row.value(*column)?) != kept.value(*place) {
                return Ok(());
            }
        }
        self.columns.iter().try_for_each(|column| {
            rows.push(match column {
                JoinColumn::Kept(place) => kept.value(*place),
                JoinColumn::Right(column) => from_engine(row.value(*column)?),
            });
            Ok(())
        })
    }
}

/// The right rows of a join that are read together.
struct JoinPrefetch<'a> {
    join: &'a Join,
    right: &'a Table,
    left: &'a Rows,
    prefetch_keys: &'a mut Vec<PrefetchKey>,
}

impl JoinPrefetch<'_> {
    /// Prepares the reads of the right rows for some left ones.
    fn prepare_keys<D: Disk>(
        &mut self,
        session: &TypedSession<D>,
        memory: &mut Memory,
        some: ops::Range<usize>,
    ) -> Result<()> {
        if self.prefetch_keys.len() < some.len() {
            self.prefetch_keys.resize(some.len(), PrefetchKey::default());
        }
        for (number, prefetch_key) in some.zip(&mut *self.prefetch_keys) {
            let kept = self.left.row(number);
            if self.join.has_null(kept) {
                continue;
            }
            let prefix = self.join.prefix.iter();
            let mut key = recycled(mem::take(memory));
            key.extend(prefix.map(|place| to_engine(kept.value(*place))));
            let made = session.prepare_key(self.right, &key, prefetch_key);
            *memory = recycled(key);
            made?;
        }
        Ok(())
    }

    /// Prefetches the first `count` keys. A left row that matches nothing leaves the former key in its
    /// position, whose prefetch is useless but harmless.
    fn run<D: Disk>(&mut self, prefetcher: &mut Prefetcher<D>, count: usize) -> Result<()> {
        let prefetch_keys = &mut self.prefetch_keys[..count];
        for one in &*prefetch_keys {
            prefetcher.add(self.right, one)?;
        }
        prefetcher.prefetch();
        for (place, one) in prefetch_keys.iter_mut().enumerate() {
            prefetcher.set_hint(place, one);
        }
        Ok(())
    }
}

/// Reusable memory of an operation: an empty list of values.
pub(super) type Memory = Vec<engine::Value<'static>>;

/// A scan along a path.
pub(super) struct PathScan<'p> {
    path: &'p Path,
    direction: Direction,
    rows_max: usize,
    keys_only: bool,
}

impl<'p> PathScan<'p> {
    /// Over all its rows.
    pub(super) fn all(path: &'p Path) -> PathScan<'p> {
        PathScan { path, direction: Direction::Ascending, rows_max: usize::MAX, keys_only: false }
    }

    /// Passes each row to `visit`; `values` are the path's parameters in the contract's order.
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
        let scanned = if self.keys_only {
            session.scan_keys(path, range, self.direction, self.rows_max, visitor)
        } else {
            session.scan(path, range, self.direction, self.rows_max, visitor)
        };
        *memory = recycled(bounds);
        scanned
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
        // `to` follows the equal columns and `from`; the upper bound needs the equal ones before it.
        let to = (self.path.range == Range::Between).then(|| bounds.pop()).flatten();
        bounds.extend_from_within(..equal);
        bounds.extend(to);
        let (low, high) = bounds.split_at(lower);
        (low, &high[..upper])
    }
}
