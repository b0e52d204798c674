//! A queue of jobs under 8 threads: each takes the first job that waits, does it, and marks it done, exactly
//! once even if threads fail in between.
//!
//! `cargo run --release -p syncline-engine --example job_queue`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::thread;
use syncline_engine::{Change, Database, KeyRange, Kind, Options, Result, Schema, asc, values};

const JOBS: i64 = 2_000;
const THREADS: i64 = 8;

const WAITING: i64 = 0;
const TAKEN: i64 = 1;
const DONE: i64 = 2;

/// Takes the most urgent job that waits; none if no job does. Two threads that choose the same one conflict,
/// and one of them runs again.
fn take(database: &Database, worker: i64) -> Result<Option<i64>> {
    let jobs = database.table("job")?;
    database.run(|transaction| {
        let waiting = values![WAITING];
        let Some(job) = transaction.first(jobs.by("by_state")?, KeyRange::prefix(waiting))? else {
            return Ok(None);
        };
        let id = job.get("id")?;
        let changes = [Change::set("state", TAKEN), Change::set("worker", worker)];
        transaction.update(&jobs, values![id], &changes)?;
        Ok(Some(id))
    })
}

fn finish(database: &Database, id: i64, result: &str) -> Result<()> {
    let (jobs, results) = (database.table("job")?, database.table("result")?);
    database.run(|transaction| {
        transaction.update(&jobs, values![id], &[Change::set("state", DONE)])?;
        transaction.insert(&results, values![id, result])
    })
}

/// Gives the jobs that a failed worker had taken back to the queue.
fn give_back(database: &Database, worker: i64) -> Result<u64> {
    let jobs = database.table("job")?;
    database.run(|transaction| {
        let mut given_back = 0;
        for job in transaction.rows(jobs.by("by_state")?, KeyRange::prefix(values![TAKEN]))? {
            let job = job?;
            if job.get::<Option<i64>>("worker")? == Some(worker) {
                let changes = [Change::set("state", WAITING), Change::set("worker", None::<i64>)];
                transaction.update(&jobs, values![job.get::<i64>("id")?], &changes)?;
                given_back += 1;
            }
        }
        Ok(given_back)
    })
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder for the example");
    let database = Database::create(folder.path().join("jobs"), Options::default())?;
    let jobs = Schema::table("job")
        .column("id", Kind::Int)
        .column("state", Kind::Int)
        .column("priority", Kind::Int)
        .nullable("worker", Kind::Int)
        .key(["id"])
        .index("by_state", [asc("state"), asc("priority"), asc("id")]);
    let jobs = database.create_table(jobs.build()?)?;
    let results = Schema::table("result").column("job", Kind::Int).column("text", Kind::Text);
    let results = database.create_table(results.key(["job"]).build()?)?;
    database.run(|transaction| {
        (0..JOBS).try_for_each(|id| {
            transaction.insert(&jobs, values![id, WAITING, id % 10, None::<i64>])
        })
    })?;

    let work = |worker: i64| -> Result<u64> {
        let mut done = 0;
        while let Some(id) = take(&database, worker)? {
            // Every worker fails once, and its job goes back to the queue.
            if done == 20 {
                assert_eq!(give_back(&database, worker)?, 1);
            } else {
                finish(&database, id, &format!("job {id} by worker {worker}"))?;
            }
            done += 1;
        }
        Ok(done)
    };
    let taken: u64 = thread::scope(|scope| {
        let workers: Vec<_> =
            (0..THREADS).map(|worker| scope.spawn(move || work(worker))).collect();
        let done = workers.into_iter().map(|worker| worker.join().expect("no worker panics"));
        done.sum::<Result<u64>>()
    })?;
    let done = database.read(|transaction| {
        let done = values![DONE];
        let done = transaction.count(jobs.by("by_state")?, KeyRange::prefix(done))?;
        assert_eq!(done, JOBS as u64);
        transaction.count(&results, KeyRange::ALL)
    })?;
    println!("{taken} jobs taken, {done} done, each of them once");
    Ok(())
}
