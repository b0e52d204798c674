//! The path in a target's URL, at which data can stay for a later run.

use std::path::Path;

/// True if the URL contains a path.
pub(super) fn has_path(url: &str) -> bool {
    path(url).is_some()
}

/// Removes the directory of an emptied store, if it is an empty directory.
pub(super) fn remove_if_empty(url: &str) {
    let Some(path) = path(url).filter(|path| !path.starts_with("//")) else {
        return;
    };
    // It stays if it is not a directory or contains files.
    drop(std::fs::remove_dir(Path::new(path)));
}

fn path(url: &str) -> Option<&str> {
    let place = url.split('?').next().unwrap_or_default();
    let (_, path) = place.split_once(':')?;
    // An absolute path may have three slashes before it.
    let absolute = path.strip_prefix("//").filter(|rest| rest.starts_with('/'));
    let path = absolute.unwrap_or(path);
    Some(path).filter(|path| !path.is_empty())
}
