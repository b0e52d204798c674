//! Files named by a user: read whole up to a limit, so that an endless device or pipe (`/dev/zero`) leads to
//! an error instead of exhausting memory.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Reads a file of at most `most` bytes.
pub fn read_named(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let what = format!("it has more than {most} bytes; is it the right file?");
        return Err(io::Error::new(ErrorKind::InvalidData, what));
    }
    Ok(bytes)
}

/// Reads a text file of at most `most` bytes.
pub fn read_named_text(path: &Path, most: u64) -> io::Result<String> {
    let bytes = read_named(path, most)?;
    String::from_utf8(bytes)
        .map_err(|_error| io::Error::new(ErrorKind::InvalidData, "it is not a text in UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::{read_named, read_named_text};
    use std::path::Path;

    // A.D3
    #[test]
    fn an_endless_file_is_refused_and_a_short_one_is_read() {
        let why = read_named(Path::new("/dev/zero"), 1_000).unwrap_err();
        assert!(why.to_string().contains("more than 1000 bytes"), "{why}");
        assert_eq!(read_named(Path::new("/dev/null"), 0).unwrap(), b"");
        assert!(read_named(Path::new("/nowhere/at/all"), 9).is_err());
        assert!(read_named_text(Path::new("/bin/sh"), 1 << 24).is_err());
    }
}
