//! Statements of a user's script: unchanged except for placeholders, and for `END` where the product
//! only accepts `COMMIT`.
//!
//! Placeholders are written `$1`, `$2` and so on, and may repeat. A dialect of question marks gets one
//! for each occurrence, and their order; strings, quoted names and comments are left unchanged.

use super::Sql;
use super::dialect::Placeholder;
use super::text::Statement;

impl Sql<'_> {
    pub(super) fn users(self, given: &str) -> Statement {
        if !self.dialect.end_commits && given.trim().eq_ignore_ascii_case("end") {
            return self.users("COMMIT");
        }
        let mut text = String::with_capacity(given.len());
        let mut order = Vec::new();
        let mut rest = given;
        while !rest.is_empty() {
            let kept = quoted_length(rest);
            let (before, after) = rest.split_at(kept);
            text.push_str(before);
            rest = after;
            if let Some((number, length)) = parameter(rest) {
                match self.dialect.placeholder {
                    Placeholder::Positional => text.push('?'),
                    Placeholder::Numbered(_) => text.push_str(&rest[..length]),
                }
                order.push(number - 1);
                rest = &rest[length..];
            } else if let Some(first) = rest.chars().next().filter(|_| kept == 0) {
                text.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        Statement { text, order }
    }
}

/// The length of a string, quoted name or comment at the start of a text; 0 if there is none. One
/// without an end extends to the end of the text: the store will report the error.
fn quoted_length(text: &str) -> usize {
    let through = |start: usize, end: &str| {
        let found = text[start..].find(end);
        found.map_or(text.len(), |at| start + at + end.len())
    };
    if text.starts_with("--") {
        return through(2, "\n");
    }
    if text.starts_with("/*") {
        return through(2, "*/");
    }
    match text.chars().next() {
        // A doubled quote ends one string and begins the next, which has the same effect.
        Some('\'') => through(1, "'"),
        Some('"') => through(1, "\""),
        Some('`') => through(1, "`"),
        _ => 0,
    }
}

/// The number of a placeholder at the start of a text, from 1, and its length.
fn parameter(text: &str) -> Option<(usize, usize)> {
    let digits = text.strip_prefix('$')?;
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    let number = digits[..length].parse().ok().filter(|number| *number > 0)?;
    Some((number, length + 1))
}
