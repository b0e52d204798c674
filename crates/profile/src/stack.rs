//! Where a thread was: frames, stacks of them, and whose thread it was.

use serde::{Deserialize, Serialize};

/// A stack of a [`crate::Profile`]: frames from the innermost outwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StackId(pub(crate) u32);

/// A thread of a [`crate::Profile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ThreadId(pub(crate) u32);

/// Whose code a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    /// The kernel's; the object is `kernel` or a kernel module.
    Kernel,
    /// Machine code of a file: a program or a shared library; the object is the file's name.
    Native,
    /// Java, interpreted or compiled; the object is the class with its package, dots between.
    Java,
    /// What the thread says itself by its tag (`metering::tag`); the function is the module's name.
    Tag,
}

/// What is known of a frame's function.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Name {
    /// It has a symbol.
    Function(String),
    /// It has none, and stands between these two that have one: the linker keeps the functions of a
    /// source file together, so that its neighbours say which file it comes from. In place of a
    /// neighbour's name may stand the path of its source file, where that is all that is known of it.
    Between {
        /// The nearest named function at a lower address.
        before: Option<String>,
        /// The nearest named function at a higher address.
        after: Option<String>,
    },
    /// Nothing.
    Unknown,
}

/// A place in code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Frame {
    /// Whose code.
    pub space: Space,
    /// The file's name without its folder, or the class, as [`Space`] says; empty if not known.
    pub object: String,
    /// The function.
    pub name: Name,
    /// Where the function begins in the file, or where the frame is if that is not known; 0 outside
    /// of files. So that a frame without a name can be named later.
    pub offset: u64,
    /// True if the compiler put its code into that of the next frame outwards, whose `offset` it has then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inlined: bool,
}

/// What is known of a thread. Threads that are alike are one: there is no number in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Thread {
    /// The thread's own name, as the kernel or the JVM knows it.
    pub name: String,
    /// How its process calls itself in the process list, as PostgreSQL's do: "postgres: walwriter".
    /// What names users, databases and hosts is left out. None where it says no more than the name.
    pub title: Option<String>,
}
