//! The phases of a run on the calling thread, from the preflight check to the removal of its tables.
//!
//! | file | what it holds |
//! |---|---|
//! | `run.rs` | all phases of one run, in order |
//! | `preflight.rs` | the checks that refuse a run before it touches a store |
//! | `disk_guard.rs` | free disk space: required before a run, watched in it |
//! | `dataset.rs`, `fingerprint.rs` | rows that are kept for a later run, and how that run identifies them |
//! | `load.rs` | loading rows, in parallel over sessions |
//! | `counter_readings.rs` | the store's own counters, read before and after its clients |
//! | `interruptible.rs` | waits outside the clients, which a stop request ends |
//! | `worker_count.rs` | the number of workers, chosen by trial |
//! | `coordinator.rs` | starts the workers and collects their reports |
//! | `phases.rs` | warm-up, measured span with its intervals, drain |
//! | `overhead.rs` | the A/B test of the profiler's overhead |
//! | `observer.rs` | events of a run, for progress bars |
//! | `rate_search.rs` | the highest arrival rate that meets a condition |
//! | `repetition.rs` | several cases, several times, interleaved |
//! | `calibration.rs` | the laboratory's own cost per transaction |
//! | `observation.rs` | observation of a server that others use |
//! | `simulation.rs`, `simulation_tests.rs` | runs in simulated time, for tests |
//! | `inserts.rs` | the workload of simulated runs and of the bench |

pub(crate) mod calibration;
pub(crate) mod coordinator;
pub(crate) mod counter_readings;
pub(crate) mod dataset;
pub(crate) mod disk_guard;
pub(crate) mod fingerprint;
#[cfg(any(test, feature = "simulation"))]
mod inserts;
pub(crate) mod interruptible;
pub(crate) mod load;
pub(crate) mod observation;
pub(crate) mod observer;
pub(crate) mod overhead;
pub(crate) mod phases;
pub(crate) mod preflight;
pub(crate) mod rate_search;
pub(crate) mod repetition;
pub(crate) mod run;
#[cfg(any(test, feature = "simulation"))]
pub mod simulation;
#[cfg(test)]
mod simulation_tests;
pub(crate) mod worker_count;
