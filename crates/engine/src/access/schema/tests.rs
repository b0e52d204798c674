//! Schemas: refusals with their messages, and additions.

use super::random;
use crate::access::schema::{Kind, Schema, Value, asc};
use fastrand::Rng;

fn refused(schema: crate::Result<Schema>) -> String {
    let text = schema.expect_err("the schema is invalid").to_string();
    let begin = "the schema of table t cannot be used: ";
    text.strip_prefix(begin).expect("it names the table").to_owned()
}

#[test]
fn an_invalid_schema_is_refused_with_its_reason() {
    let t = || Schema::table("t").column("a", Kind::Int).nullable("b", Kind::Text);
    assert_eq!(refused(t().build()), "the primary key has no column");
    assert_eq!(refused(t().key(["b"]).build()), "key column b may not be null");
    assert_eq!(refused(t().key(["a", "a"]).build()), "the primary key names column a twice");
    assert_eq!(
        refused(t().key(["c"]).build()),
        "the primary key names column c, which does not exist"
    );
    let twice = t().column("a", Kind::Int).key(["a"]);
    assert_eq!(refused(twice.build()), "column a is named twice");
    let index = t().key(["a"]).index("i", ["a"]).unique("i", ["b"]);
    assert_eq!(refused(index.build()), "index i is named twice");
    let index = t().key(["a"]).index("i", ["x"]);
    assert_eq!(refused(index.build()), "index i names column x, which does not exist");
    let scale = t().column("d", Kind::Decimal { scale: 19 }).key(["a"]);
    assert_eq!(refused(scale.build()), "column d has scale 19, above 18");
    let long = t().column("n".repeat(129), Kind::Int).key(["a"]);
    assert!(refused(long.build()).contains("more than 128 bytes"));
    let many = (0..1024).fold(t(), |t, n| t.column(format!("c{n}"), Kind::Int));
    assert_eq!(refused(many.key(["a"]).build()), "1026 columns are more than 1024");
    let none: [&str; 0] = [];
    let empty = t().key(["a"]).index("i", none);
    assert_eq!(refused(empty.build()), "index i has no column");
}

#[test]
fn a_column_that_is_added_needs_a_value_for_old_rows() {
    let t = Schema::table("t").column("a", Kind::Int).key(["a"]).build().unwrap();
    assert_eq!(
        refused(t.with_column("b", Kind::Int, Value::Null)),
        "column b is added to existing rows: give it a default, or allow null"
    );
    assert_eq!(
        refused(t.with_nullable("b", Kind::Int, Value::Text("x"))),
        "the default of column b is not an integer"
    );
    let t = t.with_nullable("b", Kind::Int, Value::Int(7)).unwrap();
    assert_eq!((t.version(), t.columns()[1].default()), (2, Value::Int(7)));
    assert_eq!(refused(t.with_column("b", Kind::Int, Value::Int(1))), "column b is named twice");
}

#[test]
fn indexes_are_added_and_removed() {
    let t = Schema::table("t").column("a", Kind::Int).key(["a"]).build().unwrap();
    let with = t.with_index("i", [asc("a")], true).unwrap();
    assert_eq!(with.index("i"), Some(0));
    assert!(with.indexes()[0].is_unique() && with.is_indexed(0));
    assert_eq!(with.without_index("i").unwrap(), t);
    assert_eq!(refused(t.without_index("i")), "it has no index i");
}

#[test]
fn random_schemas_have_a_slot_for_every_column_and_version() {
    let mut rng = Rng::with_seed(1);
    for _ in 0..200 {
        let mut schema = random::schema(&mut rng);
        for version in 1..5 {
            assert_eq!(schema.version(), version);
            let newest = schema.layout(version).expect("the newest version has a layout");
            let in_row = schema.columns().len() - schema.key().len();
            assert_eq!(usize::from(newest.fixed + newest.variable), in_row);
            assert!(schema.layout(version + 1).is_none() && schema.layout(0).is_none());
            schema = random::grown(&mut rng, &schema);
        }
    }
}
