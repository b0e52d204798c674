//! Mistakes of callers, through the public interface alone: each is an error, never a panic, an unbounded
//! wait, or an unrequested change.
//!
//! | file | what it tests |
//! |---|---|
//! | `support.rs` | databases, tables, and a guard against calls that do not return |
//! | `handles.rs` | handles, marks and tickets work only where they belong |
//! | `exclusive.rs` | every wait for an exclusive transaction ends |
//! | `waiting.rs` | a ticket completes, however it is waited for |
//! | `transactions.rs` | begins, panics, conflicts and caps of single transactions |
//! | `closing.rs` | the use of a database after it was closed |
//! | `misuse/` | every public call in every wrong state |

#![allow(clippy::unwrap_used, reason = "a call that fails ends the test that makes it")]

mod closing;
mod exclusive;
mod handles;
mod misuse;
mod support;
mod transactions;
mod waiting;
