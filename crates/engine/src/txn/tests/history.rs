//! A history records the calls and answers of transactions, and is checked for correctness.
//!
//! The check replays the commits in the order of their numbers, one after another, on a plain map. Every
//! recorded answer must then be the one that the transaction would get alone.

use super::fixture::{Store, TestSession, append, scan};
use crate::error::{Error, Result};
use crate::ids::Csn;
use crate::txn::scan::{Direction, Scan};
use crate::txn::{Begin, Savepoint};
use std::collections::BTreeMap;
use std::ops::Bound;

/// The rows of the first tree by key.
pub(super) type State = BTreeMap<u8, Vec<u8>>;

/// A call of a transaction. Values are distinct, so that each can be recognized.
#[derive(Clone, Debug)]
pub(super) enum Request {
    Get(u8),
    Put(u8, Vec<u8>),
    Insert(u8, Vec<u8>),
    Update(u8, Vec<u8>),
    Delete(u8),
    Patch(u8, Vec<u8>),
    Scan { range: (u8, u8), direction: Direction, limit: usize },
    Savepoint,
    Rollback,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Nothing,
    Row(Option<Vec<u8>>),
    Rows(Vec<(u8, Vec<u8>)>),
    /// The rows refuse the write at once.
    Refused,
}

/// How a transaction ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    Committed(Csn),
    /// Without writes, at its read point.
    Read,
    Refused,
    Conflict,
}

/// One transaction, from begin to end.
#[derive(Clone, Debug)]
pub(super) struct FinishedTransaction {
    pub(super) begin: Begin,
    pub(super) events: Vec<(Request, Answer)>,
    pub(super) read_point: Csn,
    pub(super) end: End,
}

/// Runs a transaction that has begun, to its end.
pub(super) fn perform(
    store: &Store,
    session: &mut TestSession,
    begin: Begin,
    script: &[Request],
) -> FinishedTransaction {
    let mut past = FinishedTransaction {
        begin,
        events: Vec::new(),
        read_point: session.read_point(),
        end: End::Read,
    };
    let mut savepoints = Vec::new();
    let mut writes = false;
    for action in script {
        writes |= !matches!(
            action,
            Request::Get(_) | Request::Scan { .. } | Request::Savepoint | Request::Rollback
        );
        let answer = match act(store, session, &mut savepoints, action) {
            Ok(answer) => answer,
            Err(Error::Conflict(_)) => {
                session.abort();
                past.end = End::Conflict;
                return past;
            }
            Err(_) => Answer::Refused,
        };
        past.read_point = session.read_point();
        past.events.push((action.clone(), answer));
    }
    past.end = match session.commit() {
        Ok(ticket) if writes && ticket.csn > past.read_point => End::Committed(ticket.csn),
        Ok(_) => End::Read,
        Err(Error::Conflict(_)) => End::Conflict,
        Err(Error::Duplicate { .. } | Error::Absent { .. } | Error::Patch { .. }) => End::Refused,
        Err(error) => panic!("{error}"),
    };
    past
}

fn act(
    store: &Store,
    session: &mut TestSession,
    savepoints: &mut Vec<Savepoint>,
    action: &Request,
) -> Result<Answer> {
    let tree = &store.tree;
    match action {
        Request::Get(key) => {
            return Ok(Answer::Row(session.get(tree, &[*key])?.map(<[u8]>::to_vec)));
        }
        Request::Put(key, value) => session.put(tree, &[*key], value)?,
        Request::Insert(key, value) => session.insert(tree, &[*key], value)?,
        Request::Update(key, value) => session.update(tree, &[*key], value)?,
        Request::Delete(key) => session.delete(tree, &[*key])?,
        Request::Patch(key, value) => session.patch(tree, &[*key], append, value)?,
        Request::Scan { range: (from, to), direction, limit } => {
            let range = Scan {
                lower: Bound::Included(&[*from]),
                upper: Bound::Excluded(&[*to]),
                direction: *direction,
                limit: *limit,
            };
            let rows = scan(session, tree, range)?;
            let rows = rows.into_iter().map(|(key, value)| (key[0], value));
            return Ok(Answer::Rows(rows.collect()));
        }
        Request::Savepoint => savepoints.push(session.savepoint()),
        Request::Rollback => {
            if let Some(savepoint) = savepoints.pop() {
                session.rollback_to(savepoint);
            }
        }
    }
    Ok(Answer::Nothing)
}

/// The result of a replay.
struct Replayed {
    state: State,
    /// A write was refused by the rows.
    is_refused: bool,
    /// The first difference from a recorded answer.
    mismatch: Option<String>,
}

/// Replays a transaction alone on `state`.
fn replay(past: &FinishedTransaction, state: &State) -> Replayed {
    let mut now = Replayed { state: state.clone(), is_refused: false, mismatch: None };
    let mut saved: Vec<(State, bool)> = Vec::new();
    for (action, answer) in &past.events {
        if *answer == Answer::Refused {
            // The transaction's own writes caused it, and it changed nothing.
            continue;
        }
        let expected = match action {
            Request::Get(key) => Answer::Row(now.state.get(key).cloned()),
            Request::Scan { range: (from, to), direction, limit } => {
                let rows = now.state.range(from..to).map(|(key, value)| (*key, value.clone()));
                Answer::Rows(match direction {
                    Direction::Ascending => rows.take(*limit).collect(),
                    Direction::Descending => rows.rev().take(*limit).collect(),
                })
            }
            Request::Savepoint => {
                saved.push((now.state.clone(), now.is_refused));
                Answer::Nothing
            }
            Request::Rollback => {
                if let Some(before) = saved.pop() {
                    (now.state, now.is_refused) = before;
                }
                Answer::Nothing
            }
            write => {
                now.is_refused |= !apply(write, &mut now.state);
                Answer::Nothing
            }
        };
        // After a write that will be refused, answers describe a state that will not exist.
        if expected != *answer && !now.is_refused && now.mismatch.is_none() {
            now.mismatch =
                Some(format!("{action:?} was answered with {answer:?}, not {expected:?}"));
        }
    }
    now
}

/// Applies a write; false if the rows refuse it.
fn apply(write: &Request, state: &mut State) -> bool {
    match write {
        Request::Put(key, value) => {
            state.insert(*key, value.clone());
            true
        }
        Request::Insert(key, value) => state.insert(*key, value.clone()).is_none(),
        Request::Update(key, value) => state.insert(*key, value.clone()).is_some(),
        Request::Delete(key) => state.remove(key).is_some(),
        Request::Patch(key, value) => {
            let Some(row) = state.get_mut(key) else {
                return false;
            };
            let mut new = Vec::new();
            let fits = append(value, row, &mut new).is_ok();
            if fits {
                *row = new;
            }
            fits
        }
        Request::Get(_) | Request::Scan { .. } | Request::Savepoint | Request::Rollback => true,
    }
}

/// Checks a history that ended with the rows `last`. `known` are earlier states, each from some commit on;
/// the last of them is the state at the start. Returns the first problem.
pub(super) fn check(
    pasts: &[FinishedTransaction],
    known: &[(Csn, State)],
    last: &State,
) -> std::result::Result<(), String> {
    let committed = |past: &&FinishedTransaction| match past.end {
        End::Committed(csn) => Some(csn),
        _ => None,
    };
    let mut commits: Vec<&FinishedTransaction> =
        pasts.iter().filter(|past| committed(past).is_some()).collect();
    commits.sort_by_key(|past| committed(past));
    // The state after each commit, by its number.
    let mut states = known.to_vec();
    for past in &commits {
        let csn = committed(past).unwrap_or_default();
        let before = &states[states.len() - 1].1;
        let replayed = replay(past, before);
        if replayed.is_refused {
            return Err(format!("{csn} should have been refused: {past:?} on {before:?}"));
        }
        if past.begin == Begin::Serializable
            && let Some(mismatch) = replayed.mismatch
        {
            return Err(format!("{csn} does not fit into the order: {mismatch}; {past:?}"));
        }
        states.push((csn, replayed.state));
    }
    let at = |point: Csn| {
        let behind = states.partition_point(|(csn, _)| *csn <= point);
        &states[behind - 1].1
    };
    for past in pasts {
        let replayed = replay(past, at(past.read_point));
        if let Some(mismatch) = replayed.mismatch {
            return Err(format!("no such state at its read point: {mismatch}; {past:?}"));
        }
        if past.end == End::Refused {
            let fits = |state: &State| {
                let replayed = replay(past, state);
                let reads_fit = past.begin == Begin::Snapshot || replayed.mismatch.is_none();
                replayed.is_refused && reads_fit
            };
            if !states.iter().any(|(csn, state)| *csn >= past.read_point && fits(state))
                && !fits(at(past.read_point))
            {
                return Err(format!("it was refused without a reason: {past:?}"));
            }
        }
    }
    if states[states.len() - 1].1 != *last {
        return Err(format!(
            "the rows at the end are {last:?}, not {:?}",
            states[states.len() - 1].1
        ));
    }
    Ok(())
}
