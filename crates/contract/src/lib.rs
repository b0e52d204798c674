//! The interface between workloads and stores.
//!
//! With it, M stores and N workloads need M + N programs instead of M x N:
//!
//! - a [`Workload`] declares a [`Plan`]: tables, and prepared operations as data behind typed handles
//!   ([`Read`], [`Write`]); its [`Client`]s draw transactions and perform them on a [`Transaction`],
//!   which can read and write, but not commit;
//! - a [`Target`] makes [`Session`]s, each of which prepares the plan's operations for its store once, and
//!   returns [`Rows`]; its abilities are data ([`Capabilities`]); a store of keys and values only needs
//!   to implement [`KeyValue`], and [`KeyValueTarget`] does the rest;
//! - how a transaction ends is data too: committed, or a [`Stop`].
//!
//! This crate knows no store, workload, thread or terminal. [`conformance`] is the suite that every target
//! must pass.
//!
//! | file | what it holds |
//! |---|---|
//! | `workload.rs`, `plan.rs`, `operation.rs` | workloads and clients; a plan; its operations as data |
//! | `schema.rs`, `value.rs`, `fields.rs`, `rows.rs` | tables and columns; values; typed rows; answers |
//! | `transaction.rs`, `session.rs`, `outcome.rs`, `pause.rs` | the workload's view of a session; a session; how a transaction ends; a pause inside one |
//! | `target.rs`, `capabilities.rs`, `protocol.rs` | a store under test; its abilities; how user statements reach a server |
//! | `dry_run_plan.rs`, `user_view.rs`, `observation.rs` | what a target would do; what a user's session sees; one observation of a running store |
//! | `counter.rs`, `internal.rs`, `commit_path.rs` | a store's own counters; its internal counts and times; the steps of a commit |
//! | `options.rs`, `option_table.rs`, `named_file.rs`, `percent_encoding.rs` | options as given; the macros that declare them; files that users name; encoding in URLs |
//! | `key_value/` | the adapter for stores of keys and values |
//! | `conformance/` | the suite that every target must pass |
//! | `queue.rs` | a queue in reused memory |

#![allow(
    async_fn_in_trait,
    reason = "sessions never leave their thread, so futures need no Send bound"
)]

mod capabilities;
mod commit_path;
pub mod conformance;
mod counter;
mod dry_run_plan;
mod fields;
mod internal;
pub mod key_value;
mod named_file;
mod observation;
mod operation;
mod option_table;
mod options;
mod outcome;
mod pause;
mod percent_encoding;
mod plan;
mod protocol;
mod queue;
mod rows;
mod schema;
mod session;
mod target;
mod transaction;
mod user_view;
mod value;
mod workload;

pub use capabilities::{Capabilities, ClientModel, Durability, Isolation};
pub use commit_path::{CommitPath, CommitPaths};
pub use counter::{Counter, CounterUnit, Meaning};
pub use dry_run_plan::{DryRunPlan, PlannedOperation};
pub use fields::{
    Any, Bytes, Exact, Field, Fields, Float, Int, Many, Nullable, Several, Text, Timestamp,
};
pub use internal::{Internal, TIME_CLASSES};
pub use key_value::{KeyValue, KeyValueTarget};
pub use named_file::{read_named, read_named_text};
pub use observation::StoreObservation;
pub use operation::{
    Action, Aggregate, By, Limit, Lock, Operation, OperationId, Order, Path, Range, Set, Side,
};
pub use option_table::{OnOrOff, OptionForm, OptionNumber, YesOrNo};
pub use options::{OptionArgs, OptionError, OptionListing};
pub use outcome::{Cause, Ending, Failure, FailureKind, Stop};
pub use pause::Timer;
pub use percent_encoding::{decoded, encoded};
pub use plan::{Plan, Read, Scan, Write};
pub use protocol::Protocol;
pub use queue::Queue;
pub use rows::{Replies, Row, Rows};
pub use schema::{Column, ColumnId, Index, IndexId, KeyGivenBy, Name, Table, TableId};
pub use session::{AccessPattern, AnsweredWrite, Session};
pub use target::{
    LogLocation, LogSegments, ReportedSettings, Setting, StoreProcess, Target, TargetResult, Worker,
};
pub use transaction::{RequestTracker, Transaction};
pub use user_view::UserView;
pub use value::{Decimal, Kind, Value};
pub use workload::{
    Check, CheckOutcome, Client, Counts, Load, OwnFigure, ResponseBound, Unit, Waits, Workload,
};
