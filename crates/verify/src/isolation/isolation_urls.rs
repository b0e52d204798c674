//! The URLs under which a target is verified: one per level, with options that make a private server detect
//! deadlocks quickly.
//!
//! Clients that append to few lists run into hundreds of deadlocks, and speed is not measured here.

/// The option to add for a private server unless its URL sets it: the target, the option's beginning, and the
/// option. By default PostgreSQL checks for a deadlock after a second of waiting, Derby after twenty.
const FAST_DETECTION: [(&str, &str, &str); 2] = [
    ("postgres:private", "deadlock_timeout_ms=", "deadlock_timeout_ms=10"),
    ("derby:private", "jvm=", "jvm=-Dderby.locks.deadlockTimeout=1"),
];

/// The URL to verify, derived from the given one.
pub fn with_fast_deadlock_detection(url: &str) -> String {
    let place = url.split('?').next().unwrap_or(url);
    match FAST_DETECTION.iter().find(|(private, _, _)| *private == place) {
        Some((_, begins, option)) if !url.contains(begins) => with(url, option),
        _ => url.to_owned(),
    }
}

/// The levels of a target as URLs, from its option `isolation`; only the given URL if the target has no such
/// option or the URL sets it.
pub fn levels(url: &str) -> Vec<String> {
    let name = url.split([':', '?']).next().unwrap_or(url);
    let listing = syncline_stores::listings().find(|listing| listing.name == name);
    let option = listing.and_then(|listing| {
        let mut options = listing.options.iter();
        options.find(|option| option.name == "isolation")
    });
    let Some(option) = option.filter(|_| !url.contains("isolation=")) else {
        return vec![url.to_owned()];
    };
    let words = option.takes.split(", ").flat_map(|part| part.split(" or "));
    words.map(|word| with(url, &format!("isolation={}", word.trim()))).collect()
}

/// Adds an option.
fn with(url: &str, option: &str) -> String {
    let joint = if url.contains('?') { '&' } else { '?' };
    format!("{url}{joint}{option}")
}

#[cfg(test)]
mod tests {
    use super::{levels, with_fast_deadlock_detection};

    #[test]
    fn a_private_server_finds_deadlocks_soon_unless_its_url_says_when() {
        let expected = [
            ("postgres:private", "postgres:private?deadlock_timeout_ms=10"),
            (
                "postgres:private?durability=none",
                "postgres:private?durability=none&deadlock_timeout_ms=10",
            ),
            ("derby:private", "derby:private?jvm=-Dderby.locks.deadlockTimeout=1"),
        ];
        for (url, hasty) in expected {
            assert_eq!(with_fast_deadlock_detection(url), hasty);
            assert_eq!(with_fast_deadlock_detection(hasty), hasty);
        }
        for url in [
            "postgres:private?deadlock_timeout_ms=1000",
            "postgres://host/base",
            "mariadb:private",
            "sqlite",
        ] {
            assert_eq!(with_fast_deadlock_detection(url), url);
        }
    }

    #[test]
    fn a_target_has_a_url_for_each_level_of_its_own() {
        let levels_of = |url| levels(url).len();
        assert_eq!(levels_of("postgres:private?deadlock_timeout_ms=10"), 3);
        assert_eq!(levels_of("postgres:private?isolation=serializable"), 1);
        assert!(levels("engine?cap=1g")[0].starts_with("engine?cap=1g&isolation="));
    }
}
