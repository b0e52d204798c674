//! The source of published figures, with everything that must accompany them.

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The source of a file of published figures.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Source {
    /// What was published, and where.
    pub(crate) title: String,
    /// When it was measured or published.
    pub(crate) date: String,
    /// What it was measured on.
    pub(crate) machine: String,
    /// What its figures count.
    pub(crate) counts: String,
    /// What is known to be wrong in it, or easily misread.
    pub(crate) known_errors: Vec<String>,
}

/// Parses a data file of this crate.
pub(super) fn parse<T: DeserializeOwned>(file: &str) -> T {
    serde_json::from_str(file).expect("the file is part of the program, and a test parses it")
}

#[cfg(test)]
impl Source {
    /// Fails unless every text is present.
    pub(super) fn assert_whole(&self) {
        let texts = [&self.title, &self.date, &self.machine, &self.counts];
        let texts = texts.into_iter().chain(&self.known_errors);
        assert!(texts.into_iter().all(|text| text.len() >= 4), "{self:?}");
        assert!(!self.known_errors.is_empty(), "each source has known errors");
    }
}
