//! The log through its public face.

mod behaviour;
mod wake_ups;
