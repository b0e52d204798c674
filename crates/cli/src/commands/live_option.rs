//! `--live`: run although others work on the server, told to each target that asks.

/// The URL with the option by which its target is told; as it is where the target has none, or was told
/// already.
pub(super) fn with_live_option(url: &str, live: bool) -> String {
    let (place, options) = url.split_once('?').unwrap_or((url, ""));
    let name = place.split_once(':').map_or(place, |(name, _)| name);
    let asks = syncline_stores::listings()
        .filter(|listing| listing.name == name)
        .any(|listing| listing.options.iter().any(|option| option.name == "live"));
    let told = options.split('&').any(|option| option.starts_with("live="));
    // A private server has nobody else.
    if !live || !asks || told || place.ends_with(":private") {
        return url.to_owned();
    }
    let separator = if options.is_empty() { '?' } else { '&' };
    format!("{}{separator}live=yes", url.trim_end_matches('?'))
}

#[cfg(test)]
mod tests {
    use super::with_live_option;

    #[test]
    fn targets_that_do_not_ask_are_not_told() {
        assert_eq!(with_live_option("sqlite:x?durability=os", true), "sqlite:x?durability=os");
        assert_eq!(with_live_option("null", true), "null");
    }
}
