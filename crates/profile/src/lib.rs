//! Where a transaction's time goes: what was seen of a process from outside, and to which module of
//! the store it is charged.
//!
//! A collector (crate `profiler`) looks at a process and leaves a [`Profile`]: weights of [`Metric`]s on
//! stacks of frames, thread by thread, with the [`Account`] of how each metric was taken. Nothing in a
//! profile says *module*: a map of the product does, and folding a profile by a map is a pure step that
//! can be done again years later with a better map. Hence profiles are kept beside the run's record.
//!
//! Nothing here reads a process, a clock or a terminal.

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
