//! A set of large objects: two tables.

use crate::access::key::{KeyRange, Malformed};
use crate::access::schema::{Kind, Schema, Value};
use crate::database::handle::Database;
use crate::database::large_objects::{LargeObjectReader, LargeObjectWriter};
use crate::error::{Error, Result};
use crate::table::{Row, Table, Transaction};
use crate::txn::{Begin, Direction};
use std::io;
use std::ops::ControlFlow;
use syncline_vfs::Disk;

/// Maximum bytes of a part: one extent, and a write of the log.
pub(super) const PART_BYTES_MAX: usize = 240 << 10;

// Columns of the table of objects.
pub(super) const ID: usize = 0;
pub(super) const BYTES: usize = 1;
const PART_BYTES: usize = 2;
pub(super) const OPENING: usize = 3;

// Columns of the table of parts, whose first is the id, too.
const PART: usize = 1;
pub(super) const CONTENT: usize = 2;

/// Parts that one transaction discards at most: some of its log record, whatever the log's cap is.
const PARTS_PER_DISCARD: usize = 100;

/// The index of the objects that are being written.
const UNFINISHED: &str = "unfinished";

/// A set of large objects, as named in calls; from [`Database::large_objects`]. Cheap to clone. As a
/// [`Table`] it is valid until its tables are dropped or changed, in the opening that returned it.
#[derive(Clone, Debug)]
pub struct LargeObjects {
    pub(super) table: Table,
    pub(super) parts: Table,
    pub(super) opening: i64,
    pub(super) part_bytes: usize,
}

impl<D: Disk> Database<D> {
    /// The large objects of that name, with tables that are made if they are missing: `name` and
    /// `name.parts`. Discards those that an earlier opening of the database left unfinished.
    ///
    /// ```
    /// use std::io::{Read, Write};
    /// use syncline_engine::{Database, Kind, Options, Schema, Value};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let directory = folder.path().join("documents");
    /// let database = Database::open_or_create(&directory, Options::default())?;
    /// let contents = database.large_objects("contents")?;
    /// let schema = Schema::table("documents").column("title", Kind::Text).column("content", Kind::Int);
    /// let documents = database.create_table(schema.key(["title"]).build()?)?;
    ///
    /// let mut writer = contents.write(&database)?;
    /// for line in 0..1_000 {
    ///     writeln!(writer, "line {line}")?;
    /// }
    /// // One transaction makes the object and the row that names it visible.
    /// writer.finish(|transaction, id| {
    ///     transaction.insert(&documents, &[Value::Text("lines"), Value::Int(id)])
    /// })?;
    ///
    /// let lines = database.run(|transaction| -> syncline_engine::Result<_> {
    ///     let row = transaction.get(&documents, &[Value::Text("lines")])?.expect("it was inserted");
    ///     let id = row.value(1)?.as_int().expect("it is an integer");
    ///     let mut reader = contents.read(transaction, id)?.expect("it was finished");
    ///     let mut text = String::new();
    ///     reader.read_to_string(&mut text).expect("the object is text");
    ///     Ok(text)
    /// })?;
    /// assert!(lines.ends_with("line 999\n"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Database::create_table`], and of a transaction; [`Error::Schema`] if a table of one of the names
    /// is another one. A database that is open for reading discards nothing, and fails with
    /// [`Error::NoSuch`] if the tables are missing.
    pub fn large_objects(&self, name: &str) -> Result<LargeObjects> {
        let table = self.table_of(&objects_schema(name)?)?;
        let parts = self.table_of(&parts_schema(name)?)?;
        let part_bytes = PART_BYTES_MAX
            .min(self.options().value_bytes_max as usize / 4)
            .min(self.engine().core.log.record_bytes_max() / 4)
            .max(1);
        let opening = self.engine().opened_at.0 as i64;
        let objects = LargeObjects { table, parts, opening, part_bytes };
        if !self.is_read_only() {
            objects.discard_unfinished(self)?;
        }
        Ok(objects)
    }

    fn table_of(&self, schema: &Schema) -> Result<Table> {
        let name = schema.name().to_owned();
        let mut found = self.table(&name);
        if let (Err(Error::NoSuch { .. }), false) = (&found, self.is_read_only()) {
            found = match self.create_table(schema.clone()) {
                // Another thread has made it.
                Err(Error::Taken { .. }) => self.table(&name),
                made => made,
            };
        }
        let found = found?;
        if found.schema() == schema {
            return Ok(found);
        }
        let what = "it is not one of large objects; choose another name for them".to_owned();
        Err(Error::Schema { table: name, what })
    }
}

impl LargeObjects {
    /// The table of the objects, with their ids and lengths: for scans. Do not write to it.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Begins an object. Its parts are committed as they are written, with a few hundred kilobytes in memory,
    /// and stay invisible until [`LargeObjectWriter::finish`].
    ///
    /// # Errors
    ///
    /// As [`Database::run`].
    pub fn write<'d, D: Disk>(
        &self,
        database: &'d Database<D>,
    ) -> Result<LargeObjectWriter<'d, D>> {
        LargeObjectWriter::begin(self, database)
    }

    /// A reader of a finished object, as the transaction sees it; none if there is no object of that id.
    ///
    /// # Errors
    ///
    /// As [`Transaction::get`].
    pub fn read<'t, 's, D: Disk>(
        &self,
        transaction: &'t Transaction<'s, D>,
        id: i64,
    ) -> Result<Option<LargeObjectReader<'t, 's, D>>> {
        let Some(row) = transaction.get(&self.table, &[Value::Int(id)])? else {
            return Ok(None);
        };
        let row = row.as_row();
        if !is_finished(row)? {
            return Ok(None);
        }
        let (bytes, part_bytes) = (number(row, BYTES)? as u64, number(row, PART_BYTES)? as u64);
        if part_bytes == 0 {
            return Err(row.schema().damaged(Malformed("a large object has parts of no bytes")));
        }
        Ok(Some(LargeObjectReader::new(transaction, &self.parts, id, (bytes, part_bytes))))
    }

    /// Deletes a finished object in the transaction; false if there is no object of that id. Reads the keys
    /// of its parts, not their content.
    ///
    /// # Errors
    ///
    /// As [`Transaction::delete`].
    pub fn delete<D: Disk>(&self, transaction: &Transaction<'_, D>, id: i64) -> Result<bool> {
        let row = transaction.get(&self.table, &[Value::Int(id)])?;
        if !row.map(|row| is_finished(row.as_row())).transpose()?.unwrap_or(false) {
            return Ok(false);
        }
        self.remove(transaction, id, usize::MAX)?;
        Ok(true)
    }

    /// Deletes up to `most` parts of an object, and its row if no others are left; false if some are.
    fn remove<D: Disk>(
        &self,
        transaction: &Transaction<'_, D>,
        id: i64,
        most: usize,
    ) -> Result<bool> {
        let prefix = [Value::Int(id)];
        let parts = transaction.keys(&self.parts, KeyRange::prefix(&prefix))?.limit(most);
        let parts: Vec<i64> =
            parts.map(|row| number(row?.as_row(), PART)).collect::<Result<_>>()?;
        let are_all = parts.len() < most;
        for part in parts {
            transaction.delete(&self.parts, &[Value::Int(id), Value::Int(part)])?;
        }
        if are_all {
            transaction.delete(&self.table, &[Value::Int(id)])?;
        }
        Ok(are_all)
    }

    /// Discards what earlier openings left. Another thread may do the same at the same time.
    fn discard_unfinished<D: Disk>(&self, database: &Database<D>) -> Result<()> {
        let bounds = [Value::Int(i64::MIN)];
        let mut left = Vec::new();
        let mut session = database.session()?;
        let transaction = session.transaction(Begin::Snapshot)?;
        let unfinished = self.table.by(UNFINISHED)?;
        let range = KeyRange::from(&bounds);
        transaction.scan(unfinished, range, Direction::Ascending, usize::MAX, |row| {
            if !is_finished(row)? && number(row, OPENING)? != self.opening {
                left.push(number(row, ID)?);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        transaction.abort();
        for id in left {
            self.discard(database, id)?;
        }
        Ok(())
    }

    /// Deletes an object that is not finished, if it is still there, in several transactions: nobody sees its
    /// parts, and a single log record might not hold all of these deletes.
    pub(super) fn discard<D: Disk>(&self, database: &Database<D>, id: i64) -> Result<()> {
        let mut session = database.session()?;
        let mut is_gone = false;
        while !is_gone {
            let (gone, ticket) = session.run(Begin::Serializable, |transaction| {
                let row = transaction.get(&self.table, &[Value::Int(id)])?;
                match row.map(|row| is_finished(row.as_row())).transpose()? {
                    Some(false) => self.remove(transaction, id, PARTS_PER_DISCARD),
                    Some(true) | None => Ok(true),
                }
            })?;
            session.wait(ticket)?;
            is_gone = gone;
        }
        Ok(())
    }
}

fn objects_schema(name: &str) -> Result<Schema> {
    Schema::table(name)
        .column("id", Kind::Int)
        .column("bytes", Kind::Int)
        .column("part_bytes", Kind::Int)
        .nullable("opening", Kind::Int)
        .key(["id"])
        .index(UNFINISHED, ["opening"])
        .build()
}

fn parts_schema(name: &str) -> Result<Schema> {
    Schema::table(format!("{name}.parts"))
        .column("id", Kind::Int)
        .column("part", Kind::Int)
        .column("content", Kind::Bytes)
        .key(["id", "part"])
        .build()
}

fn is_finished(row: Row<'_>) -> Result<bool> {
    Ok(row.value(OPENING)? == Value::Null)
}

pub(super) fn number(row: Row<'_>, column: usize) -> Result<i64> {
    let number = row.value(column)?.as_int();
    number.ok_or_else(|| {
        row.schema().damaged(Malformed("a column of a large object is not a number"))
    })
}

pub(super) fn io_error(error: Error) -> io::Error {
    io::Error::other(error)
}
