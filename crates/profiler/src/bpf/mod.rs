//! Counts system calls, switches, time off the processor and block requests in the kernel, by thread and
//! site: the position in the program and the depth on its stack.
//!
//! `program.bpf.c` runs in the kernel. `scripts/build-bpf` compiles it to `program.o`, which crate `aya`
//! loads, so the user's machine needs neither a compiler nor BTF. Linux 5.8 or later, and a user who may run
//! BPF programs.
//!
//! Phases:
//! 1. *opened*: the programs are loaded and not attached.
//! 2. *prepared*: the programs are attached, and every thread of the process tree is known; forks keep the
//!    tree current. From here on the programs record when threads leave their processors.
//! 3. *running*, from the first `tick` to the end: the bounds of the window are written into a map, and
//!    events between them are counted. If system calls and switches are too expensive, their programs are
//!    detached, and attached again in sampling windows (`sampling_windows.rs`).
//! 4. *handed over*: detached, read, named.
//!
//! Invariants:
//! 1. Counts are exact; those of system calls and switches within sampling windows. An event whose site does
//!    not fit is counted without a site.
//! 2. Time off the processor is clipped to the window and to its sampling windows at both ends, including for
//!    threads that sleep across them.
//! 3. No event walks its stack, which would cost more than counting it. For some events the top of the stack
//!    is copied and unwound with unwind tables; the counts of a site are distributed over the stacks of its
//!    copies, thread by thread. The distribution neither creates nor loses weight, and its possible error is
//!    reported with it.
//!
//! | file | what it holds |
//! |---|---|
//! | `collector.rs`, `programs.rs`, `refusal.rs` | the collector; loading and attaching the programs; why the kernel refuses them |
//! | `map_types.rs`, `tracepoint_layout.rs` | the types shared with the programs; the kernel's offsets |
//! | `process_tree.rs`, `sampling_windows.rs`, `program_cost.rs` | the threads of the process tree; when events are sampled; the programs' own cost |
//! | `counts.rs`, `profile_output.rs` | the counts that were read; their conversion to a profile |
//! | `unwind_thread.rs`, `stack_copies.rs`, `weight_distribution.rs` | unwinding of copied stacks; the stacks of a key; weights distributed over stacks |
//! | `clobbered_frame_pointer.rs` | a system call with any value in the frame pointer, for tests |
//! | `tests/` | tests of the programs in the kernel |

#[cfg(all(test, target_arch = "x86_64"))]
mod clobbered_frame_pointer;
mod collector;
mod counts;
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
