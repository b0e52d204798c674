//! `syncline show`: records again, drawn from nothing but the records.

use crate::args::ShowArgs;
use crate::exit::{CannotRun, Outcome, Verdict};
use crate::terminal;
use std::path::Path;
use syncline_report::record::{self, Record};
use syncline_report::{html, table};

/// Shows records as table, JSON or HTML, or as a published source shows its own.
pub(crate) fn show(args: &ShowArgs) -> Outcome {
    let mut records = Vec::new();
    for path in &args.records {
        records.extend(record::read_all(path)?);
    }
    if args.share {
        records = records.iter().map(record::share).collect();
    }
    if let Some(path) = &args.html {
        write_report(path, &records)?;
        terminal::note(&format!("wrote {}", path.display()));
    } else if let Some(source) = args.source {
        terminal::print(&table::as_published(source.into(), &records)?)?;
    } else if args.statements {
        for run in records.iter().filter_map(Record::as_run) {
            terminal::print(&table::statements(run))?;
        }
    } else if args.json {
        terminal::print(&(record::json(&records) + "\n"))?;
    } else {
        terminal::print(&table::show(&records))?;
    }
    Ok(Verdict::Holds)
}

/// Writes a self-contained report, whole or not at all.
pub(crate) fn write_report(path: &Path, records: &[Record]) -> Result<(), CannotRun> {
    let mut half = path.as_os_str().to_owned();
    half.push(".part");
    let half = Path::new(&half);
    let written =
        std::fs::write(half, html::report(records)).and_then(|()| std::fs::rename(half, path));
    written.map_err(|error| {
        // What is half written helps nobody; that it stays is said by the first error.
        drop(std::fs::remove_file(half));
        CannotRun(format!(
            "cannot write the report {}: {error}",
            path.display()
        ))
    })
}
