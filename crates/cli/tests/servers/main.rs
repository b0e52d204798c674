//! The program with real private servers: its effects on a server, what it leaves there, and what it
//! observes.
//!
//! The tests fail if a server is not installed; `./test` installs them first.
//!
//! | file | what it holds |
//! |---|---|
//! | `unmanaged_server.rs`, `shared_server.rs` | an unmanaged server; runs on it do no harm |
//! | `private.rs`, `survey.rs`, `observe.rs`, `verify.rs` | `private`; `survey`; `observe`; `verify durability --like` |
//! | `pgbench.rs`, `pgbench_calls.rs`, `pgbench_user_tables.rs`, `sysbench_user_tables.rs` | the compatibility commands, on their own tables and on a user's |
//! | `pooler.rs`, `lost_standby.rs`, `killed_load.rs`, `secrets.rs` | a pooler; a standby that disappears; a killed load; passwords |

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
