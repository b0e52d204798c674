//! The known name closest to a misspelt one.

/// A known name close to what was typed: within one letter for a short name, two for a long one.
pub(super) fn suggestion_for(
    typed: &str,
    mut known: impl Iterator<Item = &'static str>,
) -> Option<&'static str> {
    let far = if typed.len() < 8 { 1 } else { 2 };
    known.find(|known| distance(known, typed) <= far)
}

/// The edit distance: letters to change, add or remove.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut before = std::mem::replace(&mut row[0], line + 1);
        for (column, another) in other.iter().enumerate() {
            let changed = before + usize::from(letter != *another);
            before = row[column + 1];
            row[column + 1] = changed.min(before + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, suggestion_for};

    #[test]
    fn one_or_two_letters_are_close() {
        for (one, other, letters) in [
            ("table", "table", 0),
            ("table", "tables", 1),
            ("recordcount", "recordcuont", 2),
            ("", "abc", 3),
            ("abc", "", 3),
        ] {
            assert_eq!(distance(one, other), letters, "{one} {other}");
        }
        let known = || ["table", "recordcount"].into_iter();
        assert_eq!(suggestion_for("tabel", known()), None, "two letters of a short name");
        assert_eq!(suggestion_for("recordcuont", known()), Some("recordcount"));
    }
}
