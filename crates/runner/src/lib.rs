//! Load generation and accounting: one target, one workload, one plan, one result.
//!
//! [`run`] lives the whole life of a store: refuse, create, load, connect, warm up, measure, drain,
//! check, remove; or it takes and leaves rows that several runs share. The calling thread coordinates
//! and samples; worker threads drive the clients, each of which is a future on its worker's own
//! executor. [`repeat`] runs several cases in turns.
//!
//! Nothing is printed here, and no store or workload is known by name. What a store does is a result;
//! an [`Error`] means that there is none.

mod admit;
mod arrival;
mod assemble;
mod bounds;
mod calibrate;
mod client_loop;
mod control;
mod counters;
mod disk_reserve;
mod error;
mod executor;
mod fairness;
mod fingerprint;
mod follower;
mod interruptible;
mod kept;
mod live;
mod load;
mod measure;
mod meter;
mod observe;
mod observer;
mod per_commit;
mod pin;
mod plan;
mod repeat;
mod result;
mod run;
mod sampler;
mod saturation;
#[cfg(any(test, feature = "simulation"))]
pub mod simulated;
#[cfg(test)]
mod simulation;
mod span;
mod staff;
mod warning;
mod warning_rules;
mod watch;
mod weigh;
mod worker;

pub use admit::CLIENTS_MOST;
pub use calibrate::{Calibration, calibrate};
pub use counters::{StoreCounter, commits_per_sync};
pub use disk_reserve::DiskReserve;
pub use error::Error;
pub use executor::ask;
pub use follower::{Fate, Followed, Follower};
pub use kept::loaded_as;
pub use observe::{Observation, ObservePlan, ObservedInterval, observe};
pub use observer::{Event, Observer};
pub use plan::{Arrival, RunPlan};
pub use repeat::{Case, CaseResult, Range, Turns, faster, repeat, repeat_followed};
pub use result::{
    Arrivals, ClientFacts, ClientTime, CountBase, Counted, Distribution, Fairness, Interval,
    MachineInterval, OperationResult, Outcomes, PerCommit, RunHead, RunResult, StopReason,
    TargetFacts, TransactionResult, WorkerTrial, WorkerTrials, WorkloadFacts,
};
pub use run::{run, run_followed};
pub use saturation::{
    BUSY, Bound, CONFLICTS, DEVICE, LABORATORY, LINE, LOCK_WAITS, READS, ROUND_TRIP, Saturation,
    SaturationFigures, THRESHOLDS, Threshold, saturation,
};
pub use weigh::Weighed;
// What a result holds of the seam, for crates that show results and know no store.
pub use syncline_contract::{
    Cause, Check, CheckOutcome, ClientModel, CommitPath, CommitPaths, CounterUnit, Durability,
    Evidence, Failure, FailureKind, IntendedOperation, Intent, Internal, Isolation, LogPlace,
    Meaning, Observed, OwnFigure, Setting, StoreProcess, Unit,
};
pub use syncline_meters::{Machine, MeterOptions, Place, Spent, Timed};
pub use syncline_profile::Profile;
pub use warning::Warning;
