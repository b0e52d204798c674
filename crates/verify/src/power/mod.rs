//! A file system that loses power: what a store did is recorded once, and played back to every state
//! that a loss of power could have left.
//!
//! A [`Mount`] shows a directory at another path and passes every call through to it. It records each
//! change, sync and acknowledgement, in order. [`Mount::cut`] takes the power away: the same lock that a
//! sync holds is taken, and from then on every call fails, so that nothing can be acknowledged that was
//! not stable before. Then the store's processes are killed. The [`Recording`] is played forward by a
//! [`Replay`]; at any step it makes an [`Image`] of what a [`Loss`] leaves under a [`Metadata`] model,
//! written as a plain directory in which the store recovers at native speed. So one run of a store gives
//! as many images as are wanted. While the store runs, [`Fault`]s can strike it.
//!
//! | file | what stands in it |
//! |---|---|
//! | `loss_model.rs` | what may be lost, in words |
//! | `recording.rs` | the steps of a recording, and the tree it begins with |
//! | `base_tree.rs` | that tree, read and copied aside |
//! | `file_content.rs` | the bytes of one file over its base |
//! | `pending.rs` | one file between two syncs |
//! | `directory_entries.rs` | names, stable and as seen |
//! | `replay.rs` | a recording played forward |
//! | `image.rs` | a tree as a loss of power left it |
//! | `file_class.rs` | what a file is to its store |
//! | `fault.rs` | errors, a full disk, flipped bits, slow syncs |
//! | `inode_tree.rs` | the nodes of a mounted tree, and where they stand below |
//! | `power_switch.rs` | the one lock: power, recording, faults |
//! | `passthrough.rs` | each call, passed through |
//! | `fuse_calls.rs` | the calls as FUSE hands them over |
//! | `mount.rs` | mounted and unmounted |
//!
//! What it tests is the store and the contract of POSIX, as the kernel's FUSE client passes it on; not
//! the real file system below, nor the device. No figure of speed from a store on it means anything.

mod base_tree;
mod directory_entries;
mod fault;
mod file_class;
mod file_content;
mod fuse_calls;
mod image;
mod inode_tree;
mod loss_model;
mod mount;
mod passthrough;
mod pending;
mod power_switch;
mod recording;
mod replay;

#[cfg(test)]
mod tests;

pub use fault::{Fault, FaultRule, InjectedFault};
pub use file_class::{Class, Classify};
pub use image::{Image, Lost};
pub use loss_model::{Loss, Metadata, model_words};
pub use mount::{Mount, is_mounted, unmount_below};
pub use pending::Taken;
pub use recording::{
    ACKNOWLEDGEMENTS, Base, BaseNode, DirectoryEntry, Kind, Node, Owner, Recording, Step,
};
pub use replay::Replay;
