//! Smallbank: customers with a savings and a checking account each, and a hot few of them.
//!
//! Source: Alomari, Cahill, Fekete and Röhm, "The Cost of Serializability on Platforms That Use Snapshot
//! Isolation", ICDE 2008, pages 576 to 585, doi:10.1109/ICDE.2008.4497466, also the load of Cahill, Röhm
//! and Fekete, "Serializable Isolation for Snapshot Databases", SIGMOD 2008; `SendPayment` and the second
//! mix are those of H-Store and `BenchBase` (`benchmarks/smallbank`).
//! Read: the abstract of the first, the beginning of section 4.4.1 of Alomari's thesis ("Ensuring
//! Serializable Executions with Snapshot Isolation DBMS", University of Sydney), which gives the three
//! tables and their keys, and `BenchBase`'s code. Not read, since neither could be had: the text of both
//! papers; what rules 2 to 4 say of them is from others' descriptions. Rules:
//!
//! 1. Three tables: `accounts` gives a customer's number by name, `savings` and `checking` a balance by
//!    number. Every transaction begins with the name.
//! 2. `balance` reads both balances. `deposit checking` adds 1.30. `transact savings` brings or takes
//!    20.20 and aborts where that is not there. `write check` takes 5.00 from checking, and a penalty of
//!    1.00 more if both balances together hold less. `amalgamate` moves all of one customer to another's
//!    checking. `send payment` moves 5.00 between checking accounts and aborts where that is not there.
//! 3. `mix=icde2008` draws the first five alike. `mix=benchbase` draws 15 amalgamate, 15 balance, 15
//!    deposit checking, 25 send payment, 15 transact savings and 15 write check of a hundred.
//! 4. `hot_percent` of the customers drawn are among the first `hot`, the others among the rest. The paper
//!    has 18,000 customers, 1,000 of them hot, with 90 %.
//!
//! The check: nothing is lost or made but what deposits, withdrawals and penalties that were committed
//! say, and no savings account is below zero.
//!
//! Deviations: the paper leaves it to the caller whether `transact savings` brings or takes; each is as
//! likely here, so that savings do not run dry, while `BenchBase`'s mix only takes. Opening balances are
//! uniform from 10,000 to 50,000, as nothing is published of the paper's. `BenchBase` draws them from a
//! bell curve and customers evenly (`hot=0`); its `amalgamate` takes the sum out of the other customer's
//! savings, and its penalty is a rebate: both are bugs, and not kept.

mod check;
mod options;
mod schema;
mod transactions;

pub use options::{Mix, Options};
pub use schema::SmallBank;
pub use transactions::{SmallBankClient, Tally};
