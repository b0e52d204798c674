//! Writes a dump.

use crate::definition::TableLine;
use crate::error::{Error, Result};
use crate::{Contents, VERSION, cell};
use std::io::{self, Write};
use std::ops::ControlFlow;
use syncline_engine::{Begin, Database, Direction, KeyRange, Row, Schema, TypedSession};
use syncline_vfs::Disk;

/// Writes the tables with these names, or all tables if there is no name, as they were at one commit. Others
/// may read and write the database meanwhile; a table that they drop or change ends the dump with an error.
///
/// # Errors
///
/// [`Error::Io`] if `out` cannot be written, and [`Error::Engine`]: a table does not exist, was dropped
/// meanwhile, or cannot be read. What was written until then is no dump: loading refuses it.
pub fn write<D: Disk>(
    database: &Database<D>,
    names: &[String],
    out: &mut dyn Write,
) -> Result<Contents> {
    let (mut schemas, mut session) = snapshot(database)?;
    for name in names {
        // Fails for a table that does not exist.
        database.table(name)?;
    }
    schemas.retain(|schema| names.is_empty() || names.iter().any(|name| name == schema.name()));
    let mut out = Lines { out, crc: 0 };
    out.line(|line| serde_json::to_writer(line, &serde_json::json!({ "syncline_dump": VERSION })))?;
    let mut contents = Contents::default();
    for schema in &schemas {
        contents.rows += write_table(database, &mut session, schema, &mut out)?;
        contents.tables += 1;
    }
    let crc = out.crc;
    out.line(|line| {
        write!(
            line,
            "{{\"tables\":{},\"rows\":{},\"crc32c\":\"{crc:08x}\"}}",
            contents.tables, contents.rows
        )
        .map_err(serde_json::Error::io)
    })?;
    out.out.flush().map_err(|error| Error::Io { action: "write", error })?;
    Ok(contents)
}

/// Begins a transaction, and returns the tables that there are at its read point.
fn snapshot<D: Disk>(database: &Database<D>) -> Result<(Vec<Schema>, TypedSession<D>)> {
    let listed = |schemas: &[Schema]| format!("{schemas:?}");
    let mut session = database.session()?;
    loop {
        let schemas = database.tables();
        session.begin(Begin::ReadOnly)?;
        // Otherwise another thread has defined a table before the transaction began, or just after that.
        if listed(&database.tables()) == listed(&schemas) {
            return Ok((schemas, session));
        }
        session.abort();
    }
}

/// Writes a table and returns the number of its rows.
fn write_table<D: Disk>(
    database: &Database<D>,
    session: &mut TypedSession<D>,
    schema: &Schema,
    out: &mut Lines<'_>,
) -> Result<u64> {
    let table = database.table(schema.name())?;
    let definition = TableLine::of(table.schema());
    let definition =
        definition.map_err(|what| Error::Io { action: "write", error: io::Error::other(what) })?;
    out.line(|line| serde_json::to_writer(line, &definition))?;
    let (mut rows, mut failed) = (0_u64, None);
    session.scan(&table, KeyRange::ALL, Direction::Ascending, usize::MAX, |row| {
        rows += 1;
        match write_row(row, out) {
            Ok(()) => Ok(ControlFlow::Continue(())),
            Err(Error::Engine(error)) => Err(*error),
            Err(error) => {
                failed = Some(error);
                Ok(ControlFlow::Break(()))
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    out.line(|line| serde_json::to_writer(line, &serde_json::json!({ "rows": rows })))?;
    Ok(rows)
}

fn write_row(row: Row<'_>, out: &mut Lines<'_>) -> Result<()> {
    let mut values = Vec::with_capacity(row.values().len());
    for value in row.values() {
        values.push(value?);
    }
    out.line(|line| {
        let mut before = b'[';
        for value in values {
            line.push(before);
            before = b',';
            cell::write(line, value)?;
        }
        line.push(b']');
        Ok(())
    })
}

/// Writes lines and counts their checksum.
struct Lines<'w> {
    out: &'w mut dyn Write,
    crc: u32,
}

impl Lines<'_> {
    fn line(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>) -> Result<()> {
        let mut line = Vec::new();
        let filled = fill(&mut line).map_err(io::Error::from);
        line.push(b'\n');
        self.crc = crc32c::crc32c_append(self.crc, &line);
        filled
            .and_then(|()| self.out.write_all(&line))
            .map_err(|error| Error::Io { action: "write", error })
    }
}
