//! Samples of threads, with their stacks, by the kernel's perf events.
//!
//! Every look brings the kernel's own chain, the chain by frame pointers, and a copy of the registers
//! and of the top of the stack. A thread of its own takes the looks out of the kernel's rings, a few
//! times a second, and climbs each stack at once, while the process is still there; it names nothing.
//! Names come at hand-over.
//!
//! What follows processes and climbs stacks serves other collectors too: [`ProcessTracker`],
//! [`StackUnwinder`] and [`join`] take any copy of registers and of the top of a stack.
//!
//! Where it may, it looks at the whole machine and leaves out what is not the store's: that costs the
//! store nothing at a switch of threads. Otherwise each thread of the store has its events, which what
//! it starts inherits; and where the kernel does not let its own side be seen, the program's is.

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
