//! What the kernel tells through `/proc`: processors, pressure, processes.

mod own_switches;
mod pressure;
mod process;
mod system_times;

pub(crate) use own_switches::own_switches;
pub use pressure::Pressure;
pub use process::ProcessUse;
pub use system_times::SystemTimes;
