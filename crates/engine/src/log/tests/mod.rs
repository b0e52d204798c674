//! The log through its public face.

mod behaviour;
mod lost_files;
mod wake_ups;
