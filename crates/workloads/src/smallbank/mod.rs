//! Smallbank: customers with a savings and a checking account each; a few customers are hot.
//!
//! Source: Alomari, Cahill, Fekete and Röhm, "The Cost of Serializability on Platforms That Use Snapshot
//! Isolation", ICDE 2008, pages 576 to 585, doi:10.1109/ICDE.2008.4497466, also the load of Cahill, Röhm
//! and Fekete, "Serializable Isolation for Snapshot Databases", SIGMOD 2008; `SendPayment` and the second
//! mix are those of H-Store and `BenchBase` (`benchmarks/smallbank`).
//! Read were: the abstract of the first, the beginning of section 4.4.1 of Alomari's thesis ("Ensuring
//! Serializable Executions with Snapshot Isolation DBMS", University of Sydney), which gives the three tables
//! and their keys, and `BenchBase`'s code. The text of both papers was not available; rules 2 to 4 rely on
//! other descriptions of them. Rules:
//!
//! 1. Three tables: `accounts` maps a customer's name to a number; `savings` and `checking` hold a balance by
//!    number. Every transaction begins with the name.
//! 2. `balance` reads both balances. `deposit checking` adds 1.30. `transact savings` adds or subtracts
//!    20.20 and aborts if the balance is too low. `write check` takes 5.00 from checking, plus a penalty of
//!    1.00 if both balances together hold less. `amalgamate` moves all money of one customer to another's
//!    checking. `send payment` moves 5.00 between checking accounts and aborts if the balance is too low.
//! 3. `mix=icde2008` draws the first five with equal probability. `mix=benchbase` draws 15 % amalgamate, 15 %
//!    balance, 15 % deposit checking, 25 % send payment, 15 % transact savings and 15 % write check.
//! 4. `hot_percent` percent of the drawn customers are among the first `hot`, the others among the rest. The
//!    paper has 18,000 customers, 1,000 of them hot, and 90 %.
//!
//! The check: the total changes only by committed deposits, withdrawals and penalties, and no savings account
//! is below zero.
//!
//! Deviations: in the paper the caller decides whether `transact savings` adds or subtracts; here both are
//! equally likely, so that savings do not run dry, while `BenchBase`'s mix only subtracts. Opening balances
//! are uniform from 10,000 to 50,000, because the paper does not publish its own. `BenchBase` draws them from
//! a bell curve and customers uniformly (`hot=0`); its `amalgamate` takes the sum out of the other customer's
//! savings, and its penalty is a rebate: both are bugs and not reproduced.

mod check;
mod options;
mod schema;
mod transactions;

pub use options::{Mix, Options};
pub use schema::SmallBank;
pub use transactions::{SmallBankClient, Tally};
