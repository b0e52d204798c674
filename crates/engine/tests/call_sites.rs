//! Call sites as applications have them: helper functions and structs over the types of the crate, errors of
//! the application, conversions, several rows at once, and a join. Most of them did not compile in version
//! 0.1.

use std::ops::ControlFlow;
use syncline_engine::{
    Change, Database, Direction, Error, KeyRange, Kind, NullDisk, OwnedRow, OwnedValue, Result,
    Schema, Table, Transaction, TypedSession, Value, values,
};

/// A helper over the transaction of a database on a disk.
fn credit(transaction: &Transaction<'_>, accounts: &Table, id: i64, sum: i64) -> Result<()> {
    transaction.update(accounts, values![id], &[Change::add("balance", sum)])
}

/// A struct that keeps a session.
struct Client {
    session: TypedSession,
}

impl Client {
    fn balance(&mut self, accounts: &Table, id: i64) -> Result<Option<i64>> {
        let row = self.session.get(accounts, values![id])?;
        row.map(|row| row.get("balance")).transpose()
    }
}

#[derive(Debug)]
enum Refusal {
    Engine(Error),
    Broke { has: i64 },
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Engine(error)
    }
}

fn pay(database: &Database, accounts: &Table, sum: i64) -> Result<(), Refusal> {
    database.run(|transaction| {
        let account = transaction.get(accounts, values![1])?;
        let has = account.map_or(Ok(0), |account| account.get("balance"))?;
        if has < sum {
            return Err(Refusal::Broke { has });
        }
        credit(transaction, accounts, 1, -sum)?;
        Ok(credit(transaction, accounts, 2, sum)?)
    })
}

fn converted(int: i32, id: u64, flag: bool, text: &String, none: Option<i64>) -> [Value<'_>; 5] {
    [int.into(), id.into(), flag.into(), text.into(), none.into()]
}

fn two(database: &Database, table: &Table) -> Result<(OwnedRow, OwnedRow)> {
    database.read(|transaction| {
        let one = transaction.get(table, values![1])?.expect("it was inserted");
        let other = transaction.get(table, values![2])?.expect("it was inserted");
        Ok((one, other))
    })
}

/// The owners of the accounts, by a visitor that reads another table.
fn owners(database: &Database, accounts: &Table, people: &Table) -> Result<Vec<String>> {
    database.run(|transaction| {
        let mut owners = Vec::new();
        transaction.scan(accounts, KeyRange::ALL, Direction::Ascending, 10, |account| {
            let person = transaction.get(people, &[account.value("owner")?])?;
            owners.push(person.expect("each account has an owner").get("name")?);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(owners)
    })
}

fn tables<D: syncline_engine::Disk>(database: &Database<D>) -> Result<(Table, Table)> {
    let accounts = Schema::table("account").column("id", Kind::Int).column("owner", Kind::Int);
    let accounts = accounts.column("balance", Kind::Int).key(["id"]).build()?;
    let people = Schema::table("person").column("id", Kind::Int).column("name", Kind::Text);
    let people = people.key(["id"]).build()?;
    Ok((database.open_or_create_table(accounts)?, database.open_or_create_table(people)?))
}

#[test]
fn an_application_needs_no_workarounds() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = syncline_engine::Options::tiny();
    let database = Database::create(folder.path().join("db"), options).expect("the disk is sound");
    let (accounts, people) = tables(&database).expect("room for tables");
    let fill = database.run(|transaction| {
        transaction.insert(&people, values![7, "ada"])?;
        transaction.insert(&accounts, values![1, 7, 100])?;
        transaction.insert(&accounts, values![2, 7, 0])
    });
    fill.expect("no other transaction runs");
    pay(&database, &accounts, 30).expect("there is enough");
    let missing = database.table("missing").map_err(Refusal::from);
    assert!(matches!(missing, Err(Refusal::Engine(Error::NoSuch { .. }))));
    assert!(matches!(pay(&database, &accounts, 80), Err(Refusal::Broke { has: 70 })));
    let (one, other) = two(&database, &accounts).expect("no other transaction runs");
    let balance = |row: &OwnedRow| row.get::<i64>("balance").expect("a whole row");
    assert_eq!((balance(&one), balance(&other)), (70, 30));
    let mut client = Client { session: database.session().expect("room for a session") };
    client.session.begin(syncline_engine::Begin::ReadOnly).expect("the log is sound");
    assert_eq!(client.balance(&accounts, 2).expect("no conflict"), Some(30));
    assert_eq!(owners(&database, &accounts, &people).expect("no conflict"), ["ada", "ada"]);
    // A table of another kind of database, and one that exists with another definition.
    let other: Database<NullDisk> =
        Database::transient(syncline_engine::Options::tiny()).expect("room for a small database");
    tables(&other).expect("room for tables");
    let changed = Schema::table("person").column("id", Kind::Int).key(["id"]).build();
    let refused = database.open_or_create_table(changed.expect("the schema is right"));
    assert_eq!(
        refused.expect_err("it has another column").to_string(),
        "table person exists with the columns id, name; change it with change_table, or choose another name"
    );
}

#[test]
fn values_are_made_from_the_types_of_an_application() {
    let text = String::from("text");
    let made = converted(-1, u64::MAX, true, &text, None);
    let expected = [
        Value::Int(-1),
        Value::Unsigned(u64::MAX),
        Value::Bool(true),
        Value::Text("text"),
        Value::Null,
    ];
    assert_eq!(made, expected);
    assert_eq!(OwnedValue::from(text).as_value(), Value::Text("text"));
}
