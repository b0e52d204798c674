//! PostgreSQL as a target, on private servers of their own: if a server cannot be started, these tests
//! fail.

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
