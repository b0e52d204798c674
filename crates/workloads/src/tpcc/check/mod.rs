//! The checks after a run: the consistency conditions of clause 3.3.2, and what was acknowledged.
//!
//! The store is read once, district by district (`order_scan.rs`), and each condition is a check of its own
//! (`conditions.rs`). Two of them need a word:
//!
//! - Condition 11 of the clause (orders less new orders are 2,100 in each district) holds before the
//!   first delivery only. Its form here holds always: orders less new orders are those loaded as
//!   delivered and those delivered since, that is orders of a greater number with a carrier. Right
//!   after the load, when nothing was delivered since, it is the clause's.
//! - History has no key by which it could be read in parts. It is read in one answer, and if it has
//!   more rows than memory should hold at once, the conditions that need it do not apply and say so.
//!
//! The conditions hold also for a store that has lost whole transactions without a trace. So it is
//! checked beside them that every acknowledged new-order is there, whoever loaded the rows; and, where
//! this run has loaded them, that payments and deliveries are as many as were acknowledged, or up to as
//! many more as are of unknown outcome.

mod check_helpers;
mod conditions;
mod district;
mod order_scan;
mod payments;
mod queries;

pub(super) use conditions::{check, names};
pub(super) use queries::CheckQueries;
