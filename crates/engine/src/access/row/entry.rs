//! Secondary indexes: the entries of a row, and how they change with it.
//!
//! An entry is a row of the index's tree:
//!
//! | index | key | value |
//! |---|---|---|
//! | not unique | index columns, primary key | none |
//! | unique, no column null | index columns | primary key |
//! | unique, some column null | index columns, primary key | primary key |
//!
//! The primary key in an entry has the same bytes as in the table's tree. Two rows with equal values in a
//! unique index would have the same key; a null keeps them apart, since it equals nothing.

use super::read::RowView;
use crate::access::key::{self, Malformed};
use crate::access::schema::Schema;
use crate::error::Result;
use crate::planted_bug::{PlantedBug, planted};

/// An entry of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
}

/// Computes the changes of index entries for changed rows; reuses its memory.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    old: Vec<u8>,
    new: Vec<u8>,
}

impl Entries {
    /// Calls `change` for each index whose entry differs between `old` and `new`, with the position of the
    /// index, the entry to delete and the entry to insert. An absent row has no entries. Both are versions of
    /// one row, so their primary keys are equal.
    pub(crate) fn changes(
        &mut self,
        schema: &Schema,
        old: Option<&RowView<'_>>,
        new: Option<&RowView<'_>>,
        bytes_max: usize,
        mut change: impl FnMut(usize, Option<Entry<'_>>, Option<Entry<'_>>) -> Result<()>,
    ) -> Result<()> {
        for index in 0..schema.indexes().len() {
            self.old.clear();
            self.new.clear();
            if let Some(row) = old {
                entry_key(schema, index, row, &mut self.old)?;
            }
            if let Some(row) = new {
                entry_key(schema, index, row, &mut self.new)?;
                let name = schema.indexes()[index].name();
                key::check_length(name, self.new.len(), bytes_max)?;
            }
            if old.is_some() == new.is_some() && self.old == self.new {
                continue;
            }
            let value = |row: &RowView<'_>| entry_value(schema, index, row.key_bytes().len());
            let keep = planted(PlantedBug::KeepOldEntry) && new.is_some();
            let delete = old
                .filter(|_| !keep)
                .map(|row| Entry { key: &self.old, value: &row.key_bytes()[..value(row)] });
            let insert =
                new.map(|row| Entry { key: &self.new, value: &row.key_bytes()[..value(row)] });
            change(index, delete, insert)?;
        }
        Ok(())
    }
}

/// How many bytes of the primary key an entry has as its value: all or none.
fn entry_value(schema: &Schema, index: usize, key_bytes: usize) -> usize {
    if schema.indexes()[index].is_unique() { key_bytes } else { 0 }
}

/// Appends the key of a row's entry in an index to `out`.
pub(crate) fn entry_key(
    schema: &Schema,
    index: usize,
    row: &RowView<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let mut has_null = false;
    for part in &schema.index_shape(index).parts {
        let value = row.value(part.column).map_err(|what| schema.damaged(what))?;
        has_null |= value.is_null();
        key::push(part, value, out).map_err(|unfit| schema.unfit(part.column, unfit, value))?;
    }
    if has_null || !schema.indexes()[index].is_unique() {
        out.extend_from_slice(row.key_bytes());
    }
    Ok(())
}

/// The primary key in an entry.
pub(crate) fn primary_key_of<'a>(
    schema: &Schema,
    index: usize,
    entry: Entry<'a>,
) -> std::result::Result<&'a [u8], Malformed> {
    if schema.indexes()[index].is_unique() {
        return Ok(entry.value);
    }
    let length = key::skip(schema.index_shape(index), entry.key)?;
    Ok(&entry.key[length..])
}
