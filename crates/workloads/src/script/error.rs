//! Errors in a script, found before anything runs, each as one sentence with its place.

/// Why scripts cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// An error in a script.
    #[error("{file}:{line}:{column}: {what}")]
    Script {
        /// The script's file, or the name of a built-in one.
        file: String,
        /// From 1.
        line: usize,
        /// In characters, from 1.
        column: usize,
        /// The error.
        what: String,
    },
    /// A file that cannot be read.
    #[error("the script {file} cannot be read: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// The operating system's reason.
        why: String,
    },
    /// An invalid choice of scripts, weights or variables.
    #[error("{0}")]
    Choice(String),
}

/// A script's text and its origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'t> {
    /// The file, or the name of a built-in script.
    pub(super) name: &'t str,
    /// The whole text.
    pub(super) text: &'t str,
}

impl Source<'_> {
    /// The line of a byte offset, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        1 + self.text[..at].matches('\n').count()
    }

    /// An error at a byte offset.
    pub(super) fn error(&self, at: usize, what: impl Into<String>) -> ScriptError {
        self.error_in(self.line(at), at, what)
    }

    /// An error at a byte offset whose line is known.
    pub(super) fn error_in(&self, line: usize, at: usize, what: impl Into<String>) -> ScriptError {
        let start = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        ScriptError::Script {
            file: self.name.to_owned(),
            line,
            column: 1 + self.text[start..at].chars().count(),
            what: what.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn an_error_has_its_line_and_its_column_in_characters() {
        let source = Source { name: "a.sql", text: "one\nøø x" };
        let at = source.text.find('x').unwrap();
        assert_eq!(source.error(at, "no").to_string(), "a.sql:2:4: no");
        assert_eq!(source.error(0, "no").to_string(), "a.sql:1:1: no");
    }
}
