//! System calls, switches, time off the processor and block requests, counted in the kernel by thread
//! and site: where in the program, and how deep on its stack.
//!
//! `program.bpf.c` runs in the kernel; `program.o` is what `scripts/build-bpf` made of it, and what is
//! loaded, by crate `aya`: neither a compiler nor BTF is wanted on the user's machine. Linux 5.8 or
//! later, and a user who may run BPF programs.
//!
//! A life:
//! 1. *opened*: the programs are in the kernel and attached to nothing.
//! 2. *prepared*: attached, and every thread of the process tree is known; forks keep it current. When
//!    threads leave their processors is kept from here on.
//! 3. *gone on with*, from the first time to the end: two moments are written into a map, between which is
//!    counted. Where system calls and switches are dear, their programs are detached, and attached again in
//!    spells (`sampling_windows.rs`).
//! 4. *handed over*: detached, read, named.
//!
//! Invariants:
//! 1. Counts are exact; of system calls and switches, in spells. An event for whose site there is no room is
//!    counted without one.
//! 2. Time off the processor is cut to the window and to its spells at both their ends, for threads that
//!    sleep there too.
//! 3. No stack is walked for an event, which would cost more than counting it. Of some events the top of
//!    the stack is copied and climbed by unwind tables; what was counted at a site is spread over the
//!    stacks that the copies of its events showed, thread by thread. No weight is made or lost by it,
//!    and how far a part may be off is said with it.

mod collector;
mod counts;
#[cfg(all(test, target_arch = "x86_64"))]
mod foreign_frame_pointer;
mod map_types;
mod process_tree;
mod profile_output;
mod program_cost;
mod programs;
mod refusal;
mod sampling_windows;
mod stack_copies;
#[cfg(test)]
mod tests;
mod tracepoint_layout;
mod unwind_thread;
mod weight_distribution;

pub(super) use collector::open;
