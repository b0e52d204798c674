//! What callers may do wrong, by the public interface alone: each mistake is an error, never a panic, a wait
//! without end, or a change that nobody asked for.
//!
//! | file | what must be true |
//! |---|---|
//! | `support.rs` | databases, tables, and a guard against calls that do not return |
//! | `handles.rs` | handles, marks and tickets work where they belong and nowhere else |
//! | `exclusive.rs` | nobody waits without end for an exclusive transaction |
//! | `waiting.rs` | a ticket completes, however it is waited for |
//! | `transactions.rs` | begins, panics, conflicts and caps of single transactions |
//! | `closing.rs` | what is left of a database that was closed |
//! | `misuse/` | every public call in every wrong state |

#![allow(clippy::unwrap_used, reason = "a call that fails ends the test that makes it")]

mod closing;
mod exclusive;
mod handles;
mod misuse;
mod support;
mod transactions;
mod waiting;
