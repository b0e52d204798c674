//! Samples threads with their stacks, by the kernel's perf events.
//!
//! Every sample includes the kernel's call chain, the call chain by frame pointers, and a copy of the
//! registers and the top of the stack. A separate thread takes the samples out of the kernel's rings a few
//! times per second and unwinds each stack at once, while the process still exists. Addresses are named
//! later, at hand-over.
//!
//! Other collectors also use the code that follows processes and unwinds stacks: [`ProcessTracker`],
//! [`StackUnwinder`] and [`join`] accept any copy of registers and of the top of a stack.
//!
//! If permitted, it samples the whole machine and ignores unrelated processes, which adds no cost to the
//! store's thread switches. Otherwise each thread of the store has its own events, which the threads and
//! processes it starts inherit; and if the kernel hides its own side, only the program's is sampled.
//!
//! | file | what it holds |
//! |---|---|
//! | `events.rs`, `event_source.rs`, `refusal.rs` | the open events; what is sampled; why the kernel refuses them |
//! | `record.rs`, `registers.rs` | the records of a ring; the user registers in them |
//! | `sampler.rs`, `sampler_output.rs`, `stack_counts.rs` | the thread that reads the rings; its output; samples by stack |
//! | `cpu_sampler.rs`, `syscall_sampler.rs` | the collectors of processor time and of system calls |
//! | `unwinder.rs`, `call_chain.rs` | unwinding by unwind tables; the two sources of a stack joined |
//! | `process_tracker.rs` | the observed processes |

mod call_chain;
mod cpu_sampler;
mod event_source;
mod events;
mod process_tracker;
mod record;
mod refusal;
mod registers;
mod sampler;
mod sampler_output;
mod stack_counts;
mod syscall_sampler;
mod unwinder;

pub(crate) use call_chain::join;
pub(crate) use cpu_sampler::open as open_cpu;
pub(crate) use process_tracker::{Memory, ProcessTracker};
pub(crate) use registers::Registers;
pub(crate) use syscall_sampler::open as open_calls;
pub(crate) use unwinder::{Copy, StackUnwinder};
