//! A large object that is being written.

use super::handle::{BYTES, ID, LargeObjects, OPENING, io_error, number};
use crate::access::key::KeyRange;
use crate::access::schema::Value;
use crate::database::handle::Database;
use crate::error::{Error, Result};
use crate::log::Ticket;
use crate::table::{Change, Transaction, TypedSession};
use crate::txn::Begin;
use std::fmt;
use std::io;
use syncline_vfs::Disk;

/// Writes a large object piece by piece, as [`io::Write`]; from [`LargeObjects::write`]. A full part is
/// committed at once, `flush` does nothing, and nothing is visible before
/// [`finish`](LargeObjectWriter::finish). Dropping the writer before that discards the object; what it cannot
/// discard, such as in a database that has failed, the next opening does.
pub struct LargeObjectWriter<'d, D: Disk> {
    database: &'d Database<D>,
    objects: LargeObjects,
    session: TypedSession<D>,
    id: i64,
    /// Bytes in committed parts.
    committed: u64,
    /// How many parts those are.
    parts: i64,
    /// What is not yet a part.
    rest: Vec<u8>,
    /// The commit of the last part; the log may be one part behind.
    last: Option<Ticket>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Writing,
    /// A part could not be committed.
    Failed,
    Finished,
}

impl<'d, D: Disk> LargeObjectWriter<'d, D> {
    pub(super) fn begin(
        objects: &LargeObjects,
        database: &'d Database<D>,
    ) -> Result<LargeObjectWriter<'d, D>> {
        let mut session = database.session()?;
        let (id, _) = session.run(Begin::Serializable, |transaction| -> Result<_> {
            let id = new_id(objects, transaction)?;
            let part_bytes = Value::Int(objects.part_bytes as i64);
            let row = [Value::Int(id), Value::Int(0), part_bytes, Value::Int(objects.opening)];
            transaction.insert(&objects.table, &row)?;
            Ok(id)
        })?;
        Ok(LargeObjectWriter {
            database,
            objects: objects.clone(),
            session,
            id,
            committed: 0,
            parts: 0,
            rest: Vec::new(),
            last: None,
            state: State::Writing,
        })
    }

    /// The id that the object will have.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// The bytes that were written.
    pub fn len_bytes(&self) -> u64 {
        self.committed + self.rest.len() as u64
    }

    /// Makes the object visible, in one transaction with what `body` does: it is given the object's id, and
    /// runs again after a conflict. Returns once the commit is stable. If `body` fails, the object is
    /// discarded.
    ///
    /// # Errors
    ///
    /// As [`Database::run`]; [`Error::LargeObject`] after a write that failed.
    pub fn finish<R, E: From<Error>>(
        mut self,
        mut body: impl FnMut(&mut Transaction<'_, D>, i64) -> Result<R, E>,
    ) -> Result<R, E> {
        self.check()?;
        if !self.rest.is_empty() {
            self.commit_part()?;
        }
        let (id, bytes) = (self.id, self.committed as i64);
        let objects = &self.objects.table;
        let (answer, ticket) = self.session.run(Begin::Serializable, |transaction| {
            let changes =
                [Change::set(BYTES, Value::Int(bytes)), Change::set(OPENING, Value::Null)];
            transaction.update(objects, &[Value::Int(id)], &changes)?;
            body(transaction, id)
        })?;
        self.state = State::Finished;
        self.session.wait(ticket)?;
        Ok(answer)
    }

    fn check(&self) -> Result<()> {
        match self.state {
            State::Writing | State::Finished => Ok(()),
            State::Failed => Err(Error::LargeObject {
                name: self.objects.table.name().to_owned(),
                id: self.id,
                what: "an earlier write of it failed; begin another one",
            }),
        }
    }

    /// Commits what has been collected as the next part, once the part before is stable.
    fn commit_part(&mut self) -> Result<()> {
        // Whatever fails, a part is missing then.
        self.state = State::Failed;
        if let Some(last) = self.last.take() {
            self.session.wait(last)?;
        }
        let (parts, rest) = (&self.objects.parts, &self.rest);
        let row = [Value::Int(self.id), Value::Int(self.parts), Value::Bytes(rest)];
        let insert = |transaction: &mut Transaction<'_, D>| transaction.insert(parts, &row);
        let ((), ticket) = self.session.run(Begin::Serializable, insert)?;
        self.last = Some(ticket);
        self.parts += 1;
        self.committed += self.rest.len() as u64;
        self.rest.clear();
        self.state = State::Writing;
        Ok(())
    }
}

/// An id behind all others, and behind those of deleted objects.
fn new_id<D: Disk>(objects: &LargeObjects, transaction: &mut Transaction<'_, D>) -> Result<i64> {
    let id = transaction.read_point()?.0 as i64;
    match transaction.last(&objects.table, KeyRange::ALL)? {
        Some(row) => Ok(id.max(number(row.as_row(), ID)?.saturating_add(1))),
        None => Ok(id),
    }
}

impl<D: Disk> io::Write for LargeObjectWriter<'_, D> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check().map_err(io_error)?;
        if self.rest.len() == self.objects.part_bytes {
            self.commit_part().map_err(io_error)?;
        }
        let taken = bytes.len().min(self.objects.part_bytes - self.rest.len());
        self.rest.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<D: Disk> Drop for LargeObjectWriter<'_, D> {
    fn drop(&mut self) {
        if self.state != State::Finished {
            self.session.abort();
            // The next opening discards it otherwise.
            let _left = self.objects.discard(self.database, self.id);
        }
    }
}

impl<D: Disk> fmt::Debug for LargeObjectWriter<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("LargeObjectWriter");
        debug.field("id", &self.id).field("bytes", &self.len_bytes()).field("state", &self.state);
        debug.finish_non_exhaustive()
    }
}
