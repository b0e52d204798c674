//! The program and real private servers: what it does to a server, what it leaves there, what it sees.
//!
//! What is not installed fails these tests; `./test` installs it first.

#![allow(
    clippy::unwrap_used,
    reason = "what fails here fails the test that called it"
)]

mod harm;
mod killed_load;
mod lost_standby;
mod observe;
mod pgbench;
mod pgbench_calls;
mod pgbench_own;
mod pooler;
mod private;
mod secrets;
#[path = "../program/support.rs"]
mod support;
mod survey;
mod sysbench_own;
mod verify;
mod world;
