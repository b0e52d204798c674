//! A file that is written whole or not at all.

use std::io;
use std::path::Path;

/// Writes beside the file first, and puts it in its place when all of it is there.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut half = path.as_os_str().to_owned();
    half.push(".part");
    let half = Path::new(&half);
    let written = std::fs::write(half, bytes).and_then(|()| std::fs::rename(half, path));
    if written.is_err() {
        // What is half written helps nobody; that it stays is said by the first error.
        drop(std::fs::remove_file(half));
    }
    written
}
