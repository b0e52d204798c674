//! What is seen of a store in a Java virtual machine: by async-profiler, or by the JVM's own flight
//! recorder where that is not to be had.
//!
//! | file | what stands in it |
//! |---|---|
//! | `async_profiler.rs` | the collector by async-profiler: one recording with processor time, wall clock, allocation and locks |
//! | `flight_recorder.rs` | the collector by the JVM's own recorder, opened only where the first could not be |
//! | `perf_map_sampler.rs` | looks at processors from outside, for a JVM that says what its code is called |
//! | `attach_socket.rs` | the JVM is spoken to, as `jcmd` does |
//! | `profiler_library.rs` | where the profiler's library is, and the folder that we share with the JVM |
//! | `jfr/` | recordings are read |
//! | `jfr_frames.rs`, `profile_filler.rs` | what is told in them becomes frames, threads and weights |
//! | `syscall_detector.rs` | user time is told from kernel time |
//! | `sample_weight.rs` | what a look stands for |
//! | `cpu_usage.rs`, `accounts.rs` | the kernel's own count of the time used; how each metric was taken |
//!
//! 1. Everything in the JVM is asked for through its attach socket; we load one library into it, which
//!    stays there until the JVM ends, idle.
//! 2. Processor time is looked at by a timer of each thread (`ctimer`), which counts the time that the
//!    thread is on a processor, in the kernel too. It needs no privilege. The looks share what the
//!    kernel says the process has used, so that none is missing from the sum.
//! 3. What is written into the shared folder is read and removed with it.

mod accounts;
mod allocation;
mod async_profiler;
mod attach_socket;
mod cpu_usage;
mod flight_recorder;
mod jfr;
mod jfr_frames;
mod perf_map_sampler;
mod profile_filler;
mod profiler_library;
mod sample_weight;
mod syscall_detector;

pub(super) use async_profiler::AsyncProfiler;
pub(super) use attach_socket::AttachSocket;
pub(super) use flight_recorder::FlightRecorder;
pub(super) use perf_map_sampler::open as open_named;
pub(crate) use profiler_library::find as find_profiler;
