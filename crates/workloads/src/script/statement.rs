//! What a statement does, as far as its words tell.

use super::command::Control;
use super::lexer::Raw;
use super::variables::in_name;

/// What a statement does to the script's own transaction.
pub(super) fn control(words: &[String]) -> Control {
    let word = |number: usize| words.get(number).map_or("", String::as_str);
    match (word(0), word(1), word(2)) {
        ("BEGIN", ..) | ("START", "TRANSACTION", _) => Control::Begins,
        // Back to a savepoint, the transaction goes on.
        ("ROLLBACK", "TO", _) | ("ROLLBACK", _, "TO") => Control::None,
        ("COMMIT" | "END" | "ROLLBACK" | "ABORT", ..) => Control::Ends,
        _ => Control::None,
    }
}

/// True if a statement answers rows: where one that may answer none is taken for one that does, its
/// answer is empty.
pub(super) fn answers(raw: &Raw) -> bool {
    const FIRST: [&str; 12] = [
        "SELECT", "WITH", "VALUES", "TABLE", "SHOW", "EXPLAIN", "PRAGMA", "FETCH", "EXECUTE",
        "CALL", "DESCRIBE", "DESC",
    ];
    let first = raw.words.first().map_or("", String::as_str);
    raw.returning || FIRST.contains(&first)
}

/// True if a text has the name of a table as a word of its own.
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

    /// f02: a user's table may begin like one of pgbench's.
    #[test]
    fn only_a_word_of_its_own_names_a_table() {
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
