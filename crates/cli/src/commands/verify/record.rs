//! The record of a finding: written first, then shown.

use crate::commands::{facts, whole_file};
use crate::exit::{CannotRun, Verdict};
use crate::terminal;
use std::fs;
use std::path::{Path, PathBuf};
use syncline_report::table;

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

/// A line a sentence; in a terminal, which would break them anywhere, broken between words. What has lines
/// of its own is a table and stays as it is.
fn drawn(sentences: &[String]) -> String {
    match terminal::columns() {
        None => sentences.join("\n") + "\n",
        columns => table::at_width(columns, || {
            let drawn = |sentence: &String| {
                if sentence.contains('\n') {
                    format!("{sentence}\n")
                } else {
                    table::paragraph(sentence)
                }
            };
            sentences.iter().map(drawn).collect()
        }),
    }
}

impl Shown<'_> {
    /// Writes the record of a finding, which is JSON, and prints the finding, which is shown even where
    /// its record could not be kept.
    pub(super) fn show(&self, record: &str, sentences: &[String]) -> Result<Verdict, CannotRun> {
        let text = format!("{record}\n");
        let kept = self.keep(&text);
        if self.json {
            terminal::print(&text)?;
        } else {
            terminal::print(&drawn(sentences))?;
        }
        Ok(match kept {
            Ok(file) => {
                terminal::note(&format!("record: {}", file.display()));
                Verdict::Holds
            }
            Err(why) => {
                terminal::error(&why);
                Verdict::Partial
            }
        })
    }

    fn keep(&self, text: &str) -> Result<PathBuf, String> {
        let name = format!("{}.json", facts::identity(self.kind, 0).id);
        let file = self.runs.join(name);
        let written =
            fs::create_dir_all(self.runs).and_then(|()| whole_file::write(&file, text.as_bytes()));
        match written {
            Ok(()) => Ok(file),
            Err(error) => Err(format!(
                "cannot write the record {}: {error}; name another folder by --runs, or make room there",
                file.display()
            )),
        }
    }
}
