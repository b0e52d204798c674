//! The saved record: the only types here that are ever written, versioned.
//!
//! One record is one target with one setting and one number of clients, one probe of one directory,
//! one observation of a store that others use, or one verification of a disk or a store. Every view is
//! drawn from records, so what is shown
//! can be shown again. The format is explained in `docs/record.md`, its schema is [`schema`], its
//! lines are described in `line`.
//!
//! What is not known is null, and the field beside it says why; nothing unknown is ever zero.

mod commit_path;
mod cost;
mod described;
mod figures;
mod from_cost;
mod from_head;
mod from_phase;
mod from_probe;
mod from_run;
mod identity;
mod interval;
mod judgement;
mod line;
mod looking;
mod named;
mod observation;
mod place;
mod probe;
mod read;
mod run;
mod schema;
mod setting;
mod share;
mod stacks;
mod time;
mod verification;
mod whole;
mod writer;

pub use cost::{Cost, CostRow, CostTotal, CostView, MetricCost, StoreCommits, SyncEvidence};
pub use figures::{
    Arrivals, ClientTime, CommitPathFigures, CountBase, Counted, CounterFigures, InternalFigures,
    Latency, OperationFigures, Outcomes, OwnFigure, PathFigures, PerCommit, Range, Repetition,
    TransactionFigures,
};
pub(crate) use from_cost::is_derived;
pub use from_probe::from_probe;
pub use from_run::{RunGiven, from_run, head_from_run, interval_from_run, machine_from, stacks_of};
pub use identity::{FORMAT_NAME, FORMAT_VERSION, Format, Identity};
pub use interval::Interval;
pub use judgement::{Check, Fairness, Saturation, Warning};
pub use looking::{LookingCost, LookingPair, LookingRatio};
pub use named::{all_named, named};
pub use observation::{
    ObservationBody, ObservationGiven, ObservationRecord, ObservedInterval, ObservedStore,
    from_observation,
};
pub use place::{Device, Machine, SyncLine};
pub use probe::{
    Cell, CellFigures, Fact, FlushCounts, Layer, Mode, NotRun, PlainWrite, ProbeBody, ProbeDevice,
    ProbeRecord, ReadCell, SequentialCell, Verdict,
};
pub use read::{Listed, list, read, read_all};
pub use run::{RunEnd, RunHead, RunRecord};
pub use schema::schema;
pub use setting::{
    Client, DiskSpace, OperationStatements, Plan, Setting, Statements, Target, WorkersTried,
    Workload,
};
pub use share::{REMOVED, share};
pub use stacks::{Stacks, folded_again, stacks_of_record};
pub use verification::{VerificationBody, VerificationRecord};
pub use whole::{Record, json};
pub use writer::{RUNS_FOLDER, Writer, prepare_folder};
