//! A database as its parts work together.

mod define;
mod full;
mod full_disk;
mod ghosts;
mod handles;
mod limits;
mod making;
mod memory;
mod online;
mod panics;
#[cfg(target_os = "linux")]
mod stocker;
mod whole;
