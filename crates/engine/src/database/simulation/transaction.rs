//! An open transaction as the oracle sees it: its calls and their answers.

use super::oracle::{Effect, Oracle, Value};
use super::rows::{Table, append};
use crate::error::Error;
use crate::error::PatchFailure;
use crate::ids::TreeId;
use crate::txn::{Begin, Savepoint};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// A write call.
#[derive(Clone, Debug)]
pub(super) enum Write {
    Put(Value),
    Insert(Value),
    Update(Value),
    Delete,
    Append(Value),
}

/// Why the rows refuse a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteRefusal {
    Duplicate,
    Absent,
    Patch,
}

/// Which state refuses a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefusalSource {
    Data,
    OwnWrites,
}

/// A read of the store.
#[derive(Clone, Debug)]
enum ReadRecord {
    Row(TreeId, Vec<u8>, Option<Value>),
    Range(Range, Vec<(Vec<u8>, Value)>),
}

/// A range of a tree that was read, without the transaction's own rows.
#[derive(Clone, Debug)]
struct Range {
    tree: TreeId,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    except: BTreeSet<Vec<u8>>,
}

/// The bounds of a scan.
pub(super) type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// An open transaction.
pub(super) struct Transaction {
    pub(super) begin: Begin,
    /// The last number taken when it began.
    pub(super) began: u64,
    pub(super) point: u64,
    pub(super) tables: Vec<Table>,
    /// The number in the key of the last written row.
    pub(super) last_id: Option<u32>,
    /// A table was redefined since the transaction wrote.
    pub(super) is_mixed: bool,
    writes: Vec<(TreeId, Vec<u8>, Write)>,
    reads: Vec<ReadRecord>,
    savepoints: Vec<(Savepoint, usize)>,
}

/// The value of a row after a sequence of writes.
fn fold<'w>(
    writes: impl IntoIterator<Item = &'w Write>,
    base: Option<&Value>,
) -> Result<Option<Value>, WriteRefusal> {
    let mut row = base.cloned();
    for write in writes {
        row = match (write, row) {
            (Write::Put(value), _)
            | (Write::Insert(value), None)
            | (Write::Update(value), Some(_)) => Some(value.clone()),
            (Write::Insert(_), Some(_)) => return Err(WriteRefusal::Duplicate),
            (Write::Delete, Some(_)) => None,
            (Write::Append(patch), Some(old)) => {
                let mut new = Vec::new();
                let appended: Result<(), PatchFailure> = append(patch, &old, &mut new);
                if appended.is_err() {
                    return Err(WriteRefusal::Patch);
                }
                Some(new.into())
            }
            (Write::Update(_) | Write::Delete | Write::Append(_), None) => {
                return Err(WriteRefusal::Absent);
            }
        };
    }
    Ok(row)
}

impl Transaction {
    pub(super) fn new(begin: Begin, began: u64, point: u64) -> Transaction {
        Transaction {
            begin,
            began,
            point,
            tables: Vec::new(),
            last_id: None,
            is_mixed: false,
            writes: Vec::new(),
            reads: Vec::new(),
            savepoints: Vec::new(),
        }
    }

    pub(super) fn has_writes(&self) -> bool {
        !self.writes.is_empty()
    }

    pub(super) fn is_read_only(&self) -> bool {
        matches!(self.begin, Begin::ReadOnly | Begin::ReadOnlyDurable)
    }

    /// Sets the read point. It may move only in a serializable transaction, and then everything that was read
    /// must be the same there.
    pub(super) fn move_to(&mut self, oracle: &Oracle, point: u64) -> Result<(), String> {
        if point == self.point {
            return Ok(());
        }
        if self.begin != Begin::Serializable || point < self.point || point > oracle.last {
            let before = self.point;
            return Err(format!(
                "the read point of {:?} went from {before} to {point}",
                self.begin
            ));
        }
        self.point = point;
        self.holds(oracle, point)
    }

    /// A tree was read, so it must exist at the read point.
    pub(super) fn used(&self, oracle: &Oracle, tree: TreeId) -> Result<(), String> {
        let (made, point) = (oracle.made(tree), self.point);
        if made > point {
            return Err(format!(
                "{tree}, made at {made}, was read by a {:?} at {point}",
                self.begin
            ));
        }
        Ok(())
    }

    /// Checks an answer that an object was made later than the read point.
    pub(super) fn check_made_later(&self, oracle: &Oracle) -> Result<(), String> {
        let tables = self.tables.iter();
        let mut trees = tables.flat_map(|table| table.indexes.iter().chain([&table.rows]));
        let is_later = trees.any(|tree| oracle.made(tree.id) > self.point);
        if self.begin == Begin::Serializable || !is_later {
            return Err(format!(
                "a {:?} at {} got an error for an object made later, but none was",
                self.begin, self.point
            ));
        }
        Ok(())
    }

    /// Everything that was read must be the same after that commit.
    pub(super) fn holds(&self, oracle: &Oracle, csn: u64) -> Result<(), String> {
        for reads in &self.reads {
            match reads {
                ReadRecord::Row(tree, key, value) => {
                    if oracle.row(*tree, key, csn) != value.as_ref() {
                        return Err(format!(
                            "the value read of {tree}, {key:?} is another one at {csn}"
                        ));
                    }
                }
                ReadRecord::Range(range, rows) => {
                    if range.rows(oracle, csn) != *rows {
                        return Err(format!("the rows read of {range:?} are others at {csn}"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks the answer of a read.
    pub(super) fn got(
        &mut self,
        oracle: &Oracle,
        (tree, key): (TreeId, &[u8]),
        answer: Option<&[u8]>,
    ) -> Result<(), String> {
        let base = oracle.row(tree, key, self.point);
        let own: Vec<&Write> = self.own(tree, key).collect();
        // After a write that will be refused, answers describe a state that will not exist.
        if let Ok(expected) = fold(own.iter().copied(), base)
            && expected.as_deref() != answer
        {
            let point = self.point;
            return Err(format!("{tree}, {key:?} was read as {answer:?} at {point}"));
        }
        if own.is_empty() {
            self.record_read(ReadRecord::Row(tree, key.to_vec(), base.cloned()));
        }
        Ok(())
    }

    /// Checks the answer of a scan of at most `limit` rows.
    pub(super) fn scanned(
        &mut self,
        oracle: &Oracle,
        (tree, bounds): (TreeId, Bounds),
        (is_ascending, limit): (bool, usize),
        answer: &[(Vec<u8>, Vec<u8>)],
    ) -> Result<(), String> {
        let (mut lower, mut upper) = bounds;
        if let Some(expected) = self.expected(oracle, tree, (&lower, &upper)) {
            let rows = expected.into_iter();
            let rows: Vec<_> = if is_ascending {
                rows.take(limit).collect()
            } else {
                rows.rev().take(limit).collect()
            };
            let same = rows.len() == answer.len()
                && rows
                    .iter()
                    .zip(answer)
                    .all(|(one, other)| one.0 == other.0 && one.1[..] == other.1[..]);
            if !same {
                let keys = |(key, _): &(Vec<u8>, Vec<u8>)| key.clone();
                let answer: Vec<_> = answer.iter().map(keys).collect();
                let rows: Vec<_> = rows.into_iter().map(|(key, _)| key).collect();
                return Err(format!(
                    "a scan of {tree} from {lower:?} to {upper:?} at {} returned {answer:?} instead of {rows:?}",
                    self.point
                ));
            }
        }
        if answer.len() == limit {
            let last = Bound::Included(answer[limit - 1].0.clone());
            *(if is_ascending { &mut upper } else { &mut lower }) = last;
        }
        self.check_no_duplicate(oracle, tree, (&lower, &upper))?;
        let except = self.own_keys(tree);
        let range = Range { tree, lower, upper, except };
        let rows = range.rows(oracle, self.point);
        self.record_read(ReadRecord::Range(range, rows));
        Ok(())
    }

    /// True if it inserts the row without knowing that it is absent.
    fn is_inserted(&self, tree: TreeId, key: &[u8]) -> bool {
        let own: Vec<&Write> = self.own(tree, key).collect();
        (0..own.len()).any(|at| {
            let before = at.checked_sub(1).map(|before| own[before]);
            matches!(own[at], Write::Insert(_)) && matches!(before, None | Some(Write::Append(_)))
        })
    }

    /// A scan passed this range, so no insert in it may hit an existing row.
    fn check_no_duplicate(
        &self,
        oracle: &Oracle,
        tree: TreeId,
        bounds: (&Bound<Vec<u8>>, &Bound<Vec<u8>>),
    ) -> Result<(), String> {
        let bounds = (bounds.0.as_ref().map(|key| &key[..]), bounds.1.as_ref().map(|key| &key[..]));
        let mut keys = self.own_keys(tree).into_iter();
        let passed = keys.find(|key| {
            std::ops::RangeBounds::contains(&bounds, &key[..])
                && self.is_inserted(tree, key)
                && fold(self.own(tree, key), oracle.row(tree, key, self.point)).is_err()
        });
        passed.map_or(Ok(()), |key| {
            let chain = self.chain(oracle, (tree, &key), None);
            Err(format!(
                "a scan of {tree} accepted an insert over an existing row: {key:?}, {chain}"
            ))
        })
    }

    /// The rows of a range as the transaction sees them; none if one of its writes will be refused.
    fn expected(
        &self,
        oracle: &Oracle,
        tree: TreeId,
        (lower, upper): (&Bound<Vec<u8>>, &Bound<Vec<u8>>),
    ) -> Option<BTreeMap<Vec<u8>, Value>> {
        let bounds = (lower.as_ref().map(|key| &key[..]), upper.as_ref().map(|key| &key[..]));
        let rows = oracle.range(tree, bounds, self.point);
        let mut rows: BTreeMap<Vec<u8>, Value> =
            rows.map(|(key, value)| (key.to_vec(), value.clone())).collect();
        for key in self.own_keys(tree) {
            let base = oracle.row(tree, &key, self.point);
            let row = fold(self.own(tree, &key), base).ok()?;
            let is_inside = std::ops::RangeBounds::contains(&bounds, &key[..]);
            match row {
                Some(row) if is_inside => drop(rows.insert(key, row)),
                _ => drop(rows.remove(&key)),
            }
        }
        Some(rows)
    }

    /// Records an accepted write.
    pub(super) fn wrote(&mut self, tree: TreeId, key: &[u8], write: Write) {
        self.writes.push((tree, key.to_vec(), write));
    }

    /// The state that refuses its writes to a row, with one more, for that reason: the rows as they are after
    /// a commit, or its own earlier writes, whatever the row is.
    pub(super) fn refuses(
        &self,
        oracle: &Oracle,
        (tree, key): (TreeId, &[u8]),
        (why, write): (WriteRefusal, Option<&Write>),
        csn: u64,
    ) -> Option<RefusalSource> {
        let base = oracle.row(tree, key, csn);
        let own: Vec<&Write> = self.own(tree, key).chain(write).collect();
        // The value after the last write that does not depend on the old value.
        let by_own = (0..own.len() - 1).rev().find_map(|at| match own[at] {
            Write::Put(row) | Write::Insert(row) | Write::Update(row) => Some((at, Some(row))),
            Write::Delete => Some((at, None)),
            Write::Append(_) => None,
        });
        let by_own = by_own.and_then(|(at, row)| fold(own[at + 1..].iter().copied(), row).err());
        if by_own == Some(why) {
            return Some(RefusalSource::OwnWrites);
        }
        let by_data = fold(own.iter().copied(), base).err();
        (by_data == Some(why)).then_some(RefusalSource::Data)
    }

    /// Its writes to a row and their target, for messages.
    pub(super) fn chain(
        &self,
        oracle: &Oracle,
        (tree, key): (TreeId, &[u8]),
        write: Option<&Write>,
    ) -> String {
        let name = |write: &Write| match write {
            Write::Put(_) => "put",
            Write::Insert(_) => "insert",
            Write::Update(_) => "update",
            Write::Delete => "delete",
            Write::Append(_) => "append",
        };
        let own: Vec<_> = self.own(tree, key).map(name).collect();
        let is_there = oracle.row(tree, key, oracle.last).is_some();
        let (begin, write) = (self.begin, write.map(name));
        format!("{begin:?}: {own:?}, then {write:?}, on a row that exists: {is_there}")
    }

    pub(super) fn save(&mut self, savepoint: Savepoint) {
        self.savepoints.push((savepoint, self.writes.len()));
    }

    /// Rolls the writes back to one of the savepoints.
    pub(super) fn roll_back(&mut self, at: usize) -> Option<Savepoint> {
        let (savepoint, writes) = *self.savepoints.get(at)?;
        self.savepoints.truncate(at + 1);
        self.writes.truncate(writes);
        Some(savepoint)
    }

    pub(super) fn savepoints(&self) -> usize {
        self.savepoints.len()
    }

    /// The effects of its commit, which must be possible after the previous commit.
    pub(super) fn effects(&self, oracle: &Oracle, csn: u64) -> Result<Vec<Effect>, String> {
        let rows: BTreeSet<(TreeId, &[u8])> =
            self.writes.iter().map(|(tree, key, _)| (*tree, &key[..])).collect();
        let mut effects = Vec::new();
        for (tree, key) in rows {
            let base = oracle.row(tree, key, csn - 1);
            let row = fold(self.own(tree, key), base);
            let row = row.map_err(|refused| {
                let chain = self.chain(oracle, (tree, key), None);
                format!("{csn} should have been refused for {tree}, {key:?}: {refused:?}: {chain}")
            })?;
            if self.begin == Begin::Snapshot && oracle.changed(tree, key, self.point, csn - 1) {
                let point = self.point;
                return Err(format!(
                    "{csn} was not the first to change {tree}, {key:?} at {point}"
                ));
            }
            if row.as_ref() != base {
                effects.push((tree, key.to_vec(), row));
            }
        }
        Ok(effects)
    }

    fn own<'t>(&'t self, tree: TreeId, key: &'t [u8]) -> impl Iterator<Item = &'t Write> {
        let writes = self.writes.iter();
        writes.filter(move |(of, name, _)| *of == tree && name == key).map(|(_, _, write)| write)
    }

    fn own_keys(&self, tree: TreeId) -> BTreeSet<Vec<u8>> {
        let writes = self.writes.iter().filter(|(of, ..)| *of == tree);
        writes.map(|(_, key, _)| key.clone()).collect()
    }

    /// What a read-only transaction read was checked at once, and its read point stays.
    fn record_read(&mut self, reads: ReadRecord) {
        if !self.is_read_only() {
            self.reads.push(reads);
        }
    }
}

impl Range {
    fn rows(&self, oracle: &Oracle, csn: u64) -> Vec<(Vec<u8>, Value)> {
        let bounds =
            (self.lower.as_ref().map(|key| &key[..]), self.upper.as_ref().map(|key| &key[..]));
        let rows = oracle.range(self.tree, bounds, csn);
        rows.filter(|(key, _)| !self.except.contains(*key))
            .map(|(key, value)| (key.to_vec(), value.clone()))
            .collect()
    }
}

/// The refusal that an error describes.
pub(super) fn refusal(error: &Error) -> Option<(WriteRefusal, TreeId, &[u8])> {
    match error {
        Error::Duplicate { tree, key } => Some((WriteRefusal::Duplicate, *tree, key)),
        Error::Absent { tree, key } => Some((WriteRefusal::Absent, *tree, key)),
        Error::Patch { tree, key, .. } => Some((WriteRefusal::Patch, *tree, key)),
        _ => None,
    }
}
