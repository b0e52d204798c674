//! TATP: a mobile network's register of subscribers; four of five transactions are reads.
//!
//! Source: "Telecommunication Application Transaction Processing (TATP) Benchmark Description", version 1.0
//! of March 2009 (tatpbenchmark.sourceforge.net), after Strandell's thesis (University of Helsinki, 2003).
//! Read were: that site's pages and its list of questions, which give the number of tables, the seven
//! transactions, the 80 % of reads, and the benchmark's origin; and `BenchBase` (`benchmarks/tatp`). The
//! description itself was not available; rules 1, 3 and 4 rely on other descriptions of it. Rules:
//!
//! 1. Four tables. `subscriber` has 34 columns and `subscribers` rows. Each subscriber has 1 to 4 rows in
//!    `access_info` and 1 to 4 in `special_facility`, with distinct types; 85 % of the latter are active.
//!    Each special facility has 0 to 3 rows in `call_forwarding`, starting at 0, 8 or 16 hours.
//! 2. Seven transactions: 35 % `get subscriber data`, 10 % `get new destination`, 35 % `get access data`, 2 %
//!    `update subscriber data`, 14 % `update location`, 2 % `insert call forwarding`, 2 % `delete call
//!    forwarding`.
//! 3. Subscribers are drawn by the description's rule, `((0..=A | 1..=N) mod N) + 1`, where A is 65,535 up
//!    to a million subscribers, 1,048,575 up to ten and 2,097,151 above; or uniformly.
//! 4. Types, starts and ends are drawn independently of the existing rows. If a row is missing, or already
//!    exists, the transaction aborts itself, which the description expects of 76.1 % of `get new
//!    destination`, 37.5 % of `get access data` and of `update subscriber data`, and 68.75 % of inserts and
//!    deletes of call forwarding: these are aborts, neither commits nor errors.
//! 5. The last three transactions find the subscriber by number: through a unique index, or with
//!    `lookup=table` through a separate table, for stores without indexes.
//!
//! The check: every call forwarding belongs to a special facility of its subscriber, the other tables hold
//! the loaded rows, and the number of call forwardings matches the committed inserts and deletes.
//!
//! Deviations: an insert first checks that its special facility exists and its row does not, instead of
//! relying on constraints, which are not declared here. `BenchBase` draws subscribers uniformly, gives all of
//! them the same types of access, and aborts successful updates; none of that is reproduced.

mod check;
mod input;
mod options;
mod population;
mod schema;
mod transactions;

pub use input::Distribution;
pub use options::{Lookup, Options};
pub use schema::Tatp;
pub use transactions::{Tally, TatpClient};
