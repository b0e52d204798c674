//! How a run is refused that would disturb others.

/// How such a refusal ends: what runs all the same.
pub(crate) const LIVE: &str = "say --live, or live=yes in the URL, to run all the same";

/// So many of them: "1 session", "2 sessions".
pub(crate) fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
