//! What lies under a directory, and who says so.
//!
//! Every reader takes the root of a file tree (`/` on a real machine) in which `proc`, `sys` and the
//! like are looked up, so that tests run on trees made for them. Nothing here asks the device itself
//! or needs privileges; what the kernel does not tell stays unknown.

mod block;
mod disk;
mod environment;
mod file_system;
mod inspect;
mod mounts;
mod sentences;
mod space;
mod tree;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

pub use inspect::inspect;
pub(crate) use space::free_bytes;
