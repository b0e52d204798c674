//! Tests of transactions through their sessions: guarantees, refusals, and commit order.

mod adjacent_rows;
mod behaviour;
mod failed_log;
pub(super) mod fixture;
mod history;
mod limited_scans;
mod limits;
mod memory;
mod memory_model;
mod model;
mod row_log;
mod schedule;
mod stress;
mod tags;
pub(super) mod wrong_order;

pub(crate) use fixture::simulated_core;
