//! The names of private directories, `.syncline-NAME-PID-N`, which no other process uses.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The current directory cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the current directory cannot be read: {why}; name a path in the target")]
pub struct NoCurrentDirectory {
    /// The operating system's message.
    why: String,
}

/// Makes a path absolute, so that it remains valid if the process changes its directory.
pub fn absolute(path: &Path) -> Result<PathBuf, NoCurrentDirectory> {
    std::path::absolute(path).map_err(|error| NoCurrentDirectory { why: error.to_string() })
}

/// A path in a directory that no other store or server of this process or of another uses.
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
