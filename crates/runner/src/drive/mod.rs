//! Worker threads and the clients that they drive. Imports nothing of `coordinate`.
//!
//! | file | what it holds |
//! |---|---|
//! | `worker.rs` | one worker thread: its part of the target, its sessions and clients |
//! | `executor/` | the executor of a worker: every client is a future on it |
//! | `client_loop.rs` | the loop of one client: draw, begin, perform, commit, retry |
//! | `arrival.rs` | the schedule of an open loop |
//! | `control.rs` | the state that workers share with their coordinator: start, end, failure, budget |
//! | `transaction_listener.rs` | a callback for every single transaction |
//! | `cpu_affinity.rs` | pinning a thread to a processor |

pub(crate) mod arrival;
pub(crate) mod client_loop;
pub(crate) mod control;
pub(crate) mod cpu_affinity;
pub(crate) mod executor;
pub(crate) mod transaction_listener;
pub(crate) mod worker;
