//! The numbers of the processors that are online.

use crate::files::read_line;
use std::path::Path;

/// The numbers of the online processors, at least one.
pub fn online_cpus() -> Vec<i32> {
    let listed = read_line(Path::new("/sys/devices/system/cpu/online"));
    listed.as_deref().and_then(parse).unwrap_or_else(|| {
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        (0..i32::try_from(count).unwrap_or(1)).collect()
    })
}

/// Parses a list such as `0-3,5`.
fn parse(listed: &str) -> Option<Vec<i32>> {
    let mut found = Vec::new();
    for piece in listed.split(',') {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        found.extend(first.parse::<i32>().ok()?..=last.parse().ok()?);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::{online_cpus, parse};

    #[test]
    fn processors_are_listed_by_ranges() {
        assert_eq!(parse("0-3,5,8-9"), Some(vec![0, 1, 2, 3, 5, 8, 9]));
        assert_eq!(parse("0"), Some(vec![0]));
        assert_eq!(parse("x"), None);
        assert!(!online_cpus().is_empty());
    }
}
