//! Reading the kernel's small text files.

use std::fs;
use std::path::Path;

/// The whole text; none if it cannot be read.
pub fn read_text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// The first line, trimmed; none if it cannot be read or is empty.
pub fn read_line(path: &Path) -> Option<String> {
    let text = read_text(path)?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}
