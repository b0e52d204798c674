//! A database as its parts work together.

mod define;
mod full;
mod full_disk;
mod ghosts;
mod handles;
mod limits;
mod making;
mod memory;
#[cfg(target_os = "linux")]
mod online;
mod stocker;
mod whole;
