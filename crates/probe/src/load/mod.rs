//! A load that runs in a directory, or anywhere, while the probe measures beside it.
//!
//! 1. A load of the probe's own writes only to temporary files, which are removed with it.
//! 2. A command runs in a process group of its own, and the whole group is ended with it: when the
//!    measurement is over, after an error, and after either Ctrl-C. Only a probe that is killed leaves it
//!    running.
//! 3. A load that ends by itself ends the probe: what follows would not be measured beside it.

mod choice;
mod process_group;
mod running;

pub use choice::Load;
pub(crate) use process_group::end_all;
pub(crate) use running::RunningLoad;
