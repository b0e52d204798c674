//! Reads a dump line by line and checks its form.
//!
//! The states follow the lines: before the header, between tables, within a table, at the end.

use crate::cell;
use crate::definition::TableLine;
use crate::error::{Error, Result};
use crate::{Contents, VERSION};
use serde::Deserialize;
use serde_json::Value as Json;
use std::io::{BufRead, Read};
use syncline_engine::{OwnedValue, Schema};

/// A part of a dump.
pub(crate) enum Part {
    /// A table begins.
    Table(Schema),
    /// A row of it.
    Row(Vec<OwnedValue>),
    /// The dump is whole; nothing follows.
    End,
}

/// Bytes of the first line at most: a file that is no dump may have no line at all.
const HEADER_BYTES_MAX: u64 = 4 << 10;

/// Bytes of any other line at most: a row of 64 MiB whose text needs six bytes for each of its own.
const LINE_BYTES_MAX: u64 = 512 << 20;

/// Later versions may have more fields.
#[derive(Deserialize)]
struct HeaderLine {
    syncline_dump: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableEndLine {
    rows: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TrailerLine {
    tables: u64,
    rows: u64,
    crc32c: String,
}

/// Reads a dump.
pub(crate) struct Reader<R> {
    input: R,
    line: Vec<u8>,
    /// The number of the line.
    number: u64,
    /// The checksum of all lines before it.
    crc: u32,
    /// The table that is being read, with the rows so far.
    table: Option<(Schema, u64)>,
    contents: Contents,
}

impl<R: BufRead> Reader<R> {
    /// Reads the header.
    pub(crate) fn new(input: R) -> Result<Reader<R>> {
        let mut reader = Reader {
            input,
            line: Vec::new(),
            number: 0,
            crc: 0,
            table: None,
            contents: Contents::default(),
        };
        reader.next_line(HEADER_BYTES_MAX)?;
        let Ok(header) = serde_json::from_slice::<HeaderLine>(&reader.line) else {
            return Err(
                reader.refuse("this is no dump: it does not begin with {\"syncline_dump\":1}")
            );
        };
        if header.syncline_dump != VERSION {
            let what = format!(
                "the dump has version {}, and this program reads version {VERSION}",
                header.syncline_dump
            );
            return Err(reader.refuse(what));
        }
        Ok(reader)
    }

    /// What was read so far.
    pub(crate) fn contents(&self) -> Contents {
        self.contents
    }

    /// The next part.
    pub(crate) fn next(&mut self) -> Result<Part> {
        loop {
            let before = crc32c::crc32c_append(self.crc, &self.line);
            self.crc = before;
            self.next_line(LINE_BYTES_MAX)?;
            if self.table.is_some() {
                if let Some(part) = self.within_table()? {
                    return Ok(part);
                }
            } else {
                return self.between_tables();
            }
        }
    }

    /// Reads a row, or none at the end of the table.
    fn within_table(&mut self) -> Result<Option<Part>> {
        let (schema, rows) = self.table.as_mut().expect("a table is being read");
        if self.line.first() == Some(&b'[') {
            let values = serde_json::from_slice::<Vec<Json>>(&self.line);
            let cells = values.map_err(|error| error.to_string()).and_then(|values| {
                let columns = schema.columns();
                if values.len() != columns.len() {
                    return Err(format!("{} values for {} columns", values.len(), columns.len()));
                }
                let cells = values.into_iter().zip(columns).map(|(json, column)| {
                    let cell = cell::read(json, column.kind());
                    match cell {
                        Ok(OwnedValue::Null) if !column.is_nullable() => {
                            Err(format!("column {} must not be null", column.name()))
                        }
                        Ok(cell) => Ok(cell),
                        Err(what) => Err(format!("column {}: {what}", column.name())),
                    }
                });
                cells.collect()
            });
            *rows += 1;
            self.contents.rows += 1;
            return cells.map(|cells| Some(Part::Row(cells))).map_err(|what| self.refuse(what));
        }
        let rows = *rows;
        match serde_json::from_slice::<TableEndLine>(&self.line) {
            Ok(end) if end.rows == rows => {
                self.table = None;
                Ok(None)
            }
            Ok(end) => Err(self.refuse(format!("the table has {rows} rows, not {}", end.rows))),
            Err(_) => Err(self.refuse("a row or the number of rows is expected")),
        }
    }

    fn between_tables(&mut self) -> Result<Part> {
        if self.line.starts_with(b"{\"tables\"") {
            return self.trailer();
        }
        let table = serde_json::from_slice::<TableLine>(&self.line);
        let schema = table.map_err(|error| error.to_string()).and_then(TableLine::schema);
        let schema = schema.map_err(|what| self.refuse(what))?;
        self.table = Some((schema.clone(), 0));
        self.contents.tables += 1;
        Ok(Part::Table(schema))
    }

    fn trailer(&mut self) -> Result<Part> {
        let trailer = serde_json::from_slice::<TrailerLine>(&self.line);
        let trailer = trailer.map_err(|error| self.refuse(error.to_string()))?;
        let Contents { tables, rows } = self.contents;
        if (trailer.tables, trailer.rows) != (tables, rows) {
            let what = format!(
                "{tables} tables with {rows} rows were read, but it says {} with {}",
                trailer.tables, trailer.rows
            );
            return Err(self.refuse(what));
        }
        if trailer.crc32c != format!("{:08x}", self.crc) {
            return Err(self.refuse("the checksum does not match: the dump was changed or damaged"));
        }
        self.line.clear();
        let read = self.input.by_ref().take(1).read_until(b'\n', &mut self.line);
        match read {
            Ok(0) => Ok(Part::End),
            Ok(_) => {
                self.number += 1;
                Err(self.refuse("something follows the end of the dump"))
            }
            Err(error) => Err(Error::Io { action: "read", error }),
        }
    }

    fn next_line(&mut self, bytes_max: u64) -> Result<()> {
        self.line.clear();
        self.number += 1;
        let read = self.input.by_ref().take(bytes_max).read_until(b'\n', &mut self.line);
        let bytes = read.map_err(|error| Error::Io { action: "read", error })?;
        if bytes as u64 == bytes_max && self.line.last() != Some(&b'\n') {
            return Err(
                self.refuse(format!("it is longer than {bytes_max} bytes: this is no dump"))
            );
        }
        if self.line.last() != Some(&b'\n') {
            return Err(self.refuse("the dump ends too early: it was cut off"));
        }
        Ok(())
    }

    fn refuse(&self, what: impl Into<String>) -> Error {
        Error::Line { line: self.number, what: what.into() }
    }
}
