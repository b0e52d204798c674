//! Patterns of names and of source files.
//!
//! `*` matches any characters, `?` for one, `[ab]` for one of these. In the name of a source file `*`
//! stops at a slash, and `**` as a whole component of the path matches any folders.

use glob::{MatchOptions, Pattern};

/// The options for matching paths of source files.
const OF_FILES: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// A list of patterns, of which one must match.
#[derive(Clone, Debug, Default)]
pub(super) struct Patterns(Vec<Pattern>);

impl Patterns {
    /// The error names the invalid pattern and the mistake.
    pub(super) fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Patterns, String> {
        let patterns = texts.into_iter().map(|text| {
            Pattern::new(text)
                .map_err(|error| format!("\"{text}\" is not a valid pattern: {}", error.msg))
        });
        Ok(Patterns(patterns.collect::<Result<_, _>>()?))
    }

    /// True if one of them matches a name.
    pub(super) fn fit(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| pattern.matches(name))
    }

    /// True if one of them matches the path of a source file.
    pub(super) fn fit_file(&self, path: &str) -> bool {
        self.0.iter().any(|pattern| pattern.matches_with(path, OF_FILES))
    }

    /// The first pattern that matches none of these source files.
    pub(super) fn without_file<'a>(
        &self,
        paths: &(impl Iterator<Item = &'a str> + Clone),
    ) -> Option<&str> {
        let idle = self.0.iter().find(|pattern| {
            let mut paths = paths.clone();
            !paths.any(|path| pattern.matches_with(path, OF_FILES))
        });
        idle.map(Pattern::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::Patterns;

    #[test]
    fn a_star_stops_at_a_slash_only_in_files() {
        let patterns = Patterns::new(["a/*", "b/**"]).unwrap();
        assert!(patterns.fit("a/b/c"));
        assert!(patterns.fit_file("a/b"));
        assert!(!patterns.fit_file("a/b/c"));
        assert!(patterns.fit_file("b/c/d.c"));
        assert!(!patterns.fit_file("bc/d.c"));
    }

    #[test]
    fn a_broken_pattern_is_named() {
        let error = Patterns::new(["good*", "bad[", "***"]).unwrap_err();
        assert!(error.starts_with("\"bad[\" is not a valid pattern: "), "{error}");
    }
}
