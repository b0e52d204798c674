//! A ledger under 500 tasks on tokio: each transfer is one serializable transaction, and its commit is
//! awaited, so that two threads carry all the tasks and the log writes many commits at once.
//!
//! `cargo run --release -p syncline-engine --example ledger`

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "an application reads its own clock and prints"
)]

use std::time::Instant;
use syncline_engine::{Change, Database, Error, KeyRange, Kind, Options, Schema, values};

const ACCOUNTS: i64 = 1_000;
const TASKS: i64 = 500;
const TRANSFERS_PER_TASK: i64 = 20;

/// Why a transfer was not made.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("the account has only {0}")]
    NotEnough(i64),
    #[error(transparent)]
    Engine(#[from] Error),
}

async fn transfer(database: &Database, from: i64, to: i64, sum: i64) -> Result<(), Refusal> {
    let (accounts, entries) = (database.table("account")?, database.table("entry")?);
    database
        .run_async(|transaction| {
            let payer = transaction.get(&accounts, values![from])?.expect("each account was made");
            let balance = payer.get("balance")?;
            if balance < sum {
                return Err(Refusal::NotEnough(balance));
            }
            transaction.update(&accounts, values![from], &[Change::add("balance", -sum)])?;
            transaction.update(&accounts, values![to], &[Change::add("balance", sum)])?;
            for (account, sum) in [(from, -sum), (to, sum)] {
                let last = transaction.last(&entries, KeyRange::prefix(values![account]))?;
                let number = last.map_or(Ok(0), |last| last.get::<i64>("number"))? + 1;
                transaction.insert(&entries, values![account, number, sum])?;
            }
            Ok(())
        })
        .await
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Refusal> {
    let folder = tempfile::tempdir().expect("a folder for the example");
    let database = Database::create(folder.path().join("ledger"), Options::default())?;
    let accounts = Schema::table("account").column("id", Kind::Int).column("balance", Kind::Int);
    let accounts = database.create_table(accounts.key(["id"]).build()?)?;
    let entries = Schema::table("entry")
        .column("account", Kind::Int)
        .column("number", Kind::Int)
        .column("sum", Kind::Int)
        .key(["account", "number"]);
    let entries = database.create_table(entries.build()?)?;
    database.run(|transaction| {
        (0..ACCOUNTS).try_for_each(|id| transaction.insert(&accounts, values![id, 100]))
    })?;

    let database = std::sync::Arc::new(database);
    let began = Instant::now();
    let tasks = (0..TASKS).map(|task| {
        let database = database.clone();
        tokio::spawn(async move {
            let mut refused = 0;
            for step in 0..TRANSFERS_PER_TASK {
                let from = (task * 7 + step * 13) % ACCOUNTS;
                match transfer(&database, from, (from + 1 + step) % ACCOUNTS, 30).await {
                    Ok(()) => {}
                    Err(Refusal::NotEnough(_)) => refused += 1,
                    Err(failure) => return Err(failure),
                }
            }
            Ok(refused)
        })
    });
    let mut refused = 0;
    for task in tasks.collect::<Vec<_>>() {
        refused += task.await.expect("no task panics")?;
    }
    let transfers = TASKS * TRANSFERS_PER_TASK - refused;
    let rate = transfers as f64 / began.elapsed().as_secs_f64();
    println!("{transfers} transfers, {refused} refused for lack of money, {rate:.0} transfers/s");

    let (sum, entries) = database.read(|transaction| -> Result<_, Error> {
        let mut sum = 0;
        for account in transaction.rows(&accounts, KeyRange::ALL)? {
            let account = account?;
            let id = values![account.get::<i64>("id")?];
            let mut balance = 100;
            for entry in transaction.rows(&entries, KeyRange::prefix(id))? {
                balance += entry?.get::<i64>("sum")?;
            }
            assert_eq!(balance, account.get::<i64>("balance")?, "of {account:?}");
            sum += balance;
        }
        Ok((sum, transaction.count(&entries, KeyRange::ALL)?))
    })?;
    assert_eq!((sum, entries), (100 * ACCOUNTS, 2 * transfers as u64));
    println!("every balance is the sum of its entries; {entries} entries");
    Ok(())
}
