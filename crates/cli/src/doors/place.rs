//! Whether what a target holds can stay for a later run.

/// True if the URL names a place, so that what is there can stay.
pub(super) fn has_path(url: &str) -> bool {
    let place = url.split('?').next().unwrap_or_default();
    place
        .split_once(':')
        .is_some_and(|(_, path)| !path.is_empty())
}
