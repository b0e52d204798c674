//! What the kernel tells through `/proc`: processors, pressure, processes.

mod context_switches;
mod pressure;
mod process;
mod system_times;

pub(crate) use context_switches::own_switches;
pub use pressure::Pressure;
pub use process::ProcessUsage;
pub use system_times::SystemTimes;
