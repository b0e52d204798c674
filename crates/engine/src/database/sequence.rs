//! Sequences: numbers for keys, each given once.
//!
//! A sequence is a table of one row, which holds the first number that no one has reserved. A handle reserves
//! [`BLOCK`] numbers by one durable transaction and gives them out from memory.
//!
//! Invariants:
//! 1. A number is given once, also by two handles and after a crash: it is given only when the reservation of
//!    its block is stable.
//! 2. The numbers of one handle ascend. There are gaps: what a handle has reserved and not given is lost with
//!    it.

use crate::access::schema::{Kind, Schema, Value};
use crate::database::handle::Database;
use crate::error::{Error, Result};
use crate::sync::rank::SEQUENCE;
use crate::sync::ranked::Mutex;
use crate::table::{Change, Table};
use std::fmt;
use std::ops::Range;
use syncline_vfs::Disk;

/// Numbers that are reserved at once.
const BLOCK: i64 = 1_000;

/// Gives numbers for keys; from [`Database::sequence`]. Share it between threads by reference.
pub struct Sequence<'d, D: Disk> {
    database: &'d Database<D>,
    table: Table,
    reserved: Mutex<Range<i64>, SEQUENCE>,
}

impl<D: Disk> Database<D> {
    /// A sequence of numbers from 1 on, kept in a table of that name, which is made if there is none.
    ///
    /// ```
    /// use syncline_engine::{Database, Options};
    ///
    /// # fn main() -> syncline_engine::Result<()> {
    /// let database = Database::transient(Options::default())?;
    /// let ids = database.sequence("order_id")?;
    /// assert!(ids.next()? < ids.next()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Database::open_or_create_table`].
    pub fn sequence(&self, name: &str) -> Result<Sequence<'_, D>> {
        let schema = Schema::table(name).column("id", Kind::Int).column("unreserved", Kind::Int);
        let table = self.open_or_create_table(schema.key(["id"]).build()?)?;
        Ok(Sequence { database: self, table, reserved: Mutex::new(0..0) })
    }
}

impl<D: Disk> Sequence<'_, D> {
    /// The next number. Once in a thousand calls it waits for a transaction that reserves more.
    ///
    /// # Errors
    ///
    /// As [`Database::run`]; [`Error::Exhausted`] after the greatest 64-bit integer.
    pub fn next(&self) -> Result<i64> {
        let mut reserved = self.reserved.lock();
        if let Some(number) = reserved.next() {
            return Ok(number);
        }
        *reserved = self.reserve()?;
        reserved.next().ok_or_else(|| self.exhausted())
    }

    fn reserve(&self) -> Result<Range<i64>> {
        let key = [Value::Int(0)];
        let first = self.database.run(|transaction| {
            let row = transaction.get(&self.table, &key)?;
            let first = row.map_or(Ok(1), |row| row.get("unreserved"))?;
            let end = i64::checked_add(first, BLOCK).ok_or_else(|| self.exhausted())?;
            let row = [key[0], Value::Int(end)];
            transaction.upsert(&self.table, &row, &[Change::set("unreserved", end)])?;
            Ok::<_, Error>(first)
        })?;
        Ok(first..first + BLOCK)
    }

    fn exhausted(&self) -> Error {
        Error::Exhausted { sequence: self.table.name().to_owned() }
    }
}

impl<D: Disk> fmt::Debug for Sequence<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sequence").field("table", &self.table.name()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::BLOCK;
    use crate::{Database, Error, Options, Value};
    use std::collections::BTreeSet;
    use std::path::Path;
    use std::thread;
    use syncline_vfs::SimulatedDisk;
    use syncline_vfs::simulated::{Crash, Metadata};

    #[test]
    fn each_number_is_given_once_by_all_handles_and_threads() {
        let database = Database::transient(Options::tiny()).expect("room for a small database");
        let handles = [1, 2].map(|_| database.sequence("ids").expect("room for a table"));
        let give = |handle: usize| -> Vec<i64> {
            let count = 2 * BLOCK + 100;
            (0..count).map(|_| handles[handle].next().expect("no failure")).collect()
        };
        let given: Vec<Vec<i64>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|at| scope.spawn(move || give(at % 2))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
        });
        assert!(given.iter().all(|numbers| numbers.is_sorted()));
        let all: BTreeSet<i64> = given.iter().flatten().copied().collect();
        assert_eq!(all.len() as i64, 4 * (2 * BLOCK + 100));
        assert_eq!(all.first(), Some(&1));
    }

    #[test]
    fn no_number_is_given_again_after_a_crash() {
        let mut disk = SimulatedDisk::new(1, Metadata::Strict);
        let mut given = BTreeSet::new();
        let path = Path::new("db");
        for life in 0..4 {
            let database = if life == 0 {
                Database::create_on(&disk, path, Options::tiny())
            } else {
                Database::open_on(&disk, path, Options::tiny())
            };
            let database = database.expect("the disk is sound");
            let ids = database.sequence("ids").expect("the disk is sound");
            for _ in 0..BLOCK / 2 * (life + 1) {
                assert!(given.insert(ids.next().expect("the disk is sound")));
            }
            disk = disk.crash(Crash::DropAll);
        }
    }

    #[test]
    fn the_end_of_the_numbers_is_an_error() {
        let database = Database::transient(Options::tiny()).expect("room for a small database");
        let ids = database.sequence("ids").expect("room for a table");
        let table = database.table("ids").expect("it was made");
        let end = [Value::Int(0), Value::Int(i64::MAX - BLOCK)];
        database.run(|transaction| transaction.put(&table, &end)).expect("no conflict");
        for _ in 0..BLOCK {
            ids.next().expect("a block is left");
        }
        assert!(matches!(ids.next(), Err(Error::Exhausted { .. })));
    }
}
