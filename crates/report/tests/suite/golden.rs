//! Compares a text with its file under `tests/golden`; `UPDATE=1` writes the file instead.

use std::path::Path;

/// Fails with the first line that differs.
pub(crate) fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; write it with UPDATE=1", path.display()));
    if expected != text {
        let line = expected.lines().zip(text.lines()).position(|(one, other)| one != other);
        let line = line.unwrap_or_else(|| expected.lines().count().min(text.lines().count()));
        panic!(
            "{} differs in line {}: expected {:?}, found {:?}; if that is right, UPDATE=1 rewrites it",
            path.display(),
            line + 1,
            expected.lines().nth(line),
            text.lines().nth(line)
        );
    }
}
