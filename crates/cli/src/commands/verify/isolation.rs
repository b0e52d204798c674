//! `syncline verify isolation`.

use super::CHILD;
use super::record;
use super::scratch::ScratchDir;
use crate::args::{ClaimedArg, IsolationArgs};
use crate::interrupt;
use crate::registry::TargetRegistry;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use syncline_console::{CannotRun, Outcome, Verdict, terminal};
use syncline_contract::{Isolation, Target};
use syncline_record::prepare_folder;
use syncline_stores::server::redacted_url;
use syncline_verify::durability::{self, ChildProgram, Request};
use syncline_verify::isolation::{self, History, LoadResult, TransactionStatus, elle};

/// Verifies the isolation of a target's transactions, or checks a history.
pub(super) fn isolation<S: TargetRegistry>(args: &IsolationArgs, registry: &S) -> Outcome {
    prepare_folder(&args.output.runs)?;
    // From here on Ctrl-C leaves time to remove temporary data.
    interrupt::stop_flag();
    if let Some(crashes) = args.crashes {
        return across_crashes(args, crashes);
    }
    let identity = record::identity();
    let target = args.target.as_deref().map(isolation::with_fast_deadlock_detection);
    let schedules = match &target {
        Some(url) if !args.no_schedules => schedules(url, registry)?,
        _ => Vec::new(),
    };
    let (subject, loaded) = match (&args.check, &target) {
        (Some(file), _) => {
            let opened = File::open(file).map_err(|error| unusable("read", file, &error))?;
            let history = elle::read(BufReader::new(opened))?;
            (file.display().to_string(), from_elsewhere(history))
        }
        (None, target) => {
            let url = target.as_deref().unwrap_or_default();
            (redacted_url(url), loaded(args, url, registry)?)
        }
    };
    if let Some(file) = &args.history {
        let made = File::create(file).map_err(|error| unusable("write", file, &error))?;
        let mut output = BufWriter::new(made);
        elle::write(&loaded.history, &mut output)?;
        output.flush()?;
        terminal::note(&format!("history: {}", file.display()));
    }
    let history = &loaded.history;
    if history.count(TransactionStatus::Committed) == 0 {
        let what = match history.transactions.len() {
            0 => "its history contains no transaction".to_owned(),
            1 => "the one transaction of its history did not commit".to_owned(),
            begun => format!("none of the {begun} transactions of its history committed"),
        };
        return Err(CannotRun(format!("{subject}: {what}, so the result is unknown")));
    }
    let claimed = args.claimed.map_or(loaded.claimed, level);
    let mut finding = isolation::Finding::of(&subject, &loaded.product, claimed, history);
    finding.schedules = schedules;
    finding.memory_bytes_max = memory_peak();
    let view = record::RecordOutput {
        runs: &args.output.runs,
        kind: "isolation",
        json: args.output.json,
        identity,
    };
    let kept = view.show(record::VerificationResult {
        subject: finding.subject.clone(),
        outcome: if finding.holds() { "held" } else { "broken" },
        sentences: finding.sentences(),
        finding: serde_json::to_value(&finding)?,
    })?;
    if !finding.holds() {
        terminal::error("found an anomaly that the level forbids");
        return Ok(Verdict::Broken);
    }
    Ok(if interrupt::stopped() { Verdict::Partial } else { kept })
}

/// How long a store is loaded before the power loss.
const LOAD: Duration = Duration::from_secs(1);

/// Crashes a private store under load, and checks histories that continue after the crash.
fn across_crashes(args: &IsolationArgs, crashes: usize) -> Outcome {
    let target = args.target.as_deref().unwrap_or_default();
    let (store, options) = durability::parse("verify isolation --crashes", target)?;
    let directory = durability::place(&store).unwrap_or_else(|| PathBuf::from("."));
    let scratch = ScratchDir::new(&directory)?;
    let request = Request {
        store,
        options,
        images: crashes as u64,
        control_images: 0,
        kills: crashes.div_ceil(10) as u64,
        load: LOAD,
        must_hold: false,
        tears: !args.no_tears,
        faults: false,
        recorded_bytes_max: durability::RECORDED_BYTES_MAX,
        seed: args.seed,
        scratch: scratch.path().to_owned(),
        keep: scratch.path().join("kept"),
        like: None,
    };
    let identity = record::identity();
    let bar = terminal::Progress::of_messages();
    let progress = |what: &str| bar.at(0, what);
    let program = ChildProgram::this(CHILD)?;
    let found =
        durability::check_crash_histories(&request, &program, interrupt::stop_flag(), &progress)?;
    drop(bar);
    let view = record::RecordOutput {
        runs: &args.output.runs,
        kind: "crashes",
        json: args.output.json,
        identity,
    };
    let kept = view.show(record::VerificationResult {
        subject: record::setting(&found.store, &found.options),
        outcome: match (found.holds(), &found.no_cuts) {
            (false, _) => "broken",
            (true, Some(_)) => "unknown",
            (true, None) => "held",
        },
        sentences: found.sentences(),
        finding: serde_json::to_value(&found)?,
    })?;
    if !found.holds() {
        terminal::error("something promised did not survive a crash, or only in part");
        return Ok(Verdict::Broken);
    }
    match &found.no_cuts {
        Some(why) => {
            terminal::error(&format!("unknown: power loss was not simulated: {why}"));
            Ok(Verdict::Partial)
        }
        None => Ok(kept),
    }
}

/// The error for a history file that could not be read or written.
fn unusable(what: &str, file: &Path, error: &io::Error) -> CannotRun {
    CannotRun(format!("cannot {what} the history {}: {error}", file.display()))
}

/// Runs Hermitage's schedules at every isolation level of a target.
fn schedules<S: TargetRegistry>(url: &str, registry: &S) -> Result<Vec<isolation::Row>, CannotRun> {
    let mut rows = Vec::new();
    let bar = terminal::Progress::of_messages();
    for level in isolation::levels(url) {
        let open = || {
            if interrupt::stopped() {
                let why = "stopped before all schedules were run";
                return Err(syncline_verify::Error::cannot(why));
            }
            let opened = registry.open(&level);
            opened.map_err(|error| syncline_verify::Error::cannot(error.0))
        };
        rows.push(isolation::hermitage(&level, open, &|what| bar.at(0, what))?);
    }
    Ok(rows)
}

/// A history without further information.
fn from_elsewhere(history: History) -> LoadResult {
    LoadResult { product: String::new(), claimed: Isolation::NoneClaimed, history }
}

/// Loads a target; returns its reported settings and the operations of its clients.
fn loaded<S: TargetRegistry>(
    args: &IsolationArgs,
    url: &str,
    registry: &S,
) -> Result<LoadResult, CannotRun> {
    let target = registry.open(url)?;
    let load =
        isolation::Load { transactions: args.transactions, clients: args.clients, seed: args.seed };
    let loading = format!("loading {}", target.name());
    let bar = terminal::Progress::of_steps(args.transactions as u64);
    let begun = |count: usize| bar.at(count as u64, &loading);
    let loaded = isolation::load(&target, load, interrupt::stop_flag(), &begun)?;
    drop(bar);
    if interrupt::stopped() {
        terminal::warn("stopped; checking the history so far");
    }
    terminal::note(&format!(
        "{} transactions on {}; checking",
        loaded.history.transactions.len(),
        target.name()
    ));
    Ok(loaded)
}

/// The peak memory of this process in bytes, if the kernel reports it.
fn memory_peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

fn level(claimed: ClaimedArg) -> Isolation {
    match claimed {
        ClaimedArg::ReadCommitted => Isolation::ReadCommitted,
        ClaimedArg::RepeatableRead => Isolation::RepeatableRead,
        ClaimedArg::Snapshot => Isolation::Snapshot,
        ClaimedArg::Serializable => Isolation::Serializable,
    }
}
