//! What a record's store was told, in its own language.

use super::prose;
use syncline_record::RunRecord;

/// The view of a run's statements.
pub fn statements(run: &RunRecord) -> String {
    let mut text = format!("{}   {}\n", run.title(), run.identity.id);
    let Some(told) = &run.head.target.statements else {
        let why = run.head.target.statements_reason.as_deref();
        let why = why
            .unwrap_or("the record is older than statements, or than the reason why it has none");
        text += "\n";
        text += &prose::wrapped("  ", &format!("no statements: {why}"));
        return text;
    };
    let mut part = |heading: &str, lines: &[String]| {
        if !lines.is_empty() {
            text += &prose::heading(heading);
            for line in lines {
                text += &format!("  {}\n", line.replace('\n', "\n  "));
            }
        }
    };
    part("Made first", &told.makes);
    part("Set on each session", &told.settings);
    part("Around each transaction", &told.transactions);
    for operation in &told.operations {
        part(&format!("Operation: {}", operation.name), &operation.statements);
    }
    part("Removed afterwards", &told.removes);
    text
}
