//! Where a store stands: the path of a URL, or a private place in the current directory.

use crate::error::Error;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The path behind a URL's colon: of `///data/x.db`, as other programs write an absolute path, `/data/x.db`.
pub(crate) fn plain(path: &str) -> &str {
    let absolute = path.strip_prefix("//").filter(|rest| rest.starts_with('/'));
    absolute
        .filter(|rest| !rest.starts_with("//"))
        .unwrap_or(path)
}

/// A path that stays the same wherever the process goes.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|error| Error::NoCurrentDirectory {
        why: error.to_string(),
    })
}

/// A path in the current directory that no other store of this process has, nor one of another
/// process: `.syncline-<store>-<pid>-<n>`.
pub(crate) fn private(store: &str) -> Result<PathBuf, Error> {
    private_in(Path::new("."), store)
}

/// The same in another directory.
pub(crate) fn private_in(directory: &Path, store: &str) -> Result<PathBuf, Error> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".syncline-{store}-{}-{number}", std::process::id());
        let path = absolute(&directory.join(name))?;
        if !path.exists() {
            return Ok(path);
        }
    }
}
