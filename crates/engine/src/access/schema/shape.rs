//! The shape of a key: for each of its columns the kind and the order, ready for encoding.

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
        KeyShape {
            parts: key.iter().map(part).collect(),
        }
    }
}
