//! The record of a finding: written first, then shown.

use crate::commands::facts;
use crate::exit::CannotRun;
use crate::terminal;
use std::fs;
use std::path::Path;

/// Where a record goes, and how it is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown<'s> {
    /// The folder.
    pub(super) runs: &'s Path,
    /// What was verified: "durability".
    pub(super) kind: &'s str,
    /// The record itself, in place of sentences.
    pub(super) json: bool,
}

impl Shown<'_> {
    /// Writes the record of a finding, which is JSON, and prints it.
    pub(super) fn show(&self, record: &str, sentences: &[String]) -> Result<(), CannotRun> {
        let text = format!("{record}\n");
        fs::create_dir_all(self.runs)?;
        let file = self
            .runs
            .join(format!("{}.json", facts::identity(self.kind, 0).id));
        fs::write(&file, &text)?;
        if self.json {
            terminal::print(&text)?;
        } else {
            terminal::print(&(sentences.join("\n") + "\n"))?;
        }
        terminal::note(&format!("record: {}", file.display()));
        Ok(())
    }
}
