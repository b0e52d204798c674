//! Words that sentences of several findings share.

/// So many of something: "1 kill", "2 kills".
pub(crate) fn many(count: u64, word: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {word}{ending}")
}
