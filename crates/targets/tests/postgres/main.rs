//! PostgreSQL as a target, on private servers of their own: a server that cannot be started fails these
//! tests.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod allocations;
mod between;
mod conflicts;
mod conformance;
#[path = "../shared/crossing.rs"]
mod crossing;
mod errors;
mod harm;
mod keeps;
mod login;
mod owners;
#[path = "../shared/relay.rs"]
mod relay;
mod said;
mod server;
mod workloads;
