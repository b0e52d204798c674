//! A fingerprint of rows: the number of rows of all tables, and the sum of the rows' digests.
//!
//! It is taken of rows that are kept for a later run, and again before that run starts from them. Rules:
//! 1. All rows of each table are counted, and the first [`ROWS_MAX`] in key order are read with all columns.
//!    A table without a key is read completely, or only counted if it has more rows than that.
//! 2. The sum does not depend on the order of rows. A row's digest is 64 bits over its table's number and
//!    its values with their kinds: an accidental change goes unnoticed once in 2^64. It does not protect
//!    against deliberate changes.
//! 3. It does not detect a change beyond the first [`ROWS_MAX`] rows of a table if the number of rows stays
//!    the same, rows of tables that are not in the plan, and the contents of indexes.

use crate::coordinate::interruptible::{NO_LIMIT_NS, Unanswered, block_on_until_stopped};
use std::fmt;
use std::sync::atomic::AtomicBool;
use syncline_contract::{
    AccessPattern, Aggregate, Any, By, Capabilities, Failure, FailureKind, Int, Limit, Lock, Many,
    Order, Path, Plan, Range, Read, RequestTracker, Rows, Scan, Session, Several, Stop, TableId,
    Target, Transaction, Value,
};

/// The most rows of a table that are read, which takes a few seconds in every store.
const ROWS_MAX: u64 = 1_000_000;
/// Rows per answer.
const PAGE: u64 = 2_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    rows: u64,
    sum: u64,
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows, sum {:016x}", self.rows, self.sum)
    }
}

/// The operations that read the tables of a plan. They are in a separate plan so that clients need not
/// prepare them.
#[derive(Debug)]
pub(crate) struct FingerprintPlan {
    plan: Plan,
    tables: Vec<TablePlan>,
}

type Dynamic = Read<Many<Any>, Many<Any>>;

#[derive(Debug)]
struct TablePlan {
    number: usize,
    count: Read<(), (Int,)>,
    method: ScanMethod,
}

/// How the rows of a table are read in answers of bounded size.
#[derive(Debug)]
enum ScanMethod {
    /// No key: all rows at once.
    Whole(Dynamic),
    /// A key of one column: pages, each starting at the last key of the previous page.
    Pages { first: Dynamic, from: Dynamic, key: usize },
    /// A key of several columns: for each value of the first column, the rows with that value.
    Groups { values: Dynamic, of: Dynamic },
}

impl FingerprintPlan {
    /// For the first `tables` of a plan; `None` if the store cannot scan and count.
    pub(crate) fn of(plan: &Plan, tables: usize, can: &Capabilities) -> Option<FingerprintPlan> {
        if !can.scans || !can.aggregates {
            return None;
        }
        let mut reading = Plan::new();
        for table in plan.tables() {
            reading.table(table.clone());
        }
        let tables = (0..tables).map(|number| TablePlan::of(&mut reading, number));
        let tables = tables.collect();
        Some(FingerprintPlan { plan: reading, tables })
    }

    /// Takes the fingerprint. A stop request ends it, unless the request came before it began.
    pub(crate) fn take<T: Target>(
        &self,
        target: &T,
        stop: &AtomicBool,
    ) -> Result<Fingerprint, Unanswered> {
        let part = target.worker()?;
        let taken = async {
            let connected = target.connect(&self.plan, &part).await;
            let session = connected.map_err(|failure| Stop::Failed(Box::new(failure)))?;
            let mut reader = Reader {
                session,
                requests: RequestTracker::new(false),
                taken: Fingerprint::default(),
            };
            for table in &self.tables {
                reader.table(table).await?;
            }
            Ok(reader.taken)
        };
        let taken = block_on_until_stopped(taken, &part, stop, NO_LIMIT_NS);
        taken.ok_or(Unanswered::Stopped)?.map_err(|stop| {
            Unanswered::Failed(match stop {
                Stop::Failed(failure) | Stop::Unknown(failure) => *failure,
                Stop::Abort | Stop::Conflict(_) => {
                    let what = "reading the rows conflicted with another session";
                    Failure::new(FailureKind::Statement, what)
                }
            })
        })
    }
}

impl TablePlan {
    fn of(plan: &mut Plan, number: usize) -> TablePlan {
        let table = TableId(number);
        let names: Vec<String> =
            plan.tables()[number].columns.iter().map(|column| column.name.to_string()).collect();
        let columns: Vec<&str> = names.iter().map(String::as_str).collect();
        let key: Vec<usize> = plan.tables()[number].key.iter().map(|id| id.0).collect();
        let path = |equal, range| Path { table, by: By::Key, equal, range };
        let scan = |plan: &mut Plan, path: Path, limit: Limit| -> Dynamic {
            let scan =
                Scan { path, order: Order::Ascending, limit, columns: &columns, lock: Lock::None };
            plan.scan("read rows", scan)
        };
        let method = match key[..] {
            [] => ScanMethod::Whole(scan(plan, path(0, Range::All), Limit::None)),
            [key] => ScanMethod::Pages {
                first: scan(plan, path(0, Range::All), Limit::Fixed(PAGE)),
                from: scan(plan, path(0, Range::From), Limit::Fixed(PAGE)),
                key,
            },
            [first, ..] => ScanMethod::Groups {
                values: plan.sorted("read values", path(0, Range::All), columns[first], true),
                of: scan(plan, path(1, Range::All), Limit::None),
            },
        };
        TablePlan {
            number,
            count: plan.aggregate("count rows", path(0, Range::All), Aggregate::Count),
            method,
        }
    }
}

/// A session that reads tables, and the fingerprint so far.
struct Reader<S> {
    session: S,
    requests: RequestTracker,
    taken: Fingerprint,
}

impl<S: Session> Reader<S> {
    async fn table(&mut self, table: &TablePlan) -> Result<(), Stop> {
        self.session.begin(AccessPattern::Single);
        let mut transaction = Transaction::new(&mut self.session, &mut self.requests);
        let (count,) = transaction.read(&table.count, ()).await?;
        self.session.commit().await?;
        let count = count.cast_unsigned();
        self.taken.rows += count;
        match &table.method {
            ScanMethod::Whole(all) if count <= ROWS_MAX => {
                self.rows(table.number, all, &[], |_| true).await?;
            }
            ScanMethod::Whole(_) => {}
            ScanMethod::Pages { first, from, key } => {
                self.pages(table.number, first, from, *key).await?;
            }
            ScanMethod::Groups { values, of } => self.groups(table.number, values, of).await?,
        }
        Ok(())
    }

    async fn pages(
        &mut self,
        number: usize,
        first: &Dynamic,
        from: &Dynamic,
        key: usize,
    ) -> Result<(), Stop> {
        let mut last = Rows::new(1);
        let mut page = Rows::new(1);
        let mut read = self.rows(number, first, &[], |row| keep(&mut page, row, key)).await?;
        let mut sum = read;
        while read == PAGE && sum < ROWS_MAX {
            std::mem::swap(&mut last, &mut page);
            let before = last.row(0).value(0);
            // A page begins with the last row of the previous page.
            let fresh = |row: &Several<'_, Any>| {
                let again = row.get(key) == before;
                keep(&mut page, row, key);
                !again
            };
            read = self.rows(number, from, &[before], fresh).await?;
            sum += read;
        }
        Ok(())
    }

    async fn groups(&mut self, number: usize, values: &Dynamic, of: &Dynamic) -> Result<(), Stop> {
        let mut all = Rows::new(1);
        self.each(values, &[], |row| {
            all.push(row.get(0));
        })
        .await?;
        let mut sum = 0;
        for value in all.iter() {
            if sum >= ROWS_MAX {
                break;
            }
            sum += self.rows(number, of, &[value.value(0)], |_| true).await?;
        }
        Ok(())
    }

    /// Adds the digests of the rows for which `fresh` is true. Returns the number of all rows in the answer.
    async fn rows(
        &mut self,
        number: usize,
        read: &Dynamic,
        given: &[Value<'_>],
        mut fresh: impl FnMut(&Several<'_, Any>) -> bool,
    ) -> Result<u64, Stop> {
        let mut sum = 0_u64;
        let count = self
            .each(read, given, |row| {
                if fresh(&row) {
                    sum = sum.wrapping_add(digest(number, &row));
                }
            })
            .await?;
        self.taken.sum = self.taken.sum.wrapping_add(sum);
        Ok(count)
    }

    async fn each(
        &mut self,
        read: &Dynamic,
        given: &[Value<'_>],
        mut take: impl FnMut(Several<'_, Any>),
    ) -> Result<u64, Stop> {
        self.session.begin(AccessPattern::Single);
        let mut transaction = Transaction::new(&mut self.session, &mut self.requests);
        transaction.ask(read, Several::Values(given))?;
        let mut count = 0;
        for row in transaction.answers(read).await? {
            take(row?);
            count += 1;
        }
        self.session.commit().await?;
        Ok(count)
    }
}

/// Replaces the kept key by that of `row`.
fn keep(last: &mut Rows, row: &Several<'_, Any>, key: usize) -> bool {
    last.reset(1);
    last.push(row.get(key));
    true
}

/// The 64-bit digest of a row of a table.
fn digest(table: usize, row: &Several<'_, Any>) -> u64 {
    let mut digest = Digest::default();
    digest.add(&(table as u64).to_le_bytes());
    for place in 0..row.len() {
        match row.get(place) {
            Value::Null => digest.add(&[0]),
            Value::Int(value) => digest.number(1, value),
            Value::Float(value) => digest.number(2, value.to_bits().cast_signed()),
            Value::Decimal(value) => {
                digest.number(3, value.units);
                digest.add(&[value.scale]);
            }
            Value::Text(text) => digest.text(4, text.as_bytes()),
            Value::Bytes(bytes) => digest.text(5, bytes),
            Value::Timestamp(value) => digest.number(6, value),
        }
    }
    digest.finished()
}

/// FNV-1a with the finalizer of splitmix64, so that sums of digests show no pattern.
struct Digest(u64);

impl Default for Digest {
    fn default() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn number(&mut self, kind: u8, number: i64) {
        self.add(&[kind]);
        self.add(&number.to_le_bytes());
    }

    fn text(&mut self, kind: u8, bytes: &[u8]) {
        self.number(kind, bytes.len() as i64);
        self.add(bytes);
    }

    fn finished(self) -> u64 {
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::digest;
    use syncline_contract::{Any, Several, Value};

    fn of(table: usize, row: &[Value<'_>]) -> u64 {
        digest(table, &Several::<Any>::Values(row))
    }

    #[test]
    fn every_value_its_kind_and_its_position_change_the_digest() {
        let row = [Value::Int(1), Value::Text("ab"), Value::Null];
        let others = [
            [Value::Int(2), Value::Text("ab"), Value::Null],
            [Value::Int(1), Value::Text("ba"), Value::Null],
            [Value::Int(1), Value::Bytes(b"ab"), Value::Null],
            [Value::Timestamp(1), Value::Text("ab"), Value::Null],
            [Value::Int(1), Value::Text("ab"), Value::Int(0)],
            [Value::Text("ab"), Value::Int(1), Value::Null],
        ];
        assert_eq!(of(0, &row), of(0, &row));
        assert_ne!(of(0, &row), of(1, &row), "the same row of another table");
        for other in others {
            assert_ne!(of(0, &row), of(0, &other), "{other:?}");
        }
        let moved = [Value::Text("a"), Value::Text("bc")];
        assert_ne!(of(0, &moved), of(0, &[Value::Text("ab"), Value::Text("c")]));
    }
}
