//! The side of the child: a process that can be killed, can crash and can hang without us.

use super::child_protocol::{Answer, ChildReport, Seen, Settings, Task};
use super::list_tasks;
use super::transaction_load::Work;
use std::fs::File;
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;
use syncline_contract::conformance::block_on;
use syncline_contract::{Plan, ReportedSettings, Session, Stop, Target};
use syncline_instrument::clock;
use syncline_stores::AnyTarget;

/// Performs the tasks that stand on standard input, one after another, and answers each on standard
/// output. For the program that starts itself; nobody else calls it.
pub fn child() -> ExitCode {
    let mut output = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else {
            return ExitCode::FAILURE;
        };
        let Ok(task) = serde_json::from_str::<Task>(&line) else {
            return ExitCode::FAILURE;
        };
        let answer = perform(&task);
        let told = serde_json::to_writer(&mut output, &answer)
            .map_err(std::io::Error::from)
            .and_then(|()| output.write_all(b"\n"))
            .and_then(|()| output.flush());
        if told.is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn perform(task: &Task) -> Answer {
    let done = match task {
        Task::Prepare { url, clients, ballast } => prepare(url, *clients, *ballast),
        Task::Work { url, clients, acknowledgements } => work(url, *clients, acknowledgements),
        Task::MakeLists { url } => list_tasks::make(url),
        Task::Append { url, clients, seed, history } => {
            list_tasks::append(url, *clients as usize, *seed, history)
        }
        Task::ReadLists { url, keys } => list_tasks::read(url, *keys),
        Task::Look { url, clients } => look(url, *clients),
    };
    done.unwrap_or_else(Answer::NotOpened)
}

fn prepare(url: &str, clients: i64, ballast: i64) -> Result<Answer, String> {
    let (work, target) = (Work::new(), open(url)?);
    let worker = target.worker().map_err(words)?;
    block_on(&worker, async {
        target.create(&work.plan).await.map_err(words)?;
        let mut session = target.connect(&work.plan, &worker).await.map_err(words)?;
        work.begin(&mut session, clients).await.map_err(stopped)?;
        work.load(&mut session, ballast).await.map_err(stopped)?;
        drop(session);
        let said = target.evidence().await.map_err(words)?;
        target.keep().await.map_err(words)?;
        Ok(Answer::Prepared(settings(said)))
    })
}

/// What a store says of itself.
pub(super) fn settings(said: ReportedSettings) -> Settings {
    Settings {
        product: said.product,
        version: said.version,
        durability: said.durability.word().to_owned(),
        evidence: said.durability_evidence,
        isolation: said.isolation.words().to_owned(),
    }
}

fn work(url: &str, clients: i64, acknowledgements: &Path) -> Result<Answer, String> {
    let work = Work::new();
    let target = reopen(url, &work.plan)?;
    let stops = thread::scope(|scope| {
        let client = |number| {
            let (work, target) = (&work, &target);
            scope.spawn(move || one_client(work, target, number, acknowledgements))
        };
        let clients: Vec<_> = (0..clients).map(client).collect();
        let ends = clients.into_iter().map(thread::ScopedJoinHandle::join);
        ends.map(|end| end.unwrap_or_else(|_| Err("a client panicked".to_owned())))
            .collect::<Vec<_>>()
    });
    let first = stops.into_iter().find_map(Result::err);
    Ok(Answer::Stopped(first.unwrap_or_default()))
}

/// Goes on behind what the client's tally says, until something fails.
fn one_client(
    work: &Work,
    target: &AnyTarget,
    client: i64,
    acknowledgements: &Path,
) -> Result<(), String> {
    let file = File::options().append(true).create(true).open(acknowledgements);
    let mut file = file.map_err(|error| format!("cannot open the acknowledgements: {error}"))?;
    let worker = target.worker().map_err(words)?;
    block_on(&worker, async {
        let connected = target.connect(&work.plan, &worker).await;
        let mut session = connected.map_err(words)?;
        let mut number = work.commits(&mut session, client).await.map_err(stopped)?;
        loop {
            match work.perform(&mut session, client, number).await {
                Ok(()) => {
                    let at = clock::now();
                    let heard = ChildReport { client, number, at };
                    let told = file.write_all(&heard.bytes());
                    told.map_err(|error| format!("cannot acknowledge: {error}"))?;
                    number += 1;
                }
                Err(Stop::Conflict(_) | Stop::Abort) => session.abort().await,
                // Whether it committed may be unknown, so nothing comes after it.
                Err(stop @ (Stop::Failed(_) | Stop::Unknown(_))) => {
                    session.abort().await;
                    return Err(stopped(stop));
                }
            }
        }
    })
}

fn look(url: &str, clients: i64) -> Result<Answer, String> {
    let work = Work::new();
    let target = reopen(url, &work.plan)?;
    let worker = target.worker().map_err(words)?;
    Ok(block_on(&worker, async {
        match see(&work, &target, &worker, clients).await {
            Ok(seen) => Answer::Seen(seen),
            Err(why) => Answer::Unreadable(why),
        }
    }))
}

async fn see<T: Target>(
    work: &Work,
    target: &T,
    worker: &T::Worker,
    clients: i64,
) -> Result<Seen, String> {
    let mut session = target.connect(&work.plan, worker).await.map_err(words)?;
    let mut seen = Seen { clients: Vec::new(), damage: None };
    for client in 0..clients {
        let state = work.look(&mut session, client).await.map_err(stopped)?;
        seen.clients.push(state);
    }
    drop(session);
    seen.damage = target.self_check().await.map_err(words)?;
    Ok(seen)
}

pub(super) fn open(url: &str) -> Result<AnyTarget, String> {
    AnyTarget::open(url).map_err(words)
}

/// Opens the store that is there. A store that is being closed by a process just killed may hold its
/// lock for a moment.
pub(super) fn reopen(url: &str, plan: &Plan) -> Result<AnyTarget, String> {
    let target = open(url)?;
    for tries_left in (0..20).rev() {
        match block_on(&(), target.reopen(plan)) {
            Ok(true) => break,
            Ok(false) => return Err("there is no store left".to_owned()),
            Err(failure) if tries_left == 0 || !failure.what.contains("in use") => {
                return Err(words(failure));
            }
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    }
    Ok(target)
}

pub(super) fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

pub(super) fn stopped(stop: Stop) -> String {
    match stop {
        Stop::Abort => "it aborted by itself".to_owned(),
        Stop::Conflict(cause) => format!("a conflict: {}", cause.name()),
        Stop::Failed(failure) | Stop::Unknown(failure) => failure.what,
    }
}
