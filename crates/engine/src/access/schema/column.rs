//! Columns, key columns and indexes: the parts of a schema.

use crate::access::schema::{Kind, Value};

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) nullable: bool,
    pub(crate) since: u16,
    pub(crate) default: Option<DefaultValue>,
}

impl Column {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind of its values.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// True if it may be null.
    pub fn is_nullable(&self) -> bool {
        self.nullable
    }

    /// The version of the schema that added it; 1 for the original columns.
    pub fn since(&self) -> u16 {
        self.since
    }

    /// Its value in rows that were written before it was added.
    pub fn default(&self) -> Value<'_> {
        self.default.as_ref().map_or(Value::Null, DefaultValue::borrow)
    }
}

/// A column that was removed: rows that were written before still hold its values, and later ones hold
/// nothing in its slot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RemovedColumn {
    /// Its position among the columns and the removed ones together.
    pub(crate) position: usize,
    /// What it was; its name is empty.
    pub(crate) column: Column,
}

/// How text is compared. There is one rule so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Collation {
    /// By its UTF-8 bytes, which is by code points.
    #[default]
    Binary,
}

/// A column of a key, with its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// The column's position in the table.
    pub column: usize,
    /// True if great values come first.
    pub descending: bool,
    /// True if null comes before all values, in either direction.
    pub nulls_first: bool,
    /// How text is compared.
    pub collation: Collation,
}

/// A secondary index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    pub(crate) name: String,
    pub(crate) columns: Vec<KeyColumn>,
    pub(crate) unique: bool,
}

impl Index {
    /// Its name, unique in the table.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its columns, in order.
    pub fn columns(&self) -> &[KeyColumn] {
        &self.columns
    }

    /// True if no two rows may have the same values in its columns. Rows with a null there never collide.
    pub fn is_unique(&self) -> bool {
        self.unique
    }
}

/// The default of a column, which is never null. It is compared bit by bit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DefaultValue {
    /// Of a fixed kind, by its bits.
    Fixed { kind: Kind, bits: u64 },
    /// UTF-8 text.
    Text(Box<str>),
    /// Bytes.
    Bytes(Box<[u8]>),
    /// A UUID.
    Uuid([u8; 16]),
}

impl DefaultValue {
    /// A copy; none for null.
    pub(crate) fn of(value: Value<'_>) -> Option<DefaultValue> {
        match value {
            Value::Null => None,
            Value::Text(text) => Some(DefaultValue::Text(text.into())),
            Value::Bytes(bytes) => Some(DefaultValue::Bytes(bytes.into())),
            Value::Uuid(bytes) => Some(DefaultValue::Uuid(*bytes)),
            Value::Int(_)
            | Value::Float(_)
            | Value::Decimal(_)
            | Value::Timestamp(_)
            | Value::Bool(_)
            | Value::Unsigned(_)
            | Value::Date(_) => {
                Some(DefaultValue::Fixed { kind: value.kind()?, bits: value.fixed_bits()? })
            }
        }
    }

    /// The value, borrowed.
    pub(crate) fn borrow(&self) -> Value<'_> {
        match self {
            DefaultValue::Fixed { kind, bits } => Value::of_bits(*kind, *bits),
            DefaultValue::Text(text) => Value::Text(text),
            DefaultValue::Bytes(bytes) => Value::Bytes(bytes),
            DefaultValue::Uuid(bytes) => Value::Uuid(bytes),
        }
    }
}
