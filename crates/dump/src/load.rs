//! Loads a dump, in two readings: the first checks all of it, the second writes.
//!
//! Rows are inserted in transactions of at most [`BATCH_ROWS`] rows and about [`BATCH_BYTES`] bytes, so that
//! a load is in the log like any other change. If one is refused (two rows have one key, the disk is full),
//! the tables made so far are dropped.

use crate::Contents;
use crate::cell::memory_bytes;
use crate::error::{Error, Result};
use crate::reader::{Part, Reader};
use std::io::{BufRead, Seek, SeekFrom};
use syncline_engine::{Database, OwnedValue, Table, Value};
use syncline_vfs::Disk;

/// Rows of a transaction at most.
const BATCH_ROWS: usize = 1_000;

/// Bytes of the values of a transaction's rows, unless a single row has more.
const BATCH_BYTES: usize = 256 << 10;

/// Checks that a dump is whole and well formed. Two rows with one key are not noticed.
///
/// # Errors
///
/// [`Error::Line`] and [`Error::Io`].
pub fn check(input: impl BufRead) -> Result<Contents> {
    let mut reader = Reader::new(input)?;
    while !matches!(reader.next()?, Part::End) {}
    Ok(reader.contents())
}

/// Loads a dump, whose tables must not exist, from the position of `input` on. Others may use the database
/// meanwhile; they see a table while its rows are being inserted.
///
/// # Errors
///
/// [`Error::Line`] and [`Error::Io`] for a dump that is not whole, and [`Error::Taken`]: nothing was written.
/// [`Error::Engine`]: the tables that were made are dropped. [`Error::Incomplete`] if that fails.
pub fn load<D: Disk>(database: &Database<D>, mut input: impl BufRead + Seek) -> Result<Contents> {
    let unreadable = |error| Error::Io { action: "read", error };
    let start = input.stream_position().map_err(unreadable)?;
    let mut reader = Reader::new(&mut input)?;
    let taken = database.tables();
    let mut made: Vec<String> = Vec::new();
    loop {
        match reader.next()? {
            Part::Table(schema) => {
                let name = schema.name();
                let is_taken = taken.iter().any(|taken| taken.name() == name);
                if is_taken || made.iter().any(|made| made == name) {
                    return Err(Error::Taken { table: name.to_owned() });
                }
                made.push(name.to_owned());
            }
            Part::Row(_) => {}
            Part::End => break,
        }
    }
    input.seek(SeekFrom::Start(start)).map_err(unreadable)?;
    made.clear();
    write(database, Reader::new(input)?, &mut made)
        .map_err(|failed| drop_all(database, &made, failed))
}

/// Drops the tables that a failed load has made.
fn drop_all<D: Disk>(database: &Database<D>, made: &[String], failed: Error) -> Error {
    for table in made {
        if let Err(error) = database.drop_table(table) {
            return Error::Incomplete {
                failed: Box::new(failed),
                table: table.clone(),
                error: Box::new(error),
            };
        }
    }
    failed
}

fn write<D: Disk>(
    database: &Database<D>,
    mut reader: Reader<impl BufRead>,
    made: &mut Vec<String>,
) -> Result<Contents> {
    let mut table: Option<Table> = None;
    let (mut rows, mut bytes) = (Vec::new(), 0);
    loop {
        let part = reader.next()?;
        let is_full = rows.len() >= BATCH_ROWS || bytes >= BATCH_BYTES;
        if let Some(table) = &table
            && (is_full || !matches!(part, Part::Row(_)))
        {
            insert(database, table, &rows)?;
            rows.clear();
            bytes = 0;
        }
        match part {
            Part::Table(schema) => {
                let name = schema.name().to_owned();
                table = Some(database.create_table(schema)?);
                made.push(name);
            }
            Part::Row(row) => {
                bytes += row.iter().map(memory_bytes).sum::<usize>();
                rows.push(row);
            }
            Part::End => return Ok(reader.contents()),
        }
    }
}

/// Inserts rows in one transaction, or in several if one log record cannot hold them.
fn insert<D: Disk>(database: &Database<D>, table: &Table, rows: &[Vec<OwnedValue>]) -> Result<()> {
    let inserted = database.run(|transaction| {
        let mut values: Vec<Value<'_>> = Vec::new();
        for row in rows {
            values.clear();
            values.extend(row.iter().map(OwnedValue::as_value));
            transaction.insert(table, &values)?;
        }
        Ok(())
    });
    match inserted {
        Err(syncline_engine::Error::TooLarge { .. }) if rows.len() > 1 => {
            let (first, rest) = rows.split_at(rows.len() / 2);
            insert(database, table, first)?;
            insert(database, table, rest)
        }
        inserted => Ok(inserted?),
    }
}
