//! Collectors for a store in a Java virtual machine: async-profiler, or the JVM's own flight recorder if that
//! is not available.
//!
//! | file | what it holds |
//! |---|---|
//! | `async_profiler.rs` | the collector by async-profiler: one recording with processor time, wall clock, allocation and locks |
//! | `flight_recorder.rs` | the collector by the JVM's own recorder, opened only without async-profiler |
//! | `perf_map_sampler.rs` | processor samples from outside, for a JVM that names its code |
//! | `attach_socket.rs` | commands to the JVM, as `jcmd` sends them |
//! | `profiler_library.rs` | the path of the profiler's library, and the directory shared with the JVM |
//! | `jfr/` | reads recordings |
//! | `jfr_frames.rs`, `profile_filler.rs` | convert recordings to frames, threads and weights |
//! | `syscall_detector.rs` | distinguishes kernel time from user time |
//! | `sample_weight.rs` | the weight of a sample |
//! | `flight_recorder_allocation.rs` | clips the recorder's allocation samples to the window |
//! | `cpu_usage.rs`, `accounts.rs` | the kernel's own count of the time used; the accounts of each metric |
//!
//! 1. The JVM receives commands through its attach socket only. One library is loaded into it, which stays
//!    there, idle, until the JVM ends.
//! 2. Processor time is sampled by a timer for each thread (`ctimer`), which counts the thread's time on a
//!    processor, including in the kernel, and needs no privilege. The samples share the time that the kernel
//!    reports for the process, so that the sum is complete.
//! 3. The files in the shared directory are read and removed with it.

mod accounts;
mod async_profiler;
mod attach_socket;
mod cpu_usage;
mod flight_recorder;
mod flight_recorder_allocation;
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
