//! MariaDB as a target, on servers that these tests start: the suite, transactions, failures, no harm.
//!
//! MySQL has no package on Debian; the head of `conform.rs` says how the suite is run on one by hand.

#[path = "../shared/certificates.rs"]
mod certificates;
mod conflicts;
mod conform;
#[path = "../shared/crossing.rs"]
mod crossing;
mod desk;
mod evidence;
mod failures;
mod harm;
mod log_in;
#[path = "../shared/relay.rs"]
mod relay;
mod server;
mod statements;
mod transactions;
