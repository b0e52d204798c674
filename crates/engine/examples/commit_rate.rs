//! How many commits a second tokio tasks reach, each with a session of its own: inserts, each awaited until
//! it is stable on the disk.
//!
//! `cargo run --release -p syncline-engine --example commit_rate -- 1000 5` runs 1,000 tasks for 5 seconds.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "an application reads its own clock and prints"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};
use syncline_engine::{Begin, Database, Error, Kind, Options, Result, Schema, Table, values};

/// Inserts rows until the time is over; returns their number.
async fn insert(database: Arc<Database>, rows: Table, task: u64, end: Instant) -> Result<u64> {
    let mut session = database.session()?;
    let text = "x".repeat(100);
    let mut committed = 0;
    while Instant::now() < end {
        let id = task << 40 | committed;
        let ((), ticket) = session.run(Begin::Serializable, |transaction| {
            transaction.insert(&rows, values![id, &text])
        })?;
        database.completion(ticket).await?;
        committed += 1;
    }
    Ok(committed)
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| {
        arguments.next().map_or(default, |text| text.parse().expect("tasks, then seconds"))
    };
    let (tasks, seconds): (u64, u64) = (number(64), number(3));
    let folder = tempfile::tempdir_in(".").expect("a folder for the example");
    let database = Database::create(folder.path().join("commits"), Options::default())?;
    let schema = Schema::table("row").column("id", Kind::Unsigned).column("text", Kind::Text);
    let rows = database.create_table(schema.key(["id"]).build()?)?;
    let database = Arc::new(database);
    let began = Instant::now();
    let end = began + Duration::from_secs(seconds);
    let all: Vec<_> = (0..tasks)
        .map(|task| tokio::spawn(insert(Arc::clone(&database), rows.clone(), task, end)))
        .collect();
    let mut committed = 0;
    for task in all {
        committed += task.await.expect("no task panics")?;
    }
    let rate = committed as f64 / began.elapsed().as_secs_f64();
    println!("{tasks} tasks: {rate:.0} commits/s");
    Ok(())
}
