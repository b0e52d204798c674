//! A verification: the finding in sentences.

use super::prose::{self, fact};
use syncline_record::VerificationRecord;

/// The view of a verification.
pub fn verification(record: &VerificationRecord) -> String {
    let (identity, body) = (&record.identity, &record.body);
    let mut text =
        format!("verified {}   {}   {}\n\n", record.title(), identity.started, identity.id);
    for sentence in &body.sentences {
        // A sentence of several lines is a table and is not wrapped.
        text += &if sentence.contains('\n') {
            format!("{sentence}\n")
        } else {
            prose::paragraph(sentence)
        };
    }
    text += "\n";
    text += &fact("outcome", &body.outcome);
    text += &fact("syncline", &identity.syncline);
    text += &fact("machine", &body.machine.in_words());
    text
}
