//! Where published figures stand, and what must be said beside them.

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The source of a file of published figures.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Source {
    /// What it is and where it stands.
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

/// A file of this crate as what it holds.
pub(super) fn parsed<T: DeserializeOwned>(file: &str) -> T {
    serde_json::from_str(file).expect("the file is part of the program, and a test parses it")
}

#[cfg(test)]
impl Source {
    /// Fails unless everything that must be said is there.
    pub(super) fn assert_whole(&self) {
        let texts = [&self.title, &self.date, &self.machine, &self.counts];
        let texts = texts.into_iter().chain(&self.known_errors);
        assert!(texts.into_iter().all(|text| text.len() >= 4), "{self:?}");
        assert!(!self.known_errors.is_empty(), "each source has some");
    }
}
