//! What is seen of a store in a Java virtual machine: by async-profiler, or by the JVM's own flight
//! recorder where that is not to be had.
//!
//! | file | what stands in it |
//! |---|---|
//! | `sampler.rs` | the collector by async-profiler: one recording with processor time, wall clock, allocation and locks |
//! | `flight.rs` | the collector by the JVM's own recorder, opened only where the first could not be |
//! | `named.rs` | looks at processors from outside, for a JVM that says what its code is called |
//! | `attach.rs` | the JVM is spoken to, as `jcmd` does |
//! | `agent.rs` | where the profiler's library is, and the folder that we share with the JVM |
//! | `jfr/` | recordings are read |
//! | `told.rs`, `fill.rs` | what is told in them becomes frames, threads and weights |
//! | `standing.rs` | user time is told from kernel time |
//! | `weigh.rs` | what a look stands for |
//! | `used.rs`, `accounts.rs` | the kernel's own count of the time used; how each metric was taken |
//!
//! 1. Everything in the JVM is asked for through its attach socket; we load one library into it, which
//!    stays there until the JVM ends, idle.
//! 2. Processor time is looked at by a timer of each thread (`ctimer`), which counts the time that the
//!    thread is on a processor, in the kernel too. It needs no privilege. The looks share what the
//!    kernel says the process has used, so that none is missing from the sum.
//! 3. What is written into the shared folder is read and removed with it.

mod accounts;
mod agent;
mod allocated;
mod attach;
mod fill;
mod flight;
mod jfr;
mod named;
mod sampler;
mod standing;
mod told;
mod used;
mod weigh;

pub(crate) use agent::find as find_profiler;
pub(super) use attach::Attached;
pub(super) use flight::Flight;
pub(super) use named::open as open_named;
pub(super) use sampler::Sampler;
