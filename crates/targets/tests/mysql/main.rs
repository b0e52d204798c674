//! MariaDB as a target, on servers that these tests start: the suite, values, failures, no harm done.
//!
//! MySQL has no package on Debian; the head of `conform.rs` says how the suite is run on one by hand.

mod conform;
mod server;
