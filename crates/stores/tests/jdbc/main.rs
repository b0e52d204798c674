//! Databases with JDBC drivers: Derby embedded and as its network server, H2 and HSQLDB; PostgreSQL and
//! MariaDB on private servers.
//!
//! `scripts/fetch-jdbc-drivers` fetches the jar files; without them these tests fail with that advice.

#![cfg(feature = "jdbc")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod conformance;
mod durability;
mod lifecycle;
mod refusals;
mod support;
mod workloads;
