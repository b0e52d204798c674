//! The child's side: a process that can be killed, crash or hang without harming the parent.

use super::child_protocol::{Answer, ChildReport, Settings, StoreState, Task};
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

/// Performs tasks from standard input, one after another, and answers each on standard output. Called only by
/// this program when it starts itself as a child.
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
        let written = serde_json::to_writer(&mut output, &answer)
            .map_err(std::io::Error::from)
            .and_then(|()| output.write_all(b"\n"))
            .and_then(|()| output.flush());
        if written.is_err() {
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
        Task::Inspect { url, clients } => inspect(url, *clients),
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
        let reported = target.reported_settings().await.map_err(words)?;
        target.keep().await.map_err(words)?;
        Ok(Answer::Prepared(settings(reported)))
    })
}

/// The settings that a store reports.
pub(super) fn settings(reported: ReportedSettings) -> Settings {
    Settings {
        product: reported.product,
        version: reported.version,
        durability: reported.durability.word().to_owned(),
        evidence: reported.durability_evidence,
        isolation: reported.isolation.words().to_owned(),
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

/// Continues after the client's tally until a call fails.
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
                    let report = ChildReport { client, number, at };
                    let written = file.write_all(&report.bytes());
                    written.map_err(|error| format!("cannot acknowledge: {error}"))?;
                    number += 1;
                }
                Err(Stop::Conflict(_) | Stop::Abort) => session.abort().await,
                // It may have committed, so the client stops here.
                Err(stop @ (Stop::Failed(_) | Stop::Unknown(_))) => {
                    session.abort().await;
                    return Err(stopped(stop));
                }
            }
        }
    })
}

fn inspect(url: &str, clients: i64) -> Result<Answer, String> {
    let work = Work::new();
    let target = reopen(url, &work.plan)?;
    let worker = target.worker().map_err(words)?;
    Ok(block_on(&worker, async {
        match read_back(&work, &target, &worker, clients).await {
            Ok(state) => Answer::StoreState(state),
            Err(why) => Answer::Unreadable(why),
        }
    }))
}

async fn read_back<T: Target>(
    work: &Work,
    target: &T,
    worker: &T::Worker,
    clients: i64,
) -> Result<StoreState, String> {
    let mut session = target.connect(&work.plan, worker).await.map_err(words)?;
    let mut state = StoreState { clients: Vec::new(), damage: None };
    for client in 0..clients {
        let client_state = work.read_back(&mut session, client).await.map_err(stopped)?;
        state.clients.push(client_state);
    }
    drop(session);
    state.damage = target.self_check().await.map_err(words)?;
    Ok(state)
}

pub(super) fn open(url: &str) -> Result<AnyTarget, String> {
    AnyTarget::open(url).map_err(words)
}

/// Opens an existing store. A store whose process was just killed may keep its lock for a moment.
pub(super) fn reopen(url: &str, plan: &Plan) -> Result<AnyTarget, String> {
    let target = open(url)?;
    for tries_left in (0..20).rev() {
        match block_on(&(), target.reopen(plan)) {
            Ok(true) => break,
            Ok(false) => return Err("the store no longer exists".to_owned()),
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
        Stop::Abort => "the transaction aborted by itself".to_owned(),
        Stop::Conflict(cause) => format!("a conflict: {}", cause.name()),
        Stop::Failed(failure) | Stop::Unknown(failure) => failure.what,
    }
}
