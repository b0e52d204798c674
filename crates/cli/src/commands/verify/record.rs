//! The record of a finding: written first, then shown.

use crate::commands::environment;
use serde_json::Value;
use std::path::{Path, PathBuf};
use syncline_console::{CannotRun, Verdict, terminal};
use syncline_record::{Record, VerificationBody, VerificationRecord, Writer};
use syncline_report::table;

/// What was found of what, for a record.
#[derive(Debug)]
pub(super) struct VerificationResult {
    /// The disk, store, target or history.
    pub(super) subject: String,
    /// "held", "broken", "promises nothing" or "unknown".
    pub(super) outcome: &'static str,
    /// The finding in sentences.
    pub(super) sentences: Vec<String>,
    /// The finding itself.
    pub(super) finding: Value,
}

/// Where a record goes, and how it is shown.
#[derive(Clone, Debug)]
pub(super) struct RecordOutput<'s> {
    /// The folder.
    pub(super) runs: &'s Path,
    /// What was verified: "durability".
    pub(super) kind: &'s str,
    /// The record itself, in place of sentences.
    pub(super) json: bool,
    /// The record's identity, made when the verification began.
    pub(super) identity: syncline_record::Identity,
}

/// A private store with the options of its URL: "sqlite?durability=os".
pub(super) fn setting(store: &str, options: &str) -> String {
    match options {
        "" => store.to_owned(),
        options => format!("{store}?{options}"),
    }
}

/// The identity of a verification that begins now.
pub(super) fn identity() -> syncline_record::Identity {
    environment::identity("verification", 0)
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

impl RecordOutput<'_> {
    /// Writes the record of a finding and prints the finding, which is shown even where its record could
    /// not be kept.
    pub(super) fn show(&self, found: VerificationResult) -> Result<Verdict, CannotRun> {
        let record = VerificationRecord {
            identity: self.identity.clone(),
            body: VerificationBody {
                verified: self.kind.to_owned(),
                subject: found.subject,
                machine: environment::machine(),
                outcome: found.outcome.to_owned(),
                sentences: found.sentences,
                finding: found.finding,
            },
        };
        let kept = self.keep(&record);
        if self.json {
            terminal::print(&(syncline_record::json(&[Record::from(record)]) + "\n"))?;
        } else {
            terminal::print(&drawn(&record.body.sentences))?;
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

    fn keep(&self, record: &VerificationRecord) -> Result<PathBuf, String> {
        Writer::write_verification(self.runs, record).map_err(|error| error.to_string())
    }
}
