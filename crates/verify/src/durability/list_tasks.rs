//! The child's tasks for lists: make them, append until killed, and read them after recovery.

use super::child_main::{open, reopen, settings, stopped, words};
use super::child_protocol::Answer;
use crate::isolation::{self, FileLog, Lists, Load};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use syncline_contract::Target;
use syncline_contract::conformance::block_on;

/// Makes the table of lists, empty.
pub(super) fn make(url: &str) -> Result<Answer, String> {
    let (lists, target) = (Lists::new(), open(url)?);
    let worker = target.worker().map_err(words)?;
    block_on(&worker, async {
        target.create(&lists.plan).await.map_err(words)?;
        let reported = target.reported_settings().await.map_err(words)?;
        target.keep().await.map_err(words)?;
        Ok(Answer::Prepared(settings(reported)))
    })
}

/// Appends and reads until a call fails; each event is written before the next operation begins.
pub(super) fn append(
    url: &str,
    clients: usize,
    seed: u64,
    history: &Path,
) -> Result<Answer, String> {
    let lists = Lists::new();
    let target = reopen(url, &lists.plan)?;
    let file = File::options().append(true).create(true).open(history);
    let file = file.map_err(|error| format!("cannot open the history: {error}"))?;
    let load = Load { transactions: usize::MAX, clients, seed };
    let never = AtomicBool::new(false);
    let ended = isolation::append(&target, &lists, &FileLog::to(file), load, &never, &|_| {});
    Ok(Answer::Stopped(ended.err().map(words).unwrap_or_default()))
}

/// Reads the lists of all keys below `keys`, in one transaction.
pub(super) fn read(url: &str, keys: i64) -> Result<Answer, String> {
    let lists = Lists::new();
    let target = reopen(url, &lists.plan)?;
    let worker = target.worker().map_err(words)?;
    Ok(block_on(&worker, async {
        let connected = target.connect(&lists.plan, &worker).await;
        let mut session = match connected {
            Ok(session) => session,
            Err(why) => return Answer::Unreadable(words(why)),
        };
        match lists.read_all(&mut session, keys).await {
            Ok(all) => Answer::Lists(all),
            Err(stop) => Answer::Unreadable(stopped(stop)),
        }
    }))
}
