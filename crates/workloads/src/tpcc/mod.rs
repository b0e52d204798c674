//! The tpcc workload: order entry of a wholesale supplier, derived from TPC-C.
//!
//! Source: TPC-C revision 5.11, and for the profile `k2` the client of the K2 platform (2022). Rules:
//!
//! 1. Nine tables, loaded by the population rules of clause 4.3 (`load.rs`), a hundred thousand items
//!    and, for each of `warehouses`, ten districts of three thousand customers.
//! 2. Five transactions, drawn by `weights`; one file each.
//! 3. A client is a terminal: its home warehouse is its number modulo the warehouses (`terminal.rs`).
//!    By `think=spec` it keys and thinks as clause 5.2.5 says, ten terminals a warehouse being the
//!    clause's number: give ten clients a warehouse. By `think=none` it does neither.
//! 4. One new-order in a hundred names an item that nobody has and is rolled back: counted as aborted
//!    by the workload's own rule, never tried again, no error.
//! 5. By `delivery=deferred` a drawn delivery is queued, and performed by the same client right after
//!    its next transaction; it is timed from the moment at which the client turns to it, not from the
//!    queueing, which asks nothing of the store and is not timed.
//! 6. After the run the twelve consistency conditions of clause 3.3.2 are checked, and that what was
//!    acknowledged is there (`check/`).
//!
//! The profile `k2` differs where its source does on purpose: weights in its order (payment,
//! order-status, delivery, new-order, stock-level), 40 of 100 customers chosen by last name instead of
//! 60, ten districts of a delivery drawn with repetition instead of each once, and a stock-level
//! district by client number alone. Its accounting is not followed: a rolled-back new-order is not
//! retried, failures are counted, and a retry repeats the drawn input and nothing more.
//!
//! Deviations from TPC-C, in both profiles: transactions are drawn one by one and not from a deck;
//! dates are counted and not read off a clock, and no rule depends on them; what a terminal would show
//! is computed and looked at by nobody; there is no measurement interval of two hours, no checkpoint
//! rule and no price. Smaller `items` or `customers` are for trying out, and say so in the notice.

mod check;
mod client;
mod customer;
mod delivery;
mod inputs;
mod load;
mod mix;
mod names;
mod new_order;
mod options;
mod order_status;
mod payment;
mod permutation;
mod scale;
mod schema;
mod stock_level;
mod tally;
mod terminal;

pub use client::TpccClient;
pub use options::{Delivery, Options, Profile, Think};
pub use schema::Tpcc;
pub use tally::Tally;
