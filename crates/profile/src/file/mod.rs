//! The stacks file next to a run's record: an unfolded profile, so that a later map can fold it again.
//!
//! JSON Lines: each line is an object with one key, the kind of the line:
//!
//! | line | what it holds |
//! |---|---|
//! | `head` | first line: the format's name and version, the window in nanoseconds |
//! | `frame` | address space, object, name, offset; frames are numbered from 0 in their order |
//! | `stack` | the numbers of its frames from the innermost outwards; numbered likewise |
//! | `thread` | name and title; numbered likewise |
//! | `sample` | metric, number of the thread, number of the stack, weight, count |
//! | `account` | how a metric was measured |
//! | `histogram` | durations of a metric's events: counts by powers of two |
//! | `end` | last line: the number of lines before it, which detects truncated files |
//!
//! Invariants:
//! 1. A line refers only to earlier lines.
//! 2. Frames, stacks, threads and the samples of one metric, thread and stack occur once each.
//! 3. All weights together, and all counts, fit into 64 bits: folding cannot overflow.
//! 4. Reading never panics, on any input.

mod line;
mod read;
mod write;

#[cfg(test)]
mod tests;
