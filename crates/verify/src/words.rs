//! Phrases that the sentences of several findings share.

/// A count with its noun: "1 kill", "2 kills".
pub(crate) fn many(count: u64, word: &str) -> String {
    let ending = match (count, word.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{count} {word}{ending}")
}
