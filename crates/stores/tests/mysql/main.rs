//! MariaDB as a target, on servers that these tests start: the suite, transactions, failures, no damage
//! to other databases.
//!
//! MySQL has no package on Debian; the head of `conformance.rs` explains how to run the suite on a
//! MySQL server by hand.

mod account_fixture;
#[path = "../shared/certificates.rs"]
mod certificates;
mod conflicts;
mod conformance;
#[path = "../shared/conflicting_clients.rs"]
mod crossing;
mod failures;
mod login;
#[path = "../shared/relay.rs"]
mod relay;
mod reported_settings;
mod server;
mod shared_server;
mod statements;
mod transactions;
