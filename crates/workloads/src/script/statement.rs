//! Determines from a statement's words what it does.

use super::command::Control;
use super::lexer::Raw;
use super::variables::in_name;

/// The statement's effect on the script's own transaction.
pub(super) fn control(words: &[String]) -> Control {
    let word = |number: usize| words.get(number).map_or("", String::as_str);
    match (word(0), word(1), word(2)) {
        ("BEGIN", ..) | ("START", "TRANSACTION", _) => Control::Begins,
        // After a rollback to a savepoint, the transaction continues.
        ("ROLLBACK", "TO", _) | ("ROLLBACK", _, "TO") => Control::None,
        ("COMMIT" | "END" | "ROLLBACK" | "ABORT", ..) => Control::Ends,
        _ => Control::None,
    }
}

/// True if a statement returns rows. A statement wrongly taken for one that does has an empty answer.
pub(super) fn answers(raw: &Raw) -> bool {
    const FIRST: [&str; 12] = [
        "SELECT", "WITH", "VALUES", "TABLE", "SHOW", "EXPLAIN", "PRAGMA", "FETCH", "EXECUTE",
        "CALL", "DESCRIBE", "DESC",
    ];
    let first = raw.words.first().map_or("", String::as_str);
    raw.returning || FIRST.contains(&first)
}

/// True if the name of a table appears in a text as a separate word.
pub(super) fn names_table(text: &str, table: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let mut places = text.match_indices(table);
    places.any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + table.len()..]);
        !before.ends_with(in_name) && !after.starts_with(in_name)
    })
}

#[cfg(test)]
mod tests {
    use super::names_table;

    /// f02: a user's table may have a name that begins like one of pgbench's.
    #[test]
    fn only_a_separate_word_names_a_table() {
        for (text, names) in [
            ("SELECT * FROM pgbench_accounts", true),
            ("select 1 from public.\"PGBENCH_ACCOUNTS\"", true),
            ("CREATE TABLE pgbench_accounts_copy (a int)", false),
            ("SELECT my_pgbench_accounts", false),
            ("SELECT 1 FROM pgbench_accounts2, pgbench_accounts", true),
        ] {
            assert_eq!(names_table(text, "pgbench_accounts"), names, "{text}");
        }
    }
}
