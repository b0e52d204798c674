//! What a statement does, as far as its words tell.

use super::command::Control;
use super::lexer::Raw;

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
