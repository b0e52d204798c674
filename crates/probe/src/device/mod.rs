//! Facts about the layers below a directory, each with its source.
//!
//! Every reader takes the root of a file tree (`/` on a real machine) that contains `proc`, `sys` and the
//! like, so that tests can use artificial trees. Nothing here queries the device itself or needs privileges;
//! facts that the kernel does not report stay unknown.
//!
//! | file | what it holds |
//! |---|---|
//! | `inspect` | the entry point: all facts about a directory |
//! | `mounts` | the mount table, and the mount of a path |
//! | `file_system` | sync behavior by file system and mount options |
//! | `block_device` | the walk from a block device to its disks |
//! | `disk` | facts about a whole disk |
//! | `environment` | virtual machine and container |
//! | `caveats` | sentences for the reader |
//! | `free_space` | free bytes |
//! | `tree` | reading small files below a root |
//! | `fixture`, `tests` | artificial trees and the tests on them |

mod block_device;
mod caveats;
mod disk;
mod environment;
mod file_system;
mod free_space;
mod inspect;
mod mounts;
mod tree;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

pub(crate) use free_space::free_bytes;
pub use inspect::inspect;
