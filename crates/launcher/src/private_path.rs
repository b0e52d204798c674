//! The names of private directories: `.syncline-NAME-PID-N`, unique to this process.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The current directory cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the current directory cannot be read: {why}; name a path in the target")]
pub struct NoCurrentDirectory {
    /// The operating system's message.
    why: String,
}

/// A path that stays the same when the process changes its directory.
pub fn absolute(path: &Path) -> Result<PathBuf, NoCurrentDirectory> {
    std::path::absolute(path).map_err(|error| NoCurrentDirectory { why: error.to_string() })
}

/// A path in `directory` that no other store or server uses, in this process or another.
pub fn private_path(directory: &Path, name: &str) -> Result<PathBuf, NoCurrentDirectory> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".syncline-{name}-{}-{number}", std::process::id());
        let path = absolute(&directory.join(name))?;
        if !path.exists() {
            return Ok(path);
        }
    }
}
