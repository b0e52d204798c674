//! Builds the saved record of a run or an observation.
//!
//! | file | what it holds |
//! |---|---|
//! | `from_run` | the record of the repetitions of one setting |
//! | `from_head` | plan, workload, target, machine and device, as fixed before the run |
//! | `from_phase` | the figures of one measured phase |
//! | `cost`, `profiler_overhead` | the cost by module, and the profiler's own cost |
//! | `commit_path` | the paths of commits through the store |
//! | `licence` | products whose licences restrict the publishing of figures |
//! | `from_observation` | the record of an observation |

mod commit_path;
mod cost;
mod from_head;
mod from_observation;
mod from_phase;
mod from_run;
mod licence;
mod profiler_overhead;

pub use from_observation::{ObservationInputs, from_observation};
pub use from_run::{
    RunInputs, from_run, head_from_run, interval_from_run, machine_from, stacks_of,
};
