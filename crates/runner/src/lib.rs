//! Load generation and accounting: one target, one workload, one plan, one result.
//!
//! [`run`] lives the whole life of a store: refuse, create, load, connect, warm up, measure, drain,
//! check, remove; or it takes and leaves rows that several runs share. The calling thread coordinates
//! and samples; worker threads drive the clients, each of which is a future on its worker's own
//! executor. [`repeat`] runs several cases in turns.
//!
//! Nothing is printed here, and no store or workload is known by name. What a store does is a result;
//! an [`Error`] means that there is none. [`record`] makes the saved record of it.

mod account;
mod coordinate;
mod drive;
mod error;
mod plan;
pub mod record;

pub use account::disk_reserve::DiskReserve;
pub use account::range::Range;
pub use account::result::{
    ClientFacts, Distribution, OperationResult, Outcomes, RunHead, RunResult, StopReason,
    TargetFacts, TransactionResult, WorkerTrial, WorkerTrials, WorkloadFacts,
};
pub use account::saturation::{
    BUSY, Bottleneck, CONFLICTS, DEVICE, LABORATORY, LINE, LOCK_WAITS, READS, ROUND_TRIP,
    Saturation, SaturationFigures, THRESHOLDS, Threshold, saturation,
};
pub use account::store_counters::{StoreCounter, commits_per_sync};
pub use coordinate::calibration::{Calibration, calibrate};
pub use coordinate::dataset::loaded_as;
pub use coordinate::observation::{Observation, ObservePlan, observe};
pub use coordinate::observer::{Event, Observer};
pub use coordinate::preflight::CLIENTS_MAX;
pub use coordinate::repetition::{Case, CaseResult, Turns, faster, repeat, repeat_with_listener};
pub use coordinate::run::{run, run_with_listener};
#[cfg(any(test, feature = "simulation"))]
pub use coordinate::simulation;
pub use drive::executor::ask;
pub use drive::transaction_listener::{TransactionEvent, TransactionListener, TransactionOutcome};
pub use error::Error;
pub use plan::{Arrival, RunPlan};
// What a result holds of the seam, for crates that show results and know no store.
pub use account::warning::Warning;
pub use syncline_contract::{
    Cause, Check, CheckOutcome, ClientModel, CommitPath, CommitPaths, CounterUnit, DryRunPlan,
    Durability, Failure, FailureKind, Internal, Isolation, LogLocation, Meaning, OwnFigure,
    PlannedOperation, ReportedSettings, Setting, StoreObservation, StoreProcess, Unit,
};
pub use syncline_host::{BlockDevice, Machine};
pub use syncline_profile::Profile;
pub use syncline_profiler::{BpfCpuTime, ProfilerCpuTime, ProfilerOptions};
pub use syncline_record::ObservedInterval;
