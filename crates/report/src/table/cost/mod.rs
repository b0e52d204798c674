//! A metered run's tables: the cost by module, how each metric was taken, functions.

mod accounts;
mod functions;
mod modules;

pub use accounts::accounts;
pub use functions::functions_of;
pub use modules::cost;
