//! The tables of a profiled run: the cost by module, how each metric was measured, functions.

mod accounts;
mod functions;
mod modules;

pub use accounts::accounts;
pub use functions::functions_of;
pub use modules::cost;
