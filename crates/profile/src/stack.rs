//! Frames, stacks of frames, and threads.

use serde::{Deserialize, Serialize};

/// A stack of a [`crate::Profile`]: frames from the innermost outwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StackId(pub(crate) u32);

/// A thread of a [`crate::Profile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ThreadId(pub(crate) u32);

/// The address space of a frame's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    /// The kernel's; the object is `kernel` or a kernel module.
    Kernel,
    /// Machine code of a file: a program or a shared library; the object is the file's name.
    Native,
    /// Java, interpreted or compiled; the object is the class with its package, dots between.
    Java,
    /// The tag that the thread itself published (`syncline_instrument::tag`); the function is the module's
    /// name.
    Tag,
}

/// The name of a frame's function.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Name {
    /// It has a symbol.
    Function(String),
    /// It has none and is between these two that have one: the linker keeps the functions of a source file
    /// together, so that the neighbours identify the file. A neighbour may be the path of its source file
    /// instead of a name, if only that is known.
    Between {
        /// The nearest named function at a lower address.
        before: Option<String>,
        /// The nearest named function at a higher address.
        after: Option<String>,
    },
    /// Nothing is known.
    Unknown,
}

/// A place in code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Frame {
    /// The address space.
    pub space: Space,
    /// The file's name without its folder, or the class, as [`Space`] describes; empty if unknown.
    pub object: String,
    /// The function.
    pub name: Name,
    /// Where the function begins in the file, or the place of the frame if that is unknown; 0 outside of
    /// files. With it a frame without a name can be named later.
    pub offset: u64,
    /// True if the compiler inlined the function into that of the next frame outwards; it then has that
    /// frame's `offset`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inlined: bool,
}

/// The properties of a thread. Threads with equal properties are one: thread numbers are not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Thread {
    /// The thread's own name in the kernel or the JVM.
    pub name: String,
    /// The title of its process in the process list, as PostgreSQL sets it: "postgres: walwriter". Names of
    /// users, databases and hosts are removed. `None` if it adds nothing to the name.
    pub title: Option<String>,
}
