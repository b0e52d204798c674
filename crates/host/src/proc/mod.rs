//! Processors, pressure and processes, from `/proc`.

mod context_switches;
mod dirty_memory;
mod pressure;
mod process;
mod system_times;

pub use context_switches::own_context_switches;
pub use dirty_memory::DirtyMemory;
pub use pressure::Pressure;
pub use process::{ProcessUsage, process_tree, threads};
pub use system_times::SystemTimes;
