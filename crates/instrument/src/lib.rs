//! Where a transaction's time goes.
//!
//! Three things that every room shares and that know nothing of any room: [`Module`], the one list of
//! cost modules from which column headings and manual come, [`clock`], the one clock, and [`tag`],
//! the byte that says which module a thread is in. The engine
//! charges its modules, the meters attribute foreign processes to the same modules, and the runner
//! takes every timestamp here, where it needs one after each short transaction by a [`Ticker`].
//! Beside them [`memory`]: how much memory the process may use, which caps follow.

pub mod clock;
pub mod memory;
mod module;
pub mod tag;
mod ticker;

pub use clock::Nanos;
pub use module::Module;
pub use ticker::Ticker;
