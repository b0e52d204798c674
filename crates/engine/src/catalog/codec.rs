//! Encoding the catalogue as rows of tree 1, and decoding it; the module's head documents the format.

use super::bytes::{Reader, Writer};
use super::table::{IndexEntry, ObjectId, State, TableEntry};
use super::value::{Catalog, PendingIndex};
use crate::access::key::Malformed;
use crate::access::schema::{
    Collation, Column, DefaultValue, Definition, Index, KeyColumn, Kind, RemovedColumn, Schema,
    Value,
};
use crate::ids::TreeId;
use std::collections::BTreeMap;
use std::sync::Arc;

const FORMAT: u8 = 1;
const HEAD: u8 = 0;

/// The key of the row that holds the next numbers.
pub(super) const HEAD_KEY: [u8; 1] = [HEAD];
const TABLE: u8 = 1;
const INDEX: u8 = 2;
const DESCENDING: u8 = 1;
const NULLS_FIRST: u8 = 2;
const NULLABLE: u8 = 1;
const DEFAULT: u8 = 2;
const REMOVED: u8 = 4;

type Read<T> = Result<T, Malformed>;

/// All rows of the catalogue.
#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn rows(catalog: &Catalog) -> BTreeMap<Vec<u8>, Vec<u8>> {
    rows_of(catalog, catalog.tables.values())
}

/// The head, the rows of these tables and their indexes, and of all indexes that are not ready.
pub(super) fn rows_of<'c>(
    catalog: &Catalog,
    tables: impl Iterator<Item = &'c Arc<TableEntry>>,
) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut rows = BTreeMap::new();
    let mut head = Writer::default();
    head.u8(FORMAT);
    head.u32(catalog.next_object);
    head.u32(catalog.next_tree);
    rows.insert(HEAD_KEY.to_vec(), head.0);
    for table in tables {
        rows.insert(key(TABLE, table.id), table_row(table));
        for (index, entry) in table.schema.indexes().iter().zip(&table.indexes) {
            let aside = PendingIndex {
                table: table.id,
                tree: entry.tree,
                state: State::Ready,
                index: index.clone(),
            };
            rows.insert(key(INDEX, entry.id), index_row(&aside));
        }
    }
    for (id, aside) in &catalog.aside {
        rows.insert(key(INDEX, *id), index_row(aside));
    }
    rows
}

/// Decodes a catalogue from its rows.
pub(super) fn read<'r>(rows: impl IntoIterator<Item = (&'r [u8], &'r [u8])>) -> Read<Catalog> {
    let mut catalog = Catalog::new();
    let mut definitions: BTreeMap<ObjectId, (TableEntry, Definition)> = BTreeMap::new();
    let mut has_head = false;
    for (key, value) in rows {
        match key {
            [HEAD] => {
                read_head(&mut catalog, value)?;
                has_head = true;
            }
            [TABLE, id @ ..] => {
                let id = object(&catalog, id)?;
                definitions.insert(id, read_table(id, value)?);
            }
            [INDEX, id @ ..] => {
                let id = object(&catalog, id)?;
                let aside = read_index(value)?;
                let of = definitions.get_mut(&aside.table);
                let (entry, definition) = of.ok_or(Malformed("an index has no table"))?;
                if aside.state == State::Ready {
                    entry.indexes.push(IndexEntry { id, tree: aside.tree });
                    definition.indexes.push(aside.index);
                } else {
                    catalog.aside.insert(id, aside);
                }
            }
            _ => return Err(Malformed("a row's key does not belong to the catalogue")),
        }
    }
    if !has_head {
        return Err(Malformed("the catalogue has no head"));
    }
    for (id, (entry, definition)) in definitions {
        insert(&mut catalog, id, entry, definition)?;
    }
    check_trees(&catalog)?;
    Ok(catalog)
}

fn insert(
    catalog: &mut Catalog,
    id: ObjectId,
    mut entry: TableEntry,
    definition: Definition,
) -> Read<()> {
    let unusable = Malformed("the catalogue holds an invalid schema");
    entry.schema = Schema::checked(definition).map_err(|_what| unusable)?;
    if entry.state == State::Ready {
        let name = entry.schema.name().to_owned();
        if catalog.names.insert(name.into(), id).is_some() {
            return Err(Malformed("two tables have one name"));
        }
    }
    catalog.tables.insert(id, Arc::new(entry));
    Ok(())
}

/// Checks that no tree is named twice, and that all tree numbers have been used.
fn check_trees(catalog: &Catalog) -> Read<()> {
    let of_tables = catalog.tables.values();
    let of_tables = of_tables.flat_map(|table| {
        let indexes = table.indexes.iter().map(|index| index.tree);
        indexes.chain([table.tree])
    });
    let mut trees: Vec<TreeId> =
        of_tables.chain(catalog.aside.values().map(|aside| aside.tree)).collect();
    let count = trees.len();
    trees.sort_unstable();
    trees.dedup();
    let known = |tree: &TreeId| tree.0 > super::CATALOG_TREE.0 && tree.0 < catalog.next_tree;
    if trees.len() < count || !trees.iter().all(known) {
        return Err(Malformed("the catalogue names a tree twice or by an invalid number"));
    }
    Ok(())
}

fn key(kind: u8, id: ObjectId) -> Vec<u8> {
    let mut key = vec![kind];
    key.extend_from_slice(&id.0.to_be_bytes());
    key
}

fn object(catalog: &Catalog, id: &[u8]) -> Read<ObjectId> {
    let id = id.try_into().map(u32::from_be_bytes);
    // The head has the least key: it has already been read.
    id.ok()
        .filter(|id| (1..catalog.next_object).contains(id))
        .map(ObjectId)
        .ok_or(Malformed("the catalogue names an object by an invalid number"))
}

fn read_head(catalog: &mut Catalog, value: &[u8]) -> Read<()> {
    let mut reader = begin(value)?;
    catalog.next_object = reader.u32()?;
    catalog.next_tree = reader.u32()?;
    reader.end()
}

fn begin(value: &[u8]) -> Read<Reader<'_>> {
    let mut reader = Reader(value);
    if reader.u8()? == FORMAT {
        Ok(reader)
    } else {
        Err(Malformed("a row of the catalogue has an unknown format"))
    }
}

fn table_row(table: &TableEntry) -> Vec<u8> {
    let mut row = Writer::default();
    row.u8(FORMAT);
    row.u8(state_code(table.state));
    row.u32(table.tree.0);
    row.u32(table.generation);
    row.name(table.schema.name());
    write_key(table.schema.key(), &mut row);
    let stored = table.schema.definition().stored();
    row.u16(stored.clone().count() as u16);
    for (position, column) in stored {
        write_column(column, position.is_none(), &mut row);
    }
    row.0
}

fn read_table(id: ObjectId, value: &[u8]) -> Read<(TableEntry, Definition)> {
    let mut reader = begin(value)?;
    let state = read_state(&mut reader)?;
    let tree = TreeId(reader.u32()?);
    let generation = reader.u32()?;
    let name = reader.name()?;
    let key = read_key(&mut reader)?;
    let count = reader.u16()?;
    let (mut columns, mut removed) = (Vec::new(), Vec::new());
    for position in 0..count {
        let (column, is_removed) = read_column(&mut reader)?;
        if is_removed {
            removed.push(RemovedColumn { position: position.into(), column });
        } else {
            columns.push(column);
        }
    }
    reader.end()?;
    let definition = Definition { name, columns, removed, key, indexes: Vec::new() };
    let unusable = Malformed("the catalogue holds an invalid schema");
    let entry = TableEntry {
        id,
        tree,
        state,
        generation,
        schema: Schema::checked(definition.clone()).map_err(|_what| unusable)?,
        indexes: Vec::new(),
    };
    Ok((entry, definition))
}

fn index_row(aside: &PendingIndex) -> Vec<u8> {
    let mut row = Writer::default();
    row.u8(FORMAT);
    row.u8(state_code(aside.state));
    row.u32(aside.tree.0);
    row.u32(aside.table.0);
    row.name(aside.index.name());
    row.u8(aside.index.is_unique().into());
    write_key(aside.index.columns(), &mut row);
    row.0
}

fn read_index(value: &[u8]) -> Read<PendingIndex> {
    let mut reader = begin(value)?;
    let state = read_state(&mut reader)?;
    let tree = TreeId(reader.u32()?);
    let table = ObjectId(reader.u32()?);
    let name = reader.name()?;
    let unique = reader.flags(1)? == 1;
    let columns = read_key(&mut reader)?;
    reader.end()?;
    Ok(PendingIndex { table, tree, state, index: Index { name, columns, unique } })
}

fn write_key(key: &[KeyColumn], row: &mut Writer) {
    row.u8(key.len() as u8);
    for part in key {
        row.u16(part.column as u16);
        let descending = if part.descending { DESCENDING } else { 0 };
        row.u8(descending | if part.nulls_first { NULLS_FIRST } else { 0 });
        row.u8(match part.collation {
            Collation::Binary => 0,
        });
    }
}

fn read_key(reader: &mut Reader<'_>) -> Read<Vec<KeyColumn>> {
    let count = reader.u8()?;
    let parts = (0..count).map(|_| {
        let column = reader.u16()?.into();
        let flags = reader.flags(DESCENDING | NULLS_FIRST)?;
        if reader.u8()? != 0 {
            return Err(Malformed("the catalogue names an unknown collation"));
        }
        Ok(KeyColumn {
            column,
            descending: flags & DESCENDING != 0,
            nulls_first: flags & NULLS_FIRST != 0,
            collation: Collation::Binary,
        })
    });
    parts.collect()
}

fn write_column(column: &Column, is_removed: bool, row: &mut Writer) {
    row.name(column.name());
    let (kind, scale) = match column.kind() {
        Kind::Int => (1, 0),
        Kind::Float => (2, 0),
        Kind::Decimal { scale } => (3, scale),
        Kind::Text => (4, 0),
        Kind::Bytes => (5, 0),
        Kind::Timestamp => (6, 0),
        Kind::Bool => (7, 0),
        Kind::Unsigned => (8, 0),
        Kind::Date => (9, 0),
        Kind::Uuid => (10, 0),
    };
    row.u8(kind);
    row.u8(scale);
    let default = column.default();
    let nullable = if column.is_nullable() { NULLABLE } else { 0 };
    let removed = if is_removed { REMOVED } else { 0 };
    row.u8(nullable | removed | if default.is_null() { 0 } else { DEFAULT });
    row.u16(column.since());
    if let Some(bits) = default.fixed_bits() {
        row.u64(bits);
    } else if let Some(bytes) = default.variable_bytes() {
        row.u16(bytes.len() as u16);
        row.bytes(bytes);
    }
}

/// A column, and whether it was removed.
fn read_column(reader: &mut Reader<'_>) -> Read<(Column, bool)> {
    let name = reader.name()?;
    let kind = match (reader.u8()?, reader.u8()?) {
        (1, 0) => Kind::Int,
        (2, 0) => Kind::Float,
        (3, scale) => Kind::Decimal { scale },
        (4, 0) => Kind::Text,
        (5, 0) => Kind::Bytes,
        (6, 0) => Kind::Timestamp,
        (7, 0) => Kind::Bool,
        (8, 0) => Kind::Unsigned,
        (9, 0) => Kind::Date,
        (10, 0) => Kind::Uuid,
        _ => {
            return Err(Malformed(
                "it names a kind of column that this program does not know; a newer program may",
            ));
        }
    };
    let flags = reader.flags(NULLABLE | DEFAULT | REMOVED)?;
    let since = reader.u16()?;
    let default = if flags & DEFAULT == 0 {
        Value::Null
    } else if kind.is_fixed() {
        Value::of_bits(kind, reader.u64()?)
    } else {
        let length = reader.u16()?;
        let bytes = reader.bytes(length.into())?;
        Value::of_bytes(kind, bytes).ok_or(Malformed("a default is not UTF-8"))?
    };
    let column = Column {
        name,
        kind,
        nullable: flags & NULLABLE != 0,
        since,
        default: DefaultValue::of(default),
    };
    Ok((column, flags & REMOVED != 0))
}

fn state_code(state: State) -> u8 {
    match state {
        State::Building => 1,
        State::Ready => 2,
        State::Dropping => 3,
    }
}

fn read_state(reader: &mut Reader<'_>) -> Read<State> {
    match reader.u8()? {
        1 => Ok(State::Building),
        2 => Ok(State::Ready),
        3 => Ok(State::Dropping),
        _ => Err(Malformed("the catalogue names an unknown state")),
    }
}
