//! Structs as rows: what is derived holds for every type of column.

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use syncline_engine::{
    Database, Date, Decimal, Error, Kind, Options, Result, TableRow, Uuid, Value, values,
};

#[derive(Clone, Debug, PartialEq, TableRow)]
struct Order {
    #[row(key)]
    customer: u32,
    #[row(key)]
    number: i16,
    #[row(scale = 2)]
    total: Decimal,
    #[row(scale = 3, name = "weight_kg")]
    weight: Option<Decimal>,
    placed: SystemTime,
    r#type: Box<str>,
    note: Option<String>,
    signature: [u8; 4],
    attachment: Option<Vec<u8>>,
    share: f64,
    paid: bool,
    serial: u64,
    due: Date,
    token: Option<Uuid>,
}

fn order(number: i16) -> Order {
    Order {
        customer: u32::MAX,
        number,
        total: Decimal { units: -1_234, scale: 2 },
        weight: (number > 0).then_some(Decimal { units: 5, scale: 3 }),
        placed: UNIX_EPOCH + Duration::from_micros(1_700_000_000_000_001),
        r#type: "retail".into(),
        note: (number > 0).then(|| "a note".to_owned()),
        signature: [0, 1, 254, 255],
        attachment: (number == 0).then(Vec::new),
        share: 0.5,
        paid: number > 0,
        serial: u64::MAX - number as u64,
        due: Date::from_ymd(2026, 11, 30).expect("a day of that month"),
        token: (number != 0).then(|| Uuid::from(u128::MAX - 7)),
    }
}

#[test]
fn a_struct_is_read_as_it_was_written() {
    let database = Database::transient(Options::tiny()).unwrap();
    let orders = database.create_table(Order::table("order").build().unwrap()).unwrap();
    let written = [order(-1), order(0), order(1)];
    let write = |order: &Order| database.run(|tx| tx.insert(&orders, &order.values()));
    written.iter().try_for_each(write).unwrap();
    let read = database.read(|tx| -> Result<Vec<Order>> {
        tx.rows(&orders, syncline_engine::KeyRange::ALL)?.map(|row| row?.read()).collect()
    });
    assert_eq!(read.unwrap(), written);
}

#[test]
fn columns_have_the_kinds_and_names_of_the_fields() {
    let schema = Order::table("order").build().unwrap();
    let columns: Vec<_> = schema
        .columns()
        .iter()
        .map(|column| (column.name(), column.kind(), column.is_nullable()))
        .collect();
    assert_eq!(
        columns,
        [
            ("customer", Kind::Int, false),
            ("number", Kind::Int, false),
            ("total", Kind::Decimal { scale: 2 }, false),
            ("weight_kg", Kind::Decimal { scale: 3 }, true),
            ("placed", Kind::Timestamp, false),
            ("type", Kind::Text, false),
            ("note", Kind::Text, true),
            ("signature", Kind::Bytes, false),
            ("attachment", Kind::Bytes, true),
            ("share", Kind::Float, false),
            ("paid", Kind::Bool, false),
            ("serial", Kind::Unsigned, false),
            ("due", Kind::Date, false),
            ("token", Kind::Uuid, true),
        ]
    );
    assert_eq!(schema.key().iter().map(|part| part.column).collect::<Vec<_>>(), [0, 1]);
}

#[derive(Debug, PartialEq, TableRow)]
struct Summary {
    #[row(key)]
    number: i64,
    note: Option<String>,
}

#[derive(Debug, PartialEq, TableRow)]
struct Narrow {
    #[row(key)]
    number: i64,
    customer: i16,
}

#[test]
fn columns_are_found_by_their_names_and_values_checked() {
    let database = Database::transient(Options::tiny()).unwrap();
    let orders = database.create_table(Order::table("order").build().unwrap()).unwrap();
    database.run(|tx| tx.insert(&orders, &order(1).values())).unwrap();
    let row = database.read(|tx| tx.get(&orders, values![u32::MAX, 1])).unwrap().unwrap();
    let summary: Summary = row.read().unwrap();
    assert_eq!(summary, Summary { number: 1, note: Some("a note".to_owned()) });
    assert_eq!(summary.values(), [Value::Int(1), Value::Text("a note")]);
    let narrow = row.read::<Narrow>();
    assert!(matches!(narrow, Err(Error::Unreadable { .. })), "{narrow:?}");
}
