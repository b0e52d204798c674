//! Profiles of a store's process, and the modules of the store to which their costs are charged.
//!
//! A collector (crate `profiler`) samples a process and returns a [`Profile`]: weights of
//! [`Metric`]s on stacks of frames, thread by thread, with the [`Account`] of how each metric was measured. A
//! profile contains no modules: a map of the product assigns them, and folding a profile by a map is a pure
//! function that can be repeated years later with a better map. This is why profiles are kept next to the
//! run's record.
//!
//! Nothing here reads a process, a clock or a terminal.
//!
//! | file | what it holds |
//! |---|---|
//! | `metric`, `stack`, `profile`, `histogram` | metrics, frames, samples, durations of events |
//! | `file` | the stacks file |
//! | `map` | maps of products: which code belongs to which module |
//! | `fold`, `cost` | folding a profile by a map, and the result |
//! | `export`, `frame_label` | formats of other tools, names of frames for display |
//! | `error` | errors in maps and stacks files |

mod cost;
mod error;
mod export;
mod file;
mod fold;
mod frame_label;
mod histogram;
mod map;
mod metric;
mod profile;
mod stack;

pub use cost::{Charge, Cost, MetricCost, ThreadClass, View};
pub use error::Error;
pub use export::{collapsed, pprof};
pub use fold::{ChargedProfile, ChargedSample, fold};
pub use histogram::Histogram;
pub use map::Map;
pub use metric::{Metric, Quantity};
pub use profile::{ATTRIBUTED, Account, Precision, Profile, ProfileBuilder, Sample, Total};
pub use stack::{Frame, Name, Space, StackId, Thread, ThreadId};
// The modules that a profile is folded into.
pub use syncline_instrument::Module;
