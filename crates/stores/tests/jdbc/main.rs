//! Databases with JDBC drivers: Derby embedded and as its network server, H2 and HSQLDB; PostgreSQL and
//! MariaDB on private servers.
//!
//! The jar files are fetched by `scripts/fetch-jdbc-drivers`; without them these tests fail, and say so.

#![cfg(feature = "jdbc")]
#![allow(clippy::unwrap_used, reason = "in a test an unwrap is a finding")]

mod conformance;
mod durability;
mod lifecycle;
mod refusals;
mod support;
mod workloads;
