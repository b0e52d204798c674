//! The log through its public face.

mod behaviour;
mod failed_syncs;
mod lost_files;
mod wake_ups;
