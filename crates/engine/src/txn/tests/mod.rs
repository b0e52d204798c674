//! Tests of transactions through their sessions: guarantees, refusals, and commit order.
//!
//! | file | what it holds |
//! |---|---|
//! | `fixture.rs`, `history.rs` | a small store; a history of calls and answers, and its check |
//! | `behaviour.rs` | tests of one behaviour each |
//! | `model.rs`, `memory_model.rs` | random transactions against a map; random histories under a cap on old versions |
//! | `schedule.rs`, `stress.rs` | sessions stopped between every two steps; free-running threads |
//! | `wrong_order.rs` | planted bugs in the order of the commit's steps |
//! | `adjacent_rows.rs` | neighbouring rows locked and applied under one latch |
//! | `evicted_reads.rs` | leaves that are not in memory when they are needed |
//! | `limited_scans.rs` | scans with a limit |
//! | `limits.rs`, `memory.rs` | limits on values; caps on memory |
//! | `failed_log.rs` | calls after the log has failed |
//! | `row_log.rs` | when commits log rows for an index build |
//! | `tags.rs` | the module that a committing thread is tagged with |

mod adjacent_rows;
mod behaviour;
mod evicted_reads;
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
