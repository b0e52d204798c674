//! Tests of a whole database.

mod concurrent_definitions;
mod creation;
mod definition_faults;
mod definitions;
mod end_to_end;
mod full_disk;
mod ghosts;
mod handles;
mod limits;
mod memory;
mod panics;
#[cfg(target_os = "linux")]
mod preallocator;
