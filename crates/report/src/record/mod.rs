//! The saved record: the only types here that are ever written, versioned.
//!
//! One record is one target with one setting and one number of clients, one probe of one directory,
//! one observation of a store that others use, or one verification of a disk or a store. Every view is
//! drawn from records, so what is shown
//! can be shown again. The format is explained in `docs/record.md`, its schema is [`schema`], its
//! lines are described in `line`.
//!
//! What is not known is null, and the field beside it says why; nothing unknown is ever zero.

mod any_record;
mod assessment;
mod commit_path;
mod configuration;
mod cost;
mod environment;
mod figures;
mod from_cost;
mod from_head;
mod from_phase;
mod from_probe;
mod from_run;
mod identity;
mod interval;
mod json_lines;
mod observation;
mod probe;
mod profiler_overhead;
mod read;
mod record_paths;
mod redaction;
mod run;
mod schema;
mod schema_macro;
mod stacks;
mod time;
mod verification;
mod writer;

pub use any_record::{Record, json};
pub use assessment::{Check, Fairness, Saturation, Warning};
pub use configuration::{
    Client, DiskSpace, OperationStatements, Plan, Setting, Statements, Target, WorkersTried,
    Workload,
};
pub use cost::{Cost, CostRow, CostTotal, CostView, MetricCost, StoreCommits, SyncEvidence};
pub use environment::{Device, Machine, SyncLine};
pub use figures::{
    Arrivals, ClientTime, CommitPathFigures, CountBase, Counted, CounterFigures, InternalFigures,
    Latency, OperationFigures, Outcomes, OwnFigure, PathFigures, PerCommit, Range, Repetition,
    TransactionFigures,
};
pub(crate) use from_cost::is_derived;
pub use from_probe::from_probe;
pub use from_run::{
    RunInputs, from_run, head_from_run, interval_from_run, machine_from, stacks_of,
};
pub use identity::{FORMAT_NAME, FORMAT_VERSION, Format, Identity};
pub use interval::Interval;
pub use observation::{
    ObservationBody, ObservationInputs, ObservationRecord, ObservedInterval, ObservedStore,
    from_observation,
};
pub use probe::{
    Cell, CellFigures, Fact, FlushCounts, Layer, Mode, NotRun, PlainWrite, ProbeBody, ProbeDevice,
    ProbeRecord, ReadCell, SequentialCell, Verdict,
};
pub use profiler_overhead::{LookingCost, LookingPair, LookingRatio};
pub use read::{Listed, list, read, read_all};
pub use record_paths::{all_named, named};
pub use redaction::{REMOVED, share};
pub use run::{RunEnd, RunHead, RunRecord};
pub use schema::schema;
pub use stacks::{Stacks, refold, stacks_of_record};
pub use verification::{VerificationBody, VerificationRecord};
pub use writer::{RUNS_FOLDER, Writer, prepare_folder};
