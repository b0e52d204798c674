//! A connection together with its prepared statements, which borrow from it.
//!
//! `rusqlite` ties a statement's lifetime to its connection's, so that safe Rust cannot hold both in
//! one value; its own statement cache allocates and hashes at every use. Here the borrow is extended
//! once, when a statement is created.
//!
//! Invariants:
//! 1. `connection` is reference-counted and not moved, so what the statements borrow keeps its address.
//! 2. `statements` is declared before `connection` and therefore dropped before it.
//! 3. A statement is accessible only within a closure that is valid for every lifetime, so that no
//!    caller can keep it, or anything borrowed from it, any longer.

#![allow(unsafe_code, reason = "statements and their connection live in one value")]

use rusqlite::{Connection, PrepFlags, Statement};
use std::fmt;
use std::rc::Rc;

/// A connection and its statements, by position.
pub(super) struct Prepared {
    statements: Vec<Statement<'static>>,
    connection: Rc<Connection>,
}

impl Prepared {
    /// Wraps a connection, without statements.
    pub(super) fn new(connection: Connection) -> Prepared {
        Prepared { statements: Vec::new(), connection: Rc::new(connection) }
    }

    /// Prepares a statement and returns its position.
    pub(super) fn prepare(&mut self, sql: &str) -> rusqlite::Result<usize> {
        // SAFETY: by invariants 1 and 2 the connection outlives every statement kept here, and by
        // invariant 3 no statement is kept elsewhere.
        let connection: &'static Connection = unsafe { &*Rc::as_ptr(&self.connection) };
        let statement = connection.prepare_with_flags(sql, PrepFlags::SQLITE_PREPARE_PERSISTENT)?;
        self.statements.push(statement);
        Ok(self.statements.len() - 1)
    }

    /// Gives a closure access to a statement.
    #[inline]
    pub(super) fn with<R>(
        &mut self,
        position: usize,
        use_it: impl for<'a> FnOnce(&mut Statement<'a>) -> R,
    ) -> R {
        use_it(&mut self.statements[position])
    }

    /// The names of the columns that a statement returns.
    pub(super) fn columns(&self, position: usize) -> Vec<String> {
        let names = self.statements[position].column_names();
        names.map(str::to_owned).collect()
    }

    /// Executes a statement without parameters or rows.
    #[inline]
    pub(super) fn execute(&mut self, position: usize) -> rusqlite::Result<usize> {
        self.statements[position].raw_execute()
    }

    /// The connection.
    #[inline]
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared")
            .field("statements", &self.statements.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::Prepared;
    use rusqlite::Connection;

    #[test]
    fn statements_work_after_a_move_and_close_with_the_connection() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("CREATE TABLE t (n INTEGER)").unwrap();
        let mut prepared = Prepared::new(connection);
        let insert = prepared.prepare("INSERT INTO t VALUES (?1)").unwrap();
        let sum = prepared.prepare("SELECT sum(n) FROM t").unwrap();
        let mut moved = vec![prepared].remove(0);
        for number in 0..100_i64 {
            moved.with(insert, |statement| statement.execute([number])).unwrap();
        }
        let total: i64 = moved.with(sum, |s| s.query_row([], |row| row.get(0))).unwrap();
        assert_eq!(total, 4950);
        drop(moved);
        let descriptors = std::fs::read_dir("/proc/self/fd").unwrap();
        let open = descriptors.filter_map(|fd| std::fs::read_link(fd.unwrap().path()).ok());
        assert_eq!(open.filter(|target| *target == path).count(), 0, "the file is closed");
    }
}
