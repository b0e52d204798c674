//! Text around tables: wrapped paragraphs, lists of facts, sections.

use super::width::width;

/// The text wrapped to the width; the first line starts with `first`, the others with as many spaces.
pub(super) fn wrap(first: &str, text: &str) -> String {
    let indent = first.chars().count();
    let mut result = String::from(first);
    let mut column = indent;
    for (index, word) in text.split_whitespace().enumerate() {
        let length = word.chars().count();
        if index > 0 && column + 1 + length > width() {
            result.push('\n');
            result.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else if index > 0 {
            result.push(' ');
            column += 1;
        }
        result.push_str(word);
        column += length;
    }
    result.push('\n');
    result
}

/// "name        value", the value wrapped in its column.
pub(super) fn fact(name: &str, value: &str) -> String {
    wrap(&format!("{name:<14}"), value)
}

/// An option of a listed item, its meaning wrapped in its column.
pub fn option(name: &str, meaning: &str) -> String {
    wrap(&format!("    {name:<18} "), meaning)
}

/// A listed item: name, availability, description.
pub fn list_item(name: &str, state: &str, what: &str) -> String {
    wrap(&format!("{name:<11} {state:<13} "), what)
}

/// A sentence wrapped to the width.
pub fn paragraph(text: &str) -> String {
    wrap("", text)
}

/// A heading with a blank line before it.
pub(super) fn heading(text: &str) -> String {
    format!("\n{text}\n")
}

#[cfg(test)]
mod tests {
    use super::{fact, option, wrap};

    #[test]
    fn long_texts_wrap_under_their_first_word() {
        let text = wrap("- ", &"word ".repeat(30));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| line.chars().count() <= 100));
        assert!(lines[0].starts_with("- word") && lines[1].starts_with("  word"));
        assert_eq!(option("wait", "how").trim_end(), "    wait               how");
        assert_eq!(fact("durability", "none"), "durability    none\n");
    }
}
