//! Load generation and accounting: one target, one workload, one plan, one result.
//!
//! [`run`] takes a store through all phases of a run: preflight check, create, load, connect, warm up,
//! measure, drain, check, remove. It can also start from rows that several runs share and keep them. The
//! calling thread coordinates and samples; worker threads drive the clients, each of which is a future on
//! its worker's own executor. [`repeat`] runs several cases, interleaved if the caller wants that.
//!
//! This crate prints nothing and knows no store or workload by name. Whatever a store does is a result; an
//! [`Error`] means that there is no result. [`record`] turns a result into the saved run record.

mod account;
mod coordinate;
mod drive;
mod error;
mod plan;
pub mod record;

pub use account::disk_reserve::DiskReserve;
pub use account::range::Range;
pub use account::result::{
    ClientFacts, Distribution, OperationResult, OutcomeCounts, RunHead, RunResult, StopReason,
    TargetFacts, TransactionResult, WorkerTrials, WorkloadFacts,
};
pub use account::saturation::{
    BUSY, Bottleneck, BottleneckAnalysis, CONFLICTS, DEVICE, LABORATORY, LINE, LOCK_WAITS, READS,
    ROUND_TRIP, SaturationFigures, THRESHOLDS, Threshold, saturation,
};
pub use account::store_counters::{StoreCounter, commits_per_sync};
pub use coordinate::calibration::{Calibration, calibrate};
pub use coordinate::dataset::loaded_as;
pub use coordinate::observation::{Observation, ObservePlan, observe};
pub use coordinate::observer::{Event, Observer};
pub use coordinate::preflight::CLIENTS_MAX;
pub use coordinate::rate_search::{RateFound, RateSearch, TRIALS_MAX};
pub use coordinate::repetition::{Case, CaseResult, Turns, faster, repeat, repeat_with_listener};
pub use coordinate::run::{run, run_with_listener};
#[cfg(any(test, feature = "simulation"))]
pub use coordinate::simulation;
pub use drive::executor::block_on;
pub use drive::transaction_listener::{TransactionEvent, TransactionListener, TransactionOutcome};
pub use error::Error;
pub use plan::{Arrival, RunPlan};
// Types of other crates that a result contains, for crates that show results and know no store.
pub use account::warning::RunWarning;
pub use syncline_contract::{
    Cause, Check, CheckOutcome, ClientModel, CommitPath, CommitPaths, CounterUnit, DryRunPlan,
    Durability, Failure, FailureKind, Internal, Isolation, LogLocation, Meaning, OwnFigure,
    PlannedOperation, ReportedSettings, Setting, StoreObservation, StoreProcess, Unit,
};
pub use syncline_host::{BlockDevice, Machine};
pub use syncline_profile::Profile;
pub use syncline_profiler::{BpfCpuTime, ProfilerCpuTime, ProfilerOptions};
pub use syncline_record::ObservedInterval;
