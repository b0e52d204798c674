//! A database as its parts work together.

mod define;
mod full;
mod ghosts;
mod handles;
mod limits;
mod making;
#[cfg(target_os = "linux")]
mod stocker;
mod whole;
