//! Samples of threads, with their stacks, by the kernel's perf events.
//!
//! Every look brings the kernel's own chain, the chain by frame pointers, and a copy of the registers
//! and of the top of the stack. A thread of its own takes the looks out of the kernel's rings, a few
//! times a second, and climbs each stack at once, while the process is still there; it names nothing.
//! Names come at hand-over.
//!
//! What follows processes and climbs stacks serves other collectors too: [`Followed`], [`Climber`] and
//! [`join`] take any copy of registers and of the top of a stack.
//!
//! Where it may, it looks at the whole machine and leaves out what is not the store's: that costs the
//! store nothing at a switch of threads. Otherwise each thread of the store has its events, which what
//! it starts inherits; and where the kernel does not let its own side be seen, the program's is.

mod calls;
mod chain;
mod cpu;
mod events;
mod followed;
mod outcome;
mod record;
mod refusal;
mod registers;
mod sampler;
mod source;
mod stacks;
mod unwind;

pub(in crate::collect) use calls::open as open_calls;
pub(in crate::collect) use chain::join;
pub(in crate::collect) use cpu::open as open_cpu;
pub(in crate::collect) use followed::{Followed, Memory};
pub(in crate::collect) use registers::Registers;
pub(in crate::collect) use unwind::{Climber, Copy};
