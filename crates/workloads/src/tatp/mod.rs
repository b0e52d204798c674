//! TATP: the register of a mobile network's subscribers, read four times of five.
//!
//! Source: "Telecommunication Application Transaction Processing (TATP) Benchmark Description", version
//! 1.0 of March 2009 (tatpbenchmark.sourceforge.net), after Strandell's thesis (University of Helsinki,
//! 2003). Read: that site's pages and its list of questions, which tell the tables' number, the seven
//! transactions, the 80 % of reads, and the benchmark's descent; and `BenchBase` (`benchmarks/tatp`). Not
//! read, since it could not be had: the description itself; rules 1, 3 and 4 are from others' descriptions
//! of it. Rules:
//!
//! 1. Four tables. `subscriber` has 34 columns and `subscribers` rows. Each subscriber has 1 to 4 rows of
//!    `access_info` and 1 to 4 of `special_facility`, of distinct types, 85 % of the latter active; each
//!    special facility has 0 to 3 rows of `call_forwarding`, starting at 0, 8 or 16 hours.
//! 2. Seven transactions, of a hundred: 35 `get subscriber data`, 10 `get new destination`, 35 `get access
//!    data`, 2 `update subscriber data`, 14 `update location`, 2 `insert call forwarding`, 2 `delete call
//!    forwarding`.
//! 3. Subscribers are drawn by the description's rule, `((0..=A | 1..=N) mod N) + 1`, where A is 65,535 up
//!    to a million subscribers, 1,048,575 up to ten and 2,097,151 above; or evenly.
//! 4. Types, starts and ends are drawn without looking at what is there. Where no row is found, or one is
//!    there already, the transaction aborts itself, as the description expects of 76.1 % of `get new
//!    destination`, 37.5 % of `get access data` and of `update subscriber data`, and 68.75 % of inserts and
//!    deletes of call forwarding: these are aborts, neither commits nor errors.
//! 5. The last three find the subscriber by number: through a unique index, or with `lookup=table` through
//!    a table of their own, for stores without indexes.
//!
//! The check: every call forwarding belongs to a special facility of its subscriber, the other tables hold
//! what was loaded, and call forwardings are as many as committed inserts and deletes say.
//!
//! Deviations: an insert looks first whether its special facility is there and its row is not, in place
//! of being refused by constraints that no store here declares. `BenchBase` draws subscribers evenly, gives
//! all of them the same types of access, and aborts the updates that succeed; none of that is kept.

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
