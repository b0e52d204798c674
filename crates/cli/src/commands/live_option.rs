//! `--live`: run although others use the server; passed to each target that has the option.

/// The URL with `live=yes` added, if its target has that option and the URL does not set it.
pub(super) fn with_live_option(url: &str, live: bool) -> String {
    let (place, options) = url.split_once('?').unwrap_or((url, ""));
    let name = place.split_once(':').map_or(place, |(name, _)| name);
    let has_option = syncline_stores::listings()
        .filter(|listing| listing.name == name)
        .any(|listing| listing.options.iter().any(|option| option.name == "live"));
    let is_given = options.split('&').any(|option| option.starts_with("live="));
    // A private server has no other users.
    if !live || !has_option || is_given || place.ends_with(":private") {
        return url.to_owned();
    }
    let separator = if options.is_empty() { '?' } else { '&' };
    format!("{}{separator}live=yes", url.trim_end_matches('?'))
}

#[cfg(test)]
mod tests {
    use super::with_live_option;

    #[test]
    fn targets_without_the_option_keep_their_url() {
        assert_eq!(with_live_option("sqlite:x?durability=os", true), "sqlite:x?durability=os");
        assert_eq!(with_live_option("null", true), "null");
    }
}
