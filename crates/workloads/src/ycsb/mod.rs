//! YCSB's core workloads, and K2's profile of them.
//!
//! Source: YCSB's `CoreWorkload` and its workloads a to f; the YCSB client of K2 (Chogori). Rules:
//!
//! 1. One table with a text key and text fields. Keys are "user" and a number: the FNV hash of the row's
//!    number, or with `insert_order=ordered` the number itself. In profile `k2` the key is field 0, the
//!    number in base 93.
//! 2. A transaction is one operation, or `ops_per_txn` of them, drawn by their weights: read, update,
//!    insert, scan, read-modify-write, delete. Independent requests share round trips: all reads of a
//!    transaction are sent before its first answer is received and its first write is sent.
//! 3. `distribution=scrambled` is what YCSB and K2 call zipfian; `zipfian` here is exact Zipf.
//! 4. A new row can be read only after its insert was acknowledged. New rows continue the numbers of the
//!    loaded ones. A distribution over keys that do not exist yet draws again (`new_keys`).
//! 5. The content of a field follows from its key, its name and a version in the value (`content`), so every
//!    value can be verified whenever it is read, updated or not: a part of the reads during the run
//!    (`verify`), and every row afterwards.
//!
//! Deviations from YCSB: a read-modify-write is one transaction (there, two unrelated calls), so it can
//! conflict; a transaction that was rolled back is retried; a missing row is a violated check unless rows are
//! deleted, not just a counted status, and so is a value that fails verification; field content can be
//! verified with updates too (YCSB's `dataintegrity` has no versions); rows are loaded in the order of their
//! keys. Deviations from K2: new rows continue the numbers of the loaded ones (there, a random part of the
//! key space is left out of the load); an update or delete of a row that may have been deleted reads it
//! first; an update changes one field, or all.
//!
//! | file | what it holds |
//! |---|---|
//! | `options.rs`, `option_values.rs`, `option_forms.rs`, `options_tests.rs` | options, their values and their syntax; tests of them |
//! | `standard_workload.rs` | the mixes of the workloads a to f and of K2's profile |
//! | `schema.rs`, `operation_kind.rs` | the workload; the kinds of operations, and a draw by weight |
//! | `keys.rs`, `record_ranges.rs` | keys; ranges of records by number |
//! | `content.rs`, `histogram.rs` | the content of fields; field lengths by a histogram |
//! | `load.rs`, `transactions.rs`, `check.rs` | the load; the client; the check |

mod check;
mod content;
mod histogram;
mod keys;
mod load;
mod operation_kind;
mod option_forms;
mod option_values;
mod options;
mod record_ranges;
mod schema;
mod standard_workload;
mod transactions;

pub use histogram::FieldHistogram;
pub use option_values::{Distribution, InsertOrder, Lengths, Profile, StandardWorkload, Verify};
pub use options::Options;
pub use record_ranges::RecordRanges;
pub use schema::Ycsb;
pub use transactions::{Tally, YcsbClient};
