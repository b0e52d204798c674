//! MariaDB as a target, on servers that these tests start: the suite, transactions, failures, no damage
//! to other databases.
//!
//! MySQL has no package on Debian; the head of `conformance.rs` explains how to run the suite on a
//! MySQL server by hand.
//!
//! | file | what it holds |
//! |---|---|
//! | `conformance.rs`, `server.rs`, `account_fixture.rs` | the contract's suite; a server for tests; a small plan for tests |
//! | `transactions.rs`, `statements.rs`, `conflicts.rs`, `failures.rs` | pipelines; user statements; conflicts; lost servers and connections |
//! | `login.rs`, `reported_settings.rs`, `shared_server.rs` | log-in; reported settings; a server that others use |

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
