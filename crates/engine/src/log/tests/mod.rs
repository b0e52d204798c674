//! The log through its public interface.

mod behaviour;
mod failed_syncs;
mod lost_files;
mod wake_ups;
