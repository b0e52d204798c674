//! The stacks file beside a run's record: a profile as it was seen, so that a later map can fold it.
//!
//! JSON Lines, one value a line, each with one key that says what it is:
//!
//! | line | what it holds |
//! |---|---|
//! | `head` | first line: the format's name and version, the window in nanoseconds |
//! | `frame` | whose code, object, name, offset; frames are numbered from 0 in their order |
//! | `stack` | the numbers of its frames from the innermost outwards; numbered likewise |
//! | `thread` | name and title; numbered likewise |
//! | `sample` | metric, number of the thread, number of the stack, weight, count |
//! | `account` | how a metric was taken |
//! | `histogram` | how long a metric's events took: counts by powers of two |
//! | `end` | last line: how many lines stand before it, so that a file that was cut off is known |
//!
//! Invariants:
//! 1. A line names only what stands above it.
//! 2. Frames, stacks, threads and the samples of one metric, thread and stack stand once each.
//! 3. All weights together, and all counts, fit into 64 bits: folding cannot overflow.
//! 4. Reading never panics, whatever the bytes.

mod line;
mod read;
mod write;

#[cfg(test)]
mod tests;
