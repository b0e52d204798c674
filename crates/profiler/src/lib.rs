//! Profiles a store's process from outside: collectors observe it while it works and produce a profile of
//! stacks.
//!
//! The runner holds a [`Profiler`]. It opens every collector that works here, the best first, and notes in
//! the profile why the others do not work and how to permit them. The phases of a collector:
//!
//! 1. *opened*: nothing runs yet; or refused, with an account for each metric it would have measured.
//! 2. *prepared*: every client is connected, and none works yet. Slow work is done here.
//! 3. *started* and *stopped*, around the measured window; both take milliseconds.
//! 4. *handed over*: stacks are named and put into the profile. The store's processes may end right after, so
//!    everything must be read from them before.
//!
//! The failure of a collector does not fail the run: an account in the profile says why.
//!
//! | file | what it holds |
//! |---|---|
//! | `profiler.rs` | all collectors that work here, as one |
//! | `collector.rs` | the interface of a collector, and the list of them |
//! | `account.rs` | accounts of measured metrics, and of those that could not be measured |
//! | `subject.rs` | the process whose time is profiled |
//! | `perf/` | sampled stacks by perf events, and the unwinder |
//! | `bpf/` | system calls and waits counted by eBPF programs |
//! | `jvm/` | stores in a JVM: async-profiler, flight recorder |
//! | `tag/` | samples of the module that the engine's own threads tag |
//! | `proc_totals.rs` | totals of a process from `/proc` |
//! | `symbols/` | symbols of addresses, inlined functions, names of threads |
//! | `metric_set.rs` | a set of metrics |
//! | `profiler_cpu_time.rs`, `sampler_threads.rs` | the processor time and the threads of the profiler itself |
//! | `list.rs` | which meters work on this machine, and why others do not |

mod account;
mod bpf;
mod collector;
mod jvm;
mod list;
mod metric_set;
mod perf;
mod proc_totals;
mod profiler;
mod profiler_cpu_time;
mod sampler_threads;
mod subject;
mod symbols;
mod tag;

pub use list::{Listing, list};
pub use profiler::{Profiler, ProfilerOptions};
pub use profiler_cpu_time::{BpfCpuTime, ProfilerCpuTime};
pub use subject::{Runtime, Subject};
