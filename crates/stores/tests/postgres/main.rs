//! PostgreSQL as a target, on private servers of their own: if a server cannot be started, these tests
//! fail.
//!
//! | file | what it holds |
//! |---|---|
//! | `conformance.rs`, `server.rs`, `workloads.rs` | the contract's suite; a server for tests; workloads in miniature |
//! | `errors.rs`, `conflicts.rs`, `dropped_clients.rs`, `allocations.rs` | errors by cause; conflicts; clients that are dropped; no allocation in the steady state |
//! | `login.rs`, `reported_settings.rs`, `forwarder_and_standby.rs` | log-in and encryption; reported settings; forwarders and standbys |
//! | `shared_server.rs`, `other_roles.rs` | a server that others use; its other roles |

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod allocations;
#[path = "../shared/conflicting_clients.rs"]
mod conflicting_clients;
mod conflicts;
mod conformance;
mod dropped_clients;
mod errors;
mod forwarder_and_standby;
mod login;
mod other_roles;
#[path = "../shared/relay.rs"]
mod relay;
mod reported_settings;
mod server;
mod shared_server;
mod workloads;
