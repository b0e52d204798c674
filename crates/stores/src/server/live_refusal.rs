//! The refusal of runs that would disturb others.

/// The end of such a refusal: how to run anyway.
pub(crate) const LIVE: &str = "use --live, or live=yes in the URL, to run anyway";

/// A count with its noun: "1 session", "2 sessions".
pub(crate) fn pluralized(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
