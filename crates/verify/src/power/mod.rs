//! A file system that loses power: what a store did is recorded once, and played back to every state
//! that a loss of power could have left.
//!
//! A [`Mount`] shows a directory at another path and passes every call through to it. It records each
//! change, sync and acknowledgement, in order. [`Mount::cut`] takes the power away: the same lock that a
//! sync holds is taken, and from then on every call fails, so that nothing can be acknowledged that was
//! not stable before. Then the store's processes are killed. The [`Recording`] is played forward by a
//! [`Machine`]; at any step it makes an [`Image`] of what a [`Loss`] leaves under a [`Metadata`] model,
//! written as a plain directory in which the store recovers at native speed. So one run of a store gives
//! as many images as are wanted. While the store runs, [`Fault`]s can strike it.
//!
//! | file | what stands in it |
//! |---|---|
//! | `model.rs` | what may be lost, in words |
//! | `recording.rs` | the steps of a recording, and the tree it begins with |
//! | `base.rs` | that tree, read and copied aside |
//! | `content.rs` | the bytes of one file over its base |
//! | `pending.rs` | one file between two syncs |
//! | `names.rs` | names, stable and as seen |
//! | `machine.rs` | a recording played forward |
//! | `image.rs` | a tree as a loss of power left it |
//! | `class.rs` | what a file is to its store |
//! | `fault.rs` | errors, a full disk, flipped bits, slow syncs |
//! | `tree.rs` | the nodes of a mounted tree, and where they stand below |
//! | `switch.rs` | the one lock: power, recording, faults |
//! | `pass.rs` | each call, passed through |
//! | `calls.rs` | the calls as FUSE hands them over |
//! | `mount.rs` | mounted and unmounted |
//!
//! What it tests is the store and the contract of POSIX, as the kernel's FUSE client passes it on; not
//! the real file system below, nor the device. No figure of speed from a store on it means anything.

mod base;
mod calls;
mod class;
mod content;
mod fault;
mod image;
mod machine;
mod model;
mod mount;
mod names;
mod pass;
mod pending;
mod recording;
mod switch;
mod tree;

#[cfg(test)]
mod tests;

pub use class::{Class, Classify};
pub use fault::{Fault, FaultRule, Struck};
pub use image::{Image, Lost};
pub use machine::Machine;
pub use model::{Loss, Metadata, model_words};
pub use mount::{Mount, is_mounted, unmount_below};
pub use pending::Taken;
pub use recording::{ACKNOWLEDGEMENTS, Base, BaseNode, Kind, Node, Owner, Place, Recording, Step};
