//! Basic measuring tools that every crate shares and that depend on no other crate.
//!
//! [`Module`] is the one list of cost modules, from which column headings and the manual come; [`clock`] is
//! the one clock; [`tag`] is the byte that names the module a thread is in. The engine charges its modules,
//! the profiler attributes other processes to the same modules, and the runner takes every timestamp here,
//! through a [`Ticker`] where it needs one after each short transaction. [`memory`] reports how much memory
//! the process may use, which memory caps depend on.

pub mod clock;
pub mod memory;
mod module;
pub mod tag;
mod ticker;

pub use clock::Nanos;
pub use module::Module;
pub use ticker::Ticker;
