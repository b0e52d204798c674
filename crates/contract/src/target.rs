//! A target: a store under test, from which the runner makes sessions.

use crate::capabilities::{Capabilities, Durability, Isolation};
use crate::internal::Internal;
use crate::outcome::{Failure, FailureKind};
use crate::plan::Plan;
use crate::session::Session;
use std::path::PathBuf;

/// The result of what a target does outside transactions.
pub type TargetResult<T> = Result<T, Failure>;

/// A worker's own part of a target: told when a pass of the executor over its ready clients starts
/// and when it ends. The engine holds its log back between the two, a queue commits its group.
pub trait Worker {
    /// Some clients are ready and will now run.
    fn pass_started(&self) {}

    /// Every ready client has run as far as it could.
    fn pass_ended(&self) {}
}

impl Worker for () {}

/// One setting in force, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The store's own name for it.
    pub name: String,
    /// Its value, as the store prints it.
    pub value: String,
    /// How it was read back: the statement, call or file.
    pub said_by: String,
}

/// What a store says of itself, read back from it and not assumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The product: "SQLite".
    pub product: String,
    /// Its version.
    pub version: String,
    /// The durability in force.
    pub durability: Durability,
    /// Why that word is true, in words: "synchronous=2 (FULL) read back from the connection".
    pub durability_evidence: String,
    /// The isolation in force.
    pub isolation: Isolation,
    /// Settings that bear on speed or safety.
    pub settings: Vec<Setting>,
}

/// Where the store's log goes, hence whose sync line it is judged by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogPlace {
    /// A directory of this machine.
    Directory(PathBuf),
    /// No line: the store keeps no log, or keeps it elsewhere. The reason, in words.
    Nowhere(String),
}

/// The process whose system calls are the store's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreProcess {
    /// The store is a library in this process.
    Ours,
    /// Another process of this machine, with its children.
    Other(u32),
    /// Not on this machine, or not known.
    Unknown,
}

/// A store under test.
pub trait Target: Sync {
    /// A client's connection.
    type Session: Session;

    /// A worker's own part; `()` where the store needs none.
    type Worker: Worker;

    /// The name in tables and records: "sqlite", "engine".
    fn name(&self) -> String;

    /// What it can do as opened.
    fn capabilities(&self) -> Capabilities;

    /// Where its log goes.
    fn log_place(&self) -> LogPlace;

    /// Whose system calls are counted as the store's.
    fn process(&self) -> StoreProcess {
        StoreProcess::Ours
    }

    /// Writes that were syncs themselves (to a file opened with `O_DSYNC`, or by io_uring), by the
    /// store's own count since it was opened; none if it keeps no such count. Sync system calls are
    /// counted from outside and do not belong here.
    fn synced_writes(&self) -> Option<u64> {
        None
    }

    /// What it counts and times inside itself, since it was opened; nothing if it does not.
    fn internals(&self) -> Vec<Internal> {
        Vec::new()
    }

    /// Makes the plan's tables, empty; refuses what is there and is not ours.
    async fn create(&self, plan: &Plan) -> TargetResult<()>;

    /// Opens the plan's tables as an earlier run has left them, in place of [`Target::create`]; refuses
    /// others. `false` if there are none. Needs [`Capabilities::reopens`].
    async fn reopen(&self, _plan: &Plan) -> TargetResult<bool> {
        let what = format!("{} cannot be opened again", self.name());
        Err(Failure::new(FailureKind::Limit, what))
    }

    /// Lets go of what it made or opened, so that [`Target::remove`] and the end of the target leave it
    /// for a later run. Needs [`Capabilities::reopens`].
    async fn keep(&self) -> TargetResult<()> {
        let what = format!("{} cannot be kept", self.name());
        Err(Failure::new(FailureKind::Limit, what))
    }

    /// What the store's own check of its files finds wrong, a sentence each; nothing if they are whole.
    /// None where it offers no such check. Asked of an open store in which nothing runs.
    async fn self_check(&self) -> TargetResult<Option<Vec<String>>> {
        Ok(None)
    }

    /// What it says of itself, after [`Target::create`].
    async fn evidence(&self) -> TargetResult<Evidence>;

    /// Makes a worker's own part, on that worker's thread.
    fn worker(&self) -> TargetResult<Self::Worker>;

    /// Opens a session and prepares every operation of the plan, on the worker's thread.
    async fn connect(&self, plan: &Plan, worker: &Self::Worker) -> TargetResult<Self::Session>;

    /// Removes what [`Target::create`] made. Safe to call twice, and after a failed `create`.
    async fn remove(&self) -> TargetResult<()>;
}
