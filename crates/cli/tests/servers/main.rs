//! The program and real private servers: what it does to a server, what it leaves there, what it sees.
//!
//! What is not installed fails these tests; `./test` installs it first.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test that called it")]

mod foreign_server;
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
mod verify;
