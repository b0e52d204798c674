//! System calls, switches, time off the processor and block requests, counted in the kernel by thread
//! and user stack.
//!
//! `program.bpf.c` runs in the kernel; `program.o` is what `scripts/build-bpf` made of it, and what is
//! loaded, by crate `aya`: neither a compiler nor BTF is wanted on the user's machine. Linux 5.8 or
//! later, and a user who may run BPF programs.
//!
//! A life:
//! 1. *opened*: the programs are in the kernel and attached to nothing.
//! 2. *prepared*: attached, and every thread of the process tree is known; forks keep it current. When
//!    threads leave their processors is kept from here on.
//! 3. *started* and *stopped*: two moments are written into a map, between which is counted.
//! 4. *handed over*: detached, read, named.
//!
//! Invariants:
//! 1. Counts are exact. An event whose stack could not be kept is counted without one.
//! 2. Time off the processor is cut to the window at both its ends, for threads that sleep there too.
//! 3. The kernel walks frame pointers, which end in the C library exactly where threads block. Of some
//!    events the top of the stack is copied and climbed by unwind tables; what was counted under a
//!    chain is spread over the stacks that the copies of its events showed, thread by thread. No weight
//!    is made or lost by it.

mod climbs;
mod collector;
mod counts;
mod hand_over;
mod layout;
mod load;
mod refill;
mod refusal;
mod shape;
#[cfg(test)]
mod tests;
mod tree;

pub(super) use collector::open;
