//! The record of a finding: written first, then printed.

use crate::commands::environment;
use serde_json::Value;
use std::path::{Path, PathBuf};
use syncline_console::{CannotRun, Verdict, terminal};
use syncline_record::{Record, VerificationBody, VerificationRecord, Writer};
use syncline_report::table;

/// A finding about a subject, for a record.
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

/// Where a record is written, and how it is printed.
#[derive(Clone, Debug)]
pub(super) struct RecordOutput<'s> {
    /// The directory.
    pub(super) runs: &'s Path,
    /// The subcommand: "durability".
    pub(super) kind: &'s str,
    /// Print the record itself, instead of sentences.
    pub(super) json: bool,
    /// The record's identity, created when the verification began.
    pub(super) identity: syncline_record::Identity,
}

/// A store with the options of its URL: "sqlite?durability=os".
pub(super) fn setting(store: &str, options: &str) -> String {
    match options {
        "" => store.to_owned(),
        options => format!("{store}?{options}"),
    }
}

/// The identity of a new verification.
pub(super) fn identity() -> syncline_record::Identity {
    environment::identity("verification", 0)
}

/// Sentences, one per line; on a terminal wrapped between words. Text with its own line breaks is a table and
/// stays as it is.
fn wrapped(sentences: &[String]) -> String {
    match terminal::columns() {
        None => sentences.join("\n") + "\n",
        columns => table::at_width(columns, || {
            let wrapped = |sentence: &String| {
                if sentence.contains('\n') {
                    format!("{sentence}\n")
                } else {
                    table::paragraph(sentence)
                }
            };
            sentences.iter().map(wrapped).collect()
        }),
    }
}

impl RecordOutput<'_> {
    /// Writes the record of a finding and prints the finding, even if the record could not be written.
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
            terminal::print(&wrapped(&record.body.sentences))?;
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
