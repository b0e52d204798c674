//! Where time goes, from outside: collectors that look at a store's process while it works and leave
//! a profile of stacks behind.
//!
//! [`Profiler`] is what the runner holds. It opens every collector that can do its part here, best first,
//! and puts into the profile why the others cannot and what would open the way. A collector's life:
//!
//! 1. *opened*: nothing runs yet; refused with an account for each metric it would have taken.
//! 2. *prepared*: every client is connected, none works yet. What is slow belongs here.
//! 3. *started* and *stopped*, around the measured span; both within milliseconds.
//! 4. *handed over*: stacks are named and put into the profile. The store's processes may end right
//!    after, so what must be read from them is read by then.
//!
//! A failure of one collector is no failure of the run: it becomes an account that says why.

mod bpf;
mod collector;
mod jvm;
mod metric_set;
mod perf;
mod proc_totals;
mod profiler;
mod profiler_cpu_time;
mod ring;
mod sampler_threads;
mod subject;
mod symbols;
mod tag;

pub(crate) use jvm::find_profiler;
pub(crate) use ring::Ring;
pub(crate) use tag::refusal as tags_refusal;

pub use profiler::{Profiler, ProfilerOptions};
pub use profiler_cpu_time::{BpfCpuTime, ProfilerCpuTime};
pub use subject::{Runtime, Subject};
