//! A table's definition, checked and prepared for use.

use crate::access::schema::layout;
use crate::access::schema::{
    Collation, Column, ColumnSlot, Index, KeyColumn, KeyShape, Kind, Layout, RemovedColumn,
};
use crate::error::{Error, Result};
use std::collections::HashSet;

/// Maximum columns of a table: row and patch formats count them in 16 bits, and a row is read whole.
const COLUMNS_MAX: usize = 1024;
/// Maximum columns of a key: more would not fit its bytes anyway.
const KEY_COLUMNS_MAX: usize = 32;
/// Maximum indexes of a table: each is written with every row.
const INDEXES_MAX: usize = 64;
/// Maximum bytes of a name.
const NAME_BYTES_MAX: usize = 128;
/// Maximum bytes of a default value: it goes with every patch.
const DEFAULT_BYTES_MAX: usize = 1024;
/// Maximum digits after the point that 63 bits can hold.
const SCALE_MAX: u8 = 18;
/// The highest version: the row format has 15 bits for it.
const VERSION_MAX: u16 = 0x7fff;

/// A definition as requested or read, not checked yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
    /// In the order of their positions.
    pub(crate) removed: Vec<RemovedColumn>,
    pub(crate) key: Vec<KeyColumn>,
    pub(crate) indexes: Vec<Index>,
}

impl Definition {
    /// All columns in the order of rows, removed ones included; with its position in `columns` if it was not
    /// removed.
    pub(crate) fn stored(&self) -> impl Iterator<Item = (Option<usize>, &Column)> + Clone {
        let (mut columns, mut removed) = (self.columns.iter().enumerate(), self.removed.iter());
        let count = self.columns.len() + self.removed.len();
        let mut next = removed.next();
        (0..count).filter_map(move |position| match next {
            Some(gone) if gone.position == position => {
                next = removed.next();
                Some((None, &gone.column))
            }
            _ => columns.next().map(|(column, about)| (Some(column), about)),
        })
    }
}

/// A table's definition: its name, columns, primary key and secondary indexes.
///
/// ```
/// use syncline_engine::{Kind, Schema, asc, desc};
///
/// # fn main() -> syncline_engine::Result<()> {
/// let order = Schema::table("order")
///     .column("customer", Kind::Int)
///     .column("placed", Kind::Timestamp)
///     .column("total", Kind::Decimal { scale: 2 })
///     .nullable("note", Kind::Text)
///     .key([asc("customer"), desc("placed")])
///     .index("by_total", ["total"])
///     .build()?;
/// assert_eq!(order.column("total"), Some(2));
/// assert_eq!(order.columns()[3].name(), "note");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Schema {
    definition: Definition,
    slots: Box<[ColumnSlot]>,
    layouts: Box<[Layout]>,
    block: Box<[u8]>,
    text_runs: Box<[u16]>,
    key_shape: KeyShape,
    index_shapes: Box<[KeyShape]>,
}

impl PartialEq for Schema {
    fn eq(&self, other: &Schema) -> bool {
        self.definition == other.definition
    }
}

impl Schema {
    /// Checks a definition and prepares it for use.
    ///
    /// # Errors
    ///
    /// [`Error::Schema`], with the reason.
    pub(crate) fn checked(definition: Definition) -> Result<Schema> {
        check(&definition)
            .map_err(|what| Error::Schema { table: definition.name.clone(), what })?;
        let (slots, layouts) = layout::slots(&definition);
        let block = layout::block(&definition, &layouts);
        let shape = |key: &[KeyColumn]| KeyShape::new(&definition.columns, key);
        let indexes = definition.indexes.iter();
        Ok(Schema {
            text_runs: layout::text_runs(&definition),
            key_shape: shape(&definition.key),
            index_shapes: indexes.map(|index| shape(&index.columns)).collect(),
            slots: slots.into(),
            layouts: layouts.into(),
            block,
            definition,
        })
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// Its columns, in order.
    pub fn columns(&self) -> &[Column] {
        &self.definition.columns
    }

    /// The position of a column by its name.
    pub fn column(&self, name: &str) -> Option<usize> {
        let mut columns = self.definition.columns.iter();
        columns.position(|column| column.name == name)
    }

    /// The columns of its primary key, in order.
    pub fn key(&self) -> &[KeyColumn] {
        &self.definition.key
    }

    /// Its secondary indexes.
    pub fn indexes(&self) -> &[Index] {
        &self.definition.indexes
    }

    /// The position of an index by its name.
    pub fn index(&self, name: &str) -> Option<usize> {
        let mut indexes = self.definition.indexes.iter();
        indexes.position(|index| index.name == name)
    }

    /// The number of column additions, counted from 1; each row carries the version at which it was written.
    pub fn version(&self) -> u16 {
        self.layouts.len() as u16
    }

    /// How this definition of a table differs from another one; none if only the versions differ, since
    /// columns and indexes were added later.
    pub(crate) fn difference(&self, other: &Schema) -> Option<String> {
        let names = |schema: &Schema| -> Vec<String> {
            schema.columns().iter().map(|column| column.name.clone()).collect()
        };
        if names(self) != names(other) {
            return Some(format!("the columns {}", names(self).join(", ")));
        }
        for (column, other) in self.columns().iter().zip(other.columns()) {
            if (column.kind, column.nullable) != (other.kind, other.nullable) {
                let null = if column.nullable { "or null" } else { "never null" };
                return Some(format!("column {} of {}, {null}", column.name, column.kind));
            }
        }
        if self.key() != other.key() {
            return Some("another primary key".to_owned());
        }
        if self.indexes() != other.indexes() {
            return Some("other indexes".to_owned());
        }
        None
    }

    pub(crate) fn definition(&self) -> &Definition {
        &self.definition
    }

    #[inline]
    pub(crate) fn slot(&self, column: usize) -> ColumnSlot {
        self.slots[column]
    }

    /// The layout of rows of a version, if there was such a version.
    #[inline]
    pub(crate) fn layout(&self, version: u16) -> Option<Layout> {
        let index = usize::from(version).checked_sub(1)?;
        self.layouts.get(index).copied()
    }

    /// The layout block that goes with every patch; see `layout.rs`.
    pub(crate) fn block(&self) -> &[u8] {
        &self.block
    }

    /// See [`layout::text_runs`].
    #[inline]
    pub(crate) fn text_runs(&self) -> &[u16] {
        &self.text_runs
    }

    #[inline]
    pub(crate) fn key_shape(&self) -> &KeyShape {
        &self.key_shape
    }

    #[inline]
    pub(crate) fn index_shape(&self, index: usize) -> &KeyShape {
        &self.index_shapes[index]
    }

    /// True if that column is indexed.
    pub(crate) fn is_indexed(&self, column: usize) -> bool {
        let has_column = |index: &Index| index.columns.iter().any(|part| part.column == column);
        self.definition.indexes.iter().any(has_column)
    }
}

type Check = std::result::Result<(), String>;

fn check(definition: &Definition) -> Check {
    check_name("the table", &definition.name)?;
    check_columns(definition)?;
    check_key("the primary key", &definition.key, &definition.columns)?;
    for part in &definition.key {
        let column = &definition.columns[part.column];
        if column.nullable {
            return Err(format!("key column {} may not be null", column.name));
        }
        if column.since > 1 {
            return Err(format!("key column {} was added later", column.name));
        }
    }
    check_indexes(definition)
}

fn check_columns(definition: &Definition) -> Check {
    let columns = &definition.columns;
    let count = columns.len() + definition.removed.len();
    if count > COLUMNS_MAX {
        let removed = match definition.removed.len() {
            0 => String::new(),
            removed => format!(", {removed} of which are removed,"),
        };
        return Err(format!("{count} columns{removed} are more than {COLUMNS_MAX}"));
    }
    unique("column", columns.iter().map(|column| column.name.as_str()))?;
    let mut version = 1;
    for (position, column) in definition.stored() {
        if position.is_some() {
            check_name("column", &column.name)?;
        }
        check_column(column)?;
        let follows = column.since == version || column.since == version + 1;
        if !follows || column.since > VERSION_MAX {
            let name = &column.name;
            return Err(format!(
                "column {name} has version {} after version {version}",
                column.since
            ));
        }
        version = column.since;
    }
    Ok(())
}

fn check_column(column: &Column) -> Check {
    let name = &column.name;
    if let Kind::Decimal { scale } = column.kind
        && scale > SCALE_MAX
    {
        return Err(format!("column {name} has scale {scale}, above {SCALE_MAX}"));
    }
    let default = column.default();
    if !default.is_null() && default.kind() != Some(column.kind) {
        return Err(format!("the default of column {name} is not {}", column.kind));
    }
    if default.variable_bytes().is_some_and(|bytes| bytes.len() > DEFAULT_BYTES_MAX) {
        return Err(format!(
            "the default of column {name} is longer than {DEFAULT_BYTES_MAX} bytes"
        ));
    }
    if column.since > 1 && !column.nullable && default.is_null() {
        return Err(format!(
            "column {name} is added to existing rows: give it a default, or allow null"
        ));
    }
    Ok(())
}

fn check_key(of: &str, key: &[KeyColumn], columns: &[Column]) -> Check {
    if key.is_empty() {
        return Err(format!("{of} has no column"));
    }
    if key.len() > KEY_COLUMNS_MAX {
        return Err(format!("{of} has more than {KEY_COLUMNS_MAX} columns"));
    }
    let mut seen = HashSet::new();
    for part in key {
        let Some(column) = columns.get(part.column) else {
            return Err(format!("{of} names column {}, which does not exist", part.column));
        };
        if !seen.insert(part.column) {
            return Err(format!("{of} names column {} twice", column.name));
        }
        match part.collation {
            Collation::Binary => {}
        }
    }
    Ok(())
}

fn check_indexes(definition: &Definition) -> Check {
    let indexes = &definition.indexes;
    if indexes.len() > INDEXES_MAX {
        return Err(format!("{} indexes are more than {INDEXES_MAX}", indexes.len()));
    }
    unique("index", indexes.iter().map(|index| index.name.as_str()))?;
    for index in indexes {
        check_name("index", &index.name)?;
        let of = format!("index {}", index.name);
        check_key(&of, &index.columns, &definition.columns)?;
    }
    Ok(())
}

fn check_name(of: &str, name: &str) -> Check {
    if name.is_empty() {
        return Err(format!("{of} has an empty name"));
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(format!("{of} {name} has a name of more than {NAME_BYTES_MAX} bytes"));
    }
    Ok(())
}

fn unique<'a>(of: &str, names: impl Iterator<Item = &'a str>) -> Check {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(format!("{of} {name} is named twice"));
        }
    }
    Ok(())
}
