//! The catalogue's rows with arbitrary bytes.

use super::codec;
use super::value::Catalog;
use crate::access::schema::{Kind, Schema, Value, asc, desc};
use crate::fuzzing::{Input, add_counted};
use std::collections::BTreeMap;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// A catalogue: rows, each a key and a value preceded by their lengths. They are read in the order of their
/// keys, as from a tree.
pub fn catalog(data: &[u8]) {
    let mut input = Input(data);
    let mut rows = Rows::new();
    while !input.is_empty() {
        rows.insert(input.counted().to_vec(), input.counted().to_vec());
    }
    let Ok(catalog) = read(&rows) else {
        return;
    };
    let again = codec::rows(&catalog);
    assert_eq!(read(&again).as_ref(), Ok(&catalog), "read, written, read");
    assert!(again.len() == rows.len(), "no row is lost");
}

fn read(rows: &Rows) -> Result<Catalog, crate::access::key::Malformed> {
    codec::read(rows.iter().map(|(key, value)| (key.as_slice(), value.as_slice())))
}

/// Catalogues as changes of tables make them.
pub(crate) fn catalog_seeds() -> Vec<Vec<u8>> {
    let empty = Catalog::new();
    let one = schema("accounts");
    let grown = one.with_nullable("note", Kind::Text, Value::Text("none")).expect("a good column");
    let grown = grown.with_column("rate", Kind::Float, Value::Float(0.5)).expect("a good column");
    let with_one = empty.with_table(one).expect("a good table").0;
    let with_columns = with_one.with_columns_of(grown).expect("good columns").0;
    let with_two = with_columns.with_table(schema("orders")).expect("a good table").0;
    let indexed = schema("orders")
        .with_index("by_owner_and_time", ["owner", "at"], false)
        .expect("a good index");
    let indexed = with_two.with_index(&indexed).expect("a good index").0;
    let dropping = indexed.with_table_dropping("accounts").expect("it exists").0;
    let seed = |catalog: &Catalog| {
        let mut seed = Vec::new();
        for (key, value) in codec::rows(catalog) {
            add_counted(&mut seed, &key);
            add_counted(&mut seed, &value);
        }
        seed
    };
    [empty, with_one, with_columns, with_two, indexed, dropping].iter().map(seed).collect()
}

fn schema(name: &str) -> Schema {
    let schema = Schema::table(name)
        .column("id", Kind::Int)
        .column("owner", Kind::Text)
        .nullable("balance", Kind::Decimal { scale: 2 })
        .nullable("picture", Kind::Bytes)
        .column("at", Kind::Timestamp)
        .key([asc("id"), desc("at")])
        .unique("by_owner", [asc("owner"), desc("balance").nulls_last()])
        .index("by_time", ["at"]);
    schema.build().expect("a good schema")
}
