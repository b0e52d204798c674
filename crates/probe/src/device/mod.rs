//! What lies under a directory, and who says so.
//!
//! Every reader takes the root of a file tree (`/` on a real machine) in which `proc`, `sys` and the
//! like are looked up, so that tests run on trees made for them. Nothing here asks the device itself
//! or needs privileges; what the kernel does not tell stays unknown.

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
