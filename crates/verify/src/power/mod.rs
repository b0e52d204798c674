//! A file system that loses power: it records a store's writes once, and replays them to any state that a
//! power loss could have left.
//!
//! A [`Mount`] shows a directory at another path and passes every call through to it. It records each change,
//! sync and acknowledgement in order. [`Mount::cut`] switches the power off: it takes the lock that syncs
//! hold, and from then on every call fails, so nothing can be acknowledged that was not stable before. Then
//! the store's processes are killed. A [`Replay`] plays the [`Recording`] forward; at any step it makes an
//! [`Image`] of what a [`Loss`] leaves under a [`Metadata`] model. The image is written as a plain directory,
//! in which the store recovers at native speed. So one run of a store yields any number of images. While the
//! store runs, [`Fault`]s can strike it.
//!
//! | file | what it holds |
//! |---|---|
//! | `loss_model.rs` | what a power loss may take |
//! | `recording.rs` | the steps of a recording, and the tree it starts from |
//! | `base_tree.rs` | reads and copies that tree |
//! | `file_content.rs` | the bytes of one file over its base |
//! | `pending.rs` | one file between two syncs |
//! | `directory_entries.rs` | names, stable and visible |
//! | `replay.rs` | plays a recording forward |
//! | `image.rs` | a tree as a power loss left it |
//! | `file_class.rs` | the role of a file in its store |
//! | `fault.rs` | errors, a full disk, flipped bits, slow syncs |
//! | `inode_tree.rs` | the nodes of a mounted tree, and their backing paths |
//! | `power_switch.rs` | the one lock: power, recording, faults |
//! | `passthrough.rs` | the file operations, passed through to the backing directory |
//! | `fuse_calls.rs` | the FUSE callbacks |
//! | `mount.rs` | mounting and unmounting |
//! | `tests.rs` | tests of recording and replay |
//!
//! This tests the store against the contract of POSIX, as the kernel's FUSE client implements it. It does not
//! test the real file system or the device. Speed measured on this file system is meaningless.

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
pub use pending::FileLoss;
pub use recording::{
    ACKNOWLEDGEMENTS, Base, BaseNode, DirectoryEntry, Kind, Node, Owner, Recording, Step,
};
pub use replay::Replay;
