//! etcd, as a key-value store.
//!
//! | file | what it holds |
//! |---|---|
//! | `settings.rs` | the options of the URL |
//! | `gateway.rs` | its HTTP/JSON gateway: requests out, answers in |
//! | `http.rs` | the part of HTTP that the gateway uses |
//! | `lease.rs` | the key that exists while a run is in progress |
//! | `store.rs` | rows as keys, transactions by comparing revisions |
//! | `reported_settings.rs` | version, durability and location, as reported |
//! | `metrics.rs` | its metrics as text, the counters in them, and one observation |
//! | `fuzzing.rs` | the decoder under fuzzing |
//!
//! A row is a key, `syncline_<id>/row/<key>`; etcd keeps keys in order, so rows can be scanned. A
//! commit is one transaction: it compares the revision of each row that was read for update or is
//! overwritten with the one that was read, and if all are unchanged, applies the puts and deletions. It
//! may have 128 of each, etcd's default limit; a load is split accordingly, a larger transaction fails.
//! There are no joins and no indexes.
//!
//! Requests use the gateway of each member, JSON over HTTP, whose cost is part of the results: building
//! the underlying protocol requires a compiler of its own. Each client is a thread with a connection.
//! Durability is `data` by design; etcd's own count of syncs shows that its log is synced, and a server
//! started with `--unsafe-no-fsync` is `os`.

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
