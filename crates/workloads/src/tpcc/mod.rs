//! The tpcc workload: order entry of a wholesale supplier, derived from TPC-C.
//!
//! Source: TPC-C revision 5.11, and for the profile `k2` the client of the K2 platform (2022). Rules:
//!
//! 1. Nine tables, loaded by the population rules of clause 4.3 (`load.rs`): a hundred thousand items and,
//!    for each of `warehouses`, ten districts of three thousand customers.
//! 2. Five transactions, drawn by `weights`; one file each.
//! 3. A client is a terminal: its home warehouse is its number modulo the number of warehouses
//!    (`terminal.rs`). With `think=spec` it keys and thinks as in clause 5.2.5, which assumes ten terminals
//!    per warehouse: use ten clients per warehouse. With `think=none` it does neither.
//! 4. One in a hundred new-orders names a nonexistent item and is rolled back: it counts as aborted by the
//!    workload's own rule, is not retried, and is not an error.
//! 5. With `delivery=deferred` a drawn delivery is queued, and performed by the same client right after its
//!    next transaction; it is timed from its start, not from the queueing, which does not involve the store.
//! 6. After the run the twelve consistency conditions of clause 3.3.2 are checked, and that acknowledged
//!    transactions are present (`check/`).
//!
//! The profile `k2` differs where its source does so deliberately: weights in its order (payment,
//! order-status, delivery, new-order, stock-level), 40 instead of 60 percent of customers selected by last
//! name, ten districts of a delivery drawn with repetition instead of each once, and a stock-level district
//! determined by the client number alone. Its accounting is not followed: a rolled-back new-order is not
//! retried, failures are counted, and a retry repeats only the drawn input.
//!
//! Deviations from TPC-C, in both profiles: transactions are drawn individually and not from a deck; dates
//! are generated and not read from a clock, and no rule depends on them; terminal output is computed but not
//! displayed; there is no measurement interval of two hours, no checkpoint rule and no price. Smaller `items`
//! or `customers` are for experiments and mentioned in the notice.
//!
//! | file | what it holds |
//! |---|---|
//! | `options.rs`, `mix.rs`, `scale.rs` | options and profiles; the choice of transactions by weight; the numbers of rows |
//! | `schema.rs`, `load.rs`, `names.rs`, `permutation.rs` | tables and operations; the initial rows; their texts; random permutations |
//! | `client.rs`, `terminal.rs`, `inputs.rs`, `tally.rs` | a client; its terminal; the inputs of transactions; their outcomes |
//! | `new_order.rs`, `payment.rs`, `order_status.rs`, `delivery.rs`, `stock_level.rs` | the five transactions |
//! | `customer.rs` | the customer of a payment or an order-status |
//! | `check/` | the checks after a run |

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
