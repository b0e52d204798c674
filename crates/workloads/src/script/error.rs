//! What can be wrong with a script before anything runs, each in one sentence that says where.

/// Why scripts cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// A script says something that it must not.
    #[error("{file}:{line}:{column}: {what}")]
    Script {
        /// The script's file, or the name of a built-in one.
        file: String,
        /// From 1.
        line: usize,
        /// In characters, from 1.
        column: usize,
        /// What is wrong.
        what: String,
    },
    /// A file that cannot be read.
    #[error("the script {file} cannot be read: {why}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the operating system says.
        why: String,
    },
    /// A choice of scripts, weights or variables that makes no sense.
    #[error("{0}")]
    Choice(String),
}

/// A script's text and where it comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'t> {
    /// The file, or the name of a built-in script.
    pub(super) name: &'t str,
    /// The whole text.
    pub(super) text: &'t str,
}

impl Source<'_> {
    /// The line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        1 + self.text[..at].matches('\n').count()
    }

    /// Something is wrong at a byte.
    pub(super) fn error(&self, at: usize, what: impl Into<String>) -> ScriptError {
        self.error_in(self.line(at), at, what)
    }

    /// The same where the line is known.
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
    fn an_error_says_its_line_and_its_column_in_characters() {
        let source = Source { name: "a.sql", text: "one\nøø x" };
        let at = source.text.find('x').unwrap();
        assert_eq!(source.error(at, "no").to_string(), "a.sql:2:4: no");
        assert_eq!(source.error(0, "no").to_string(), "a.sql:1:1: no");
    }
}
