//! Load generation and accounting: one target, one workload, one plan, one result.
//!
//! [`run`] lives the whole life of a store: refuse, create, load, connect, warm up, measure, drain,
//! check, remove; or it takes and leaves rows that several runs share. The calling thread coordinates
//! and samples; worker threads drive the clients, each of which is a future on its worker's own
//! executor. [`repeat`] runs several cases in turns.
//!
//! Nothing is printed here, and no store or workload is known by name. What a store does is a result;
//! an [`Error`] means that there is none.

mod arrival;
mod calibration;
mod client_loop;
mod control;
mod coordinator;
mod cpu_affinity;
mod dataset;
mod disk_reserve;
mod error;
mod executor;
mod fairness;
mod fingerprint;
mod interruptible;
mod live_counters;
mod load;
mod measured_span;
mod observation;
mod observer;
mod overhead;
mod per_commit;
mod phases;
mod plan;
mod preflight;
mod repetition;
mod response_bounds;
mod result;
mod result_builder;
mod run;
mod sampler;
mod saturation;
#[cfg(any(test, feature = "simulation"))]
pub mod simulation;
#[cfg(test)]
mod simulation_tests;
mod store_counters;
mod transaction_listener;
mod warning;
mod warning_rules;
mod worker;
mod worker_count;
mod worker_stats;

pub use calibration::{Calibration, calibrate};
pub use dataset::loaded_as;
pub use disk_reserve::DiskReserve;
pub use error::Error;
pub use executor::ask;
pub use observation::{Observation, ObservePlan, ObservedInterval, observe};
pub use observer::{Event, Observer};
pub use overhead::OverheadPair;
pub use plan::{Arrival, RunPlan};
pub use preflight::CLIENTS_MAX;
pub use repetition::{Case, CaseResult, Range, Turns, faster, repeat, repeat_with_listener};
pub use result::{
    Arrivals, ClientFacts, ClientTime, CountBase, Counted, Distribution, Fairness, Interval,
    MachineInterval, OperationResult, Outcomes, PerCommit, RunHead, RunResult, StopReason,
    TargetFacts, TransactionResult, WorkerTrial, WorkerTrials, WorkloadFacts,
};
pub use run::{run, run_with_listener};
pub use saturation::{
    BUSY, Bottleneck, CONFLICTS, DEVICE, LABORATORY, LINE, LOCK_WAITS, READS, ROUND_TRIP,
    Saturation, SaturationFigures, THRESHOLDS, Threshold, saturation,
};
pub use store_counters::{StoreCounter, commits_per_sync};
pub use transaction_listener::{TransactionEvent, TransactionListener, TransactionOutcome};
// What a result holds of the seam, for crates that show results and know no store.
pub use syncline_contract::{
    Cause, Check, CheckOutcome, ClientModel, CommitPath, CommitPaths, CounterUnit, DryRunPlan,
    Durability, Failure, FailureKind, Internal, Isolation, LogLocation, Meaning, OwnFigure,
    PlannedOperation, ReportedSettings, Setting, StoreObservation, StoreProcess, Unit,
};
pub use syncline_meters::{BlockDevice, BpfCpuTime, Machine, ProfilerCpuTime, ProfilerOptions};
pub use syncline_profile::Profile;
pub use warning::Warning;
