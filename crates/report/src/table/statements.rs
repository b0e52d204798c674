//! The statements that a record's store received, in its own language.

use super::prose;
use syncline_record::RunRecord;

/// The view of a run's statements.
pub fn statements(run: &RunRecord) -> String {
    let mut text = format!("{}   {}\n", run.title(), run.identity.id);
    let Some(statements) = &run.head.target.statements else {
        let why = run.head.target.statements_reason.as_deref();
        let why = why.unwrap_or("the record is of an older version, which did not store them");
        text += "\n";
        text += &prose::wrap("  ", &format!("no statements: {why}"));
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
    part("Created first", &statements.makes);
    part("Set on each session", &statements.settings);
    part("Around each transaction", &statements.transactions);
    for operation in &statements.operations {
        part(&format!("Operation: {}", operation.name), &operation.statements);
    }
    part("Removed afterwards", &statements.removes);
    text
}
