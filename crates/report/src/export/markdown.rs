//! A Markdown table of records, for pull requests and wikis.

use syncline_record::Summary;
use syncline_record::units;

/// A row for each record. Signs that Markdown would read as its own are escaped.
pub fn markdown(records: &[Summary]) -> String {
    let mut text = "| started, UTC | what | per second | p50 | p99 | syncs per commit | durability | tag | id |\n\
                    |---|---|---:|---:|---:|---:|---|---|---|\n"
        .to_owned();
    for record in records {
        let what = match (&record.outcome, &record.cut_short) {
            (Some(outcome), _) => format!("{}: {outcome}", record.title),
            (None, Some(_)) => format!("{}, cut short", record.title),
            (None, None) => record.title.clone(),
        };
        let of_run = |text: String| if record.kind == "run" { text } else { String::new() };
        let measured = |text: String| if record.outcome.is_some() { String::new() } else { text };
        let cells = [
            record.started.clone(),
            what,
            measured(units::or_unknown(record.per_second, units::rate)),
            measured(units::or_unknown(record.p50_ns, units::span_ns)),
            measured(units::or_unknown(record.p99_ns, units::span_ns)),
            of_run(units::or_unknown(record.syncs_per_commit, units::figure)),
            of_run(units::or_unknown(record.durability.clone(), |word| word)),
            record.tag.clone().unwrap_or_default(),
            record.id.clone(),
        ];
        let cells = cells.map(|cell| escaped(&cell));
        text = text + "| " + &cells.join(" | ") + " |\n";
    }
    text
}

/// The text without signs that would end a cell or begin a tag, a link or an emphasis.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '\n' | '\r' => escaped.push(' '),
            '|' | '<' | '>' | '[' | ']' | '*' | '_' | '`' | '\\' => escaped.extend(['\\', sign]),
            sign => escaped.push(sign),
        }
    }
    escaped
}
