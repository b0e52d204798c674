//! The place that a target's URL names, at which what it holds can stay for a later run.

use std::path::Path;

/// True if the URL names a place.
pub(super) fn has_path(url: &str) -> bool {
    path(url).is_some()
}

/// Removes the directory of a store that was emptied, if it is one and nothing stands in it.
pub(super) fn remove_if_empty(url: &str) {
    let Some(path) = path(url).filter(|path| !path.starts_with("//")) else {
        return;
    };
    // Where something of others stands, or no directory, it stays.
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
