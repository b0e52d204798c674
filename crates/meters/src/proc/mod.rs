//! What the kernel tells through `/proc`: processors, pressure, processes.

mod pressure;
mod process;
mod system_times;

pub use pressure::Pressure;
pub use process::ProcessUse;
pub use system_times::SystemTimes;
