//! The program with real private servers: its effects on a server, what it leaves there, and what it
//! observes.
//!
//! The tests fail if a server is not installed; `./test` installs them first.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test that called it")]

mod killed_load;
mod lost_standby;
mod observe;
mod pgbench;
mod pgbench_calls;
mod pgbench_user_tables;
mod pooler;
mod private;
mod secrets;
mod shared_server;
#[path = "../program/support.rs"]
mod support;
mod survey;
mod sysbench_user_tables;
mod unmanaged_server;
mod verify;
