//! The shape of a key: kind and order of each of its columns, prepared for encoding.

use crate::access::schema::{Column, KeyColumn, Kind};

/// One column of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its position in the table.
    pub(crate) column: usize,
    pub(crate) kind: Kind,
    pub(crate) nullable: bool,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
}

/// All columns of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyShape {
    pub(crate) parts: Box<[Part]>,
    /// True if each column takes exactly eight bytes and every bit pattern is valid: none is nullable or
    /// floating point.
    pub(crate) is_plain: bool,
}

impl KeyShape {
    pub(crate) fn new(columns: &[Column], key: &[KeyColumn]) -> KeyShape {
        let part = |key: &KeyColumn| Part {
            column: key.column,
            kind: columns[key.column].kind,
            nullable: columns[key.column].nullable,
            descending: key.descending,
            nulls_first: key.nulls_first,
        };
        KeyShape::of(key.iter().map(part).collect())
    }

    /// The shape of a key of these columns.
    pub(crate) fn of(parts: Box<[Part]>) -> KeyShape {
        let is_plain =
            |part: &Part| part.kind.is_fixed() && part.kind != Kind::Float && !part.nullable;
        KeyShape { is_plain: parts.iter().all(is_plain), parts }
    }
}
