//! Processor time by the word of the store's own threads, for a store in this process that says which
//! module each of its threads is in (`metering::tag`).
//!
//! Each such thread has a timer that runs with its processor time. When it strikes, the thread itself
//! notes its module, in a signal handler, and goes on. So a module is met as often as it uses a
//! processor, and nobody else needs one to look. It needs no privileges and no unwinding.
//!
//! Why not by a thread that looks: it needs a processor when the store does, and its wake-ups are late by
//! tens of microseconds just when processors are idle, which is when the store waits for a sync. Tried,
//! with the looking thread bound to each processor in turn, of real-time priority, without timer slack:
//! the log's share was too large by two thirds each time.
//!
//! It sees nothing of threads that never entered a module, and what a tagged thread does outside of all
//! modules is charged to the laboratory, whose thread it is.

mod strike;
mod tags;
mod timer;

pub(super) use tags::Tags;
