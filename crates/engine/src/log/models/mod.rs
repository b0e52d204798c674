//! Models of the log, run under a checker: see `crate::sync` for how, and `./test` for the command.
//!
//! | model | checker | what it explores | what it would find |
//! |---|---|---|---|
//! | `ring` | loom | producers, the taker and a reader at the ring, slots reused | a record taken early, lost or overwritten; a commit that shows before it is applied |
//! | `durable_lsn` | loom | waiters, and the thread that moves the durable LSN or fails the log | a lost wake-up; a ticket complete before its commit is stable |
//! | `write_handoff` | loom | the whole log, two threads that block | a check that weak memory order lets happen too early |
//! | `lost_wakeups` | shuttle | the whole log on a simulated disk: blocked threads, futures, voids, failures | a thread that sleeps forever |

#[cfg(loom)]
mod durable_lsn;
#[cfg(shuttle)]
mod lost_wakeups;
#[cfg(loom)]
mod ring;
#[cfg(loom)]
mod write_handoff;
