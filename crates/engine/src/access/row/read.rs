//! Reads any column of a row.

use super::raw::Raw;
use crate::access::key::{KeyView, Malformed, unfold};
use crate::access::schema::{ColumnSlot, Schema, Value};

/// A row and its key, as bytes that are read column by column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowView<'a> {
    pub(super) schema: &'a Schema,
    pub(super) key: KeyView<'a>,
    pub(super) raw: Raw<'a>,
}

impl<'a> RowView<'a> {
    /// Opens a row. The key is unfolded into `plain`.
    #[inline]
    pub(crate) fn open(
        schema: &'a Schema,
        key: &'a [u8],
        value: &'a [u8],
        plain: &'a mut Vec<u8>,
    ) -> Result<RowView<'a>, Malformed> {
        let raw = Raw::open(value, |version| schema.layout(version));
        RowView::with(schema, key, plain, raw)
    }

    /// Opens a row of which only the key is known: its other columns cannot be read.
    pub(crate) fn of_key(
        schema: &'a Schema,
        key: &'a [u8],
        plain: &'a mut Vec<u8>,
    ) -> Result<RowView<'a>, Malformed> {
        RowView::with(schema, key, plain, Ok(Raw::none()))
    }

    /// Reports problems of the key before those of the row.
    #[inline]
    fn with(
        schema: &'a Schema,
        key: &'a [u8],
        plain: &'a mut Vec<u8>,
        raw: Result<Raw<'a>, Malformed>,
    ) -> Result<RowView<'a>, Malformed> {
        let length = unfold(schema.key_shape(), key, plain)?;
        if length < key.len() {
            return Err(Malformed("a key continues after its last column"));
        }
        Ok(RowView {
            schema,
            key: KeyView { shape: schema.key_shape(), bytes: key, plain },
            raw: raw?,
        })
    }

    /// The table's definition.
    pub(crate) fn schema(&self) -> &'a Schema {
        self.schema
    }

    /// The bytes of the primary key.
    pub(crate) fn key_bytes(&self) -> &'a [u8] {
        self.key.bytes
    }

    /// True if the column cannot be read, since only the key is known.
    pub(crate) fn is_of_key(&self, column: usize) -> bool {
        self.raw.is_none() && !matches!(self.schema.slot(column), ColumnSlot::Key { .. })
    }

    /// The value of a column; malformed beyond the last one.
    #[inline]
    pub(crate) fn value(&self, column: usize) -> Result<Value<'a>, Malformed> {
        let Some(about) = self.schema.columns().get(column) else {
            return Err(Malformed("a row has no such column"));
        };
        let slot = self.schema.slot(column);
        if let ColumnSlot::Key { position } = slot {
            return self.key.value(usize::from(position));
        }
        if about.since > self.raw.version {
            if self.raw.is_none() {
                return Err(Malformed("only the key of a row was read"));
            }
            return Ok(about.default());
        }
        match slot {
            ColumnSlot::Key { .. } => unreachable!("key columns were handled above"),
            ColumnSlot::Fixed { null_bit, .. } | ColumnSlot::Variable { null_bit, .. }
                if null_bit.is_some_and(|bit| self.raw.is_null(bit)) =>
            {
                Ok(Value::Null)
            }
            ColumnSlot::Fixed { ordinal, .. } => {
                Ok(Value::of_bits(about.kind, self.raw.fixed(ordinal)))
            }
            ColumnSlot::Variable { ordinal, .. } => {
                let bytes = &self.raw.bytes[self.raw.variable(ordinal)?];
                Value::of_bytes(about.kind, bytes).ok_or(Malformed("text in a row is not UTF-8"))
            }
        }
    }

    /// Reads every column, and checks what reading alone would not notice: unused bits, and the slots of null
    /// columns.
    pub(crate) fn check(&self) -> Result<(), Malformed> {
        let layout = self.raw.layout;
        for bit in layout.nullable..layout.nullable.next_multiple_of(8) {
            if self.raw.is_null(bit) {
                return Err(Malformed("a row has a bit set for a column that does not exist"));
            }
        }
        for column in 0..self.schema.columns().len() {
            let value = self.value(column)?;
            if let ColumnSlot::Fixed { ordinal, .. } = self.schema.slot(column)
                && self.schema.columns()[column].since <= self.raw.version
                && !value.is_null()
                && value.fixed_bits() != Some(self.raw.fixed(ordinal))
            {
                return Err(Malformed("a column holds no value of its kind"));
            }
            if value.is_null() && self.schema.columns()[column].since <= self.raw.version {
                self.check_null(column)?;
            }
        }
        Ok(())
    }

    fn check_null(&self, column: usize) -> Result<(), Malformed> {
        let is_empty = match self.schema.slot(column) {
            ColumnSlot::Key { .. } => true,
            ColumnSlot::Fixed { ordinal, .. } => self.raw.fixed(ordinal) == 0,
            ColumnSlot::Variable { ordinal, .. } => self.raw.variable(ordinal)?.is_empty(),
        };
        if is_empty { Ok(()) } else { Err(Malformed("a column that is null has bytes")) }
    }
}
