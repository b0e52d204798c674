//! A metered run's tables: the cost by module, how each metric was taken, functions.

mod accounts;
mod modules;

pub use accounts::accounts;
pub use modules::cost;
