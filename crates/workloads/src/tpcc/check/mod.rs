//! The checks after a run: the consistency conditions of clause 3.3.2, and the acknowledged transactions.
//!
//! The store is read once, district by district (`order_scan.rs`), and each condition is a separate check
//! (`conditions.rs`). Two of them need an explanation:
//!
//! - The clause's condition 11 (orders minus new orders are 2,100 in each district) holds only before the
//!   first delivery. Its form here always holds: orders minus new orders are those loaded as delivered plus
//!   those delivered since, which are orders with greater numbers and a carrier. Right after the load,
//!   before any delivery, it equals the clause's.
//! - History has no key by which it could be read in parts. It is read in one answer; if it has more rows
//!   than should be in memory at once, the conditions that need it do not apply and report that.
//!
//! The conditions also hold for a store that has lost whole transactions without a trace. So a further check
//! is that every acknowledged new-order exists, whichever run loaded the rows; and if this run has loaded
//! them, that the numbers of payments and deliveries match those acknowledged, plus at most the unknown ones.

mod check_helpers;
mod conditions;
mod district;
mod order_scan;
mod payments;
mod queries;

pub(super) use conditions::{check, names};
pub(super) use queries::CheckQueries;
