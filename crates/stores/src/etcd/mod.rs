//! etcd, as a store of keys and values.
//!
//! | file | what stands in it |
//! |---|---|
//! | `settings.rs` | the options of the URL |
//! | `gateway.rs` | its HTTP/JSON gateway: requests out, answers in |
//! | `http.rs` | HTTP as far as that gateway speaks it |
//! | `store.rs` | rows as keys, transactions by comparing revisions |
//! | `reported_settings.rs` | what it says of itself: version, durability, place |
//! | `metrics.rs` | its metrics as text, the counters in them, and one look at it |
//!
//! A row is a key, `syncline_<id>/row/<key>`; etcd keeps keys in order, so rows are scanned. A commit is
//! one transaction: if no row that was read for update or is written over has another revision than it
//! had, then all puts and deletions. It takes 128 of each, etcd's limit unless it was started with
//! another; a load is split by it, a transaction of more fails. There are no joins and no indexes.
//!
//! It is spoken to through the gateway that each member has, JSON over HTTP, whose cost is in the
//! figures: the protocol below it needs a compiler of its own to be built. Each client is a thread with
//! a connection. Durability is `data` by design; that its log is synced is seen in its own count of
//! syncs, and one started with `--unsafe-no-fsync` is `os`.

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod gateway;
mod http;
mod lease;
mod metrics;
mod reported_settings;
mod settings;
mod store;

pub use store::{Etcd, EtcdTarget};

pub(crate) use settings::LISTING;
pub(crate) use store::open;
