//! `syncline verify isolation`.

use super::record;
use crate::args::{ClaimedArg, IsolationArgs};
use crate::exit::{CannotRun, Outcome, Verdict};
use crate::shelf::Shelf;
use crate::{interrupt, terminal};
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use syncline_contract::{Isolation, Target};
use syncline_verify::isolation::{self, History, elle};

/// Verifies that transactions of a target stay apart, or checks a history.
pub(super) fn isolation<S: Shelf>(args: &IsolationArgs, shelf: &S) -> Outcome {
    let schedules = match &args.target {
        Some(url) if !args.no_schedules => schedules(url, shelf)?,
        _ => Vec::new(),
    };
    let (subject, claimed, history) = match (&args.check, &args.target) {
        (Some(file), _) => {
            let history = elle::read(BufReader::new(File::open(file)?))?;
            (file.display().to_string(), None, history)
        }
        (None, target) => {
            let url = target.as_deref().unwrap_or_default();
            let (claimed, history) = loaded(args, url, shelf)?;
            (url.to_owned(), Some(claimed), history)
        }
    };
    if let Some(file) = &args.history {
        let mut output = BufWriter::new(File::create(file)?);
        elle::write(&history, &mut output)?;
        output.flush()?;
        terminal::note(&format!("history: {}", file.display()));
    }
    let claimed = args.claimed.map(level).or(claimed);
    let claimed = claimed.unwrap_or(Isolation::NoneClaimed);
    let mut finding = isolation::Finding::of(&subject, claimed, &history);
    finding.schedules = schedules;
    let shown = record::Shown {
        runs: &args.runs,
        kind: "isolation",
        json: args.json,
    };
    shown.show(
        &serde_json::to_string_pretty(&finding)?,
        &finding.sentences(),
    )?;
    if finding.holds() {
        return Ok(Verdict::Holds);
    }
    terminal::error("an anomaly was seen that the level forbids");
    Ok(Verdict::Broken)
}

/// Plays Hermitage's schedules on every level of a target.
fn schedules<S: Shelf>(url: &str, shelf: &S) -> Result<Vec<isolation::Row>, CannotRun> {
    let mut rows = Vec::new();
    let bar = terminal::Progress::new(1);
    for level in isolation::levels(url) {
        let open = || {
            let opened = shelf.open(&level);
            opened.map_err(|error| syncline_verify::Error::cannot(error.0))
        };
        rows.push(isolation::hermitage(&level, open, &|what| bar.at(0, what))?);
    }
    Ok(rows)
}

/// Loads a target; what it claims, and what its clients saw.
fn loaded<S: Shelf>(
    args: &IsolationArgs,
    url: &str,
    shelf: &S,
) -> Result<(Isolation, History), CannotRun> {
    let target = shelf.open(url)?;
    let load = isolation::Load {
        transactions: args.transactions,
        clients: args.clients,
        seed: args.seed,
    };
    let loaded = isolation::load(&target, load, interrupt::stop_flag())?;
    if interrupt::stopped() {
        terminal::warn("stopped; what was done so far is checked");
    }
    terminal::note(&format!(
        "{} transactions on {}; checking",
        loaded.history.transactions.len(),
        target.name()
    ));
    Ok((loaded.claimed, loaded.history))
}

fn level(claimed: ClaimedArg) -> Isolation {
    match claimed {
        ClaimedArg::ReadCommitted => Isolation::ReadCommitted,
        ClaimedArg::RepeatableRead => Isolation::RepeatableRead,
        ClaimedArg::Snapshot => Isolation::Snapshot,
        ClaimedArg::Serializable => Isolation::Serializable,
    }
}
