//! `syncline verify`: a finding, its record, and its sentences.

use super::facts;
use crate::args::{ClaimedArg, DurabilityArgs, IsolationArgs, VerifyArgs, VerifyVerb};
use crate::exit::{CannotRun, Outcome, Verdict};
use crate::shelf::Shelf;
use crate::{interrupt, terminal};
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use syncline_contract::{Isolation, Target};
use syncline_verify::durability::{self, Class, FaultVerdict, Finding, Program, Request};
use syncline_verify::isolation::{self, History, elle};

/// The argument that tells this program to be a child of a verification.
pub(crate) const CHILD: &str = "verify-child";

/// Does what the verb says.
pub(crate) fn verify<S: Shelf>(args: &VerifyArgs, shelf: &S) -> Outcome {
    match &args.verb {
        VerifyVerb::Durability(args) => durability(args),
        VerifyVerb::Isolation(args) => isolation(args, shelf),
    }
}

fn durability(args: &DurabilityArgs) -> Outcome {
    let program = Program::this(CHILD)?;
    if let Some(image) = &args.again {
        let scratch = scratch(args, &durability::kept(image)?.store)?;
        return again(image, &program, &scratch);
    }
    let (store, options) = durability::parse(args.target.as_deref().unwrap_or_default())?;
    let scratch = scratch(args, &store)?;
    let request = Request {
        store,
        options,
        images: args.images as u64,
        control_images: args.control_images as u64,
        kills: args.kills,
        load: args.load,
        must_hold: args.must_hold,
        tears: !args.no_tears,
        faults: !args.no_faults,
        seed: args.seed,
        scratch: scratch.0.clone(),
        keep: args.keep.clone(),
    };
    let bar = terminal::Progress::of_words();
    let progress = |what: &str| bar.at(0, what);
    let finding = durability::verify(&request, &program, interrupt::stop_flag(), &progress)?;
    drop(bar);
    let text = serde_json::to_string_pretty(&finding)? + "\n";
    let file = write_record(&args.runs, "durability", &text)?;
    if args.json {
        terminal::print(&text)?;
    } else {
        terminal::print(&(finding.sentences().join("\n") + "\n"))?;
    }
    terminal::note(&format!("record: {}", file.display()));
    Ok(verdict(&finding))
}

/// A folder where that store is quickest, unless another was named.
fn scratch(args: &DurabilityArgs, store: &str) -> Result<Scratch, CannotRun> {
    let quickest = || durability::place(store).unwrap_or_else(|| PathBuf::from("."));
    let directory = args.dir.clone().unwrap_or_else(quickest);
    facts::must_be_directory(&directory)?;
    Scratch::new(&directory)
}

/// What a finding means for the exit code; the reason of anything but 0 is said on standard error.
fn verdict(finding: &Finding) -> Verdict {
    if let Some(FaultVerdict::NotDurable(evidence)) = &finding.fault_verdict {
        terminal::error(&format!("not durable on a disk that fails: {evidence}"));
    }
    match &finding.verdict {
        durability::Verdict::Survived { .. } | durability::Verdict::PromisesNothing(_)
            if finding.is_broken() =>
        {
            Verdict::Broken
        }
        durability::Verdict::Survived { .. } | durability::Verdict::PromisesNothing(_) => {
            Verdict::Holds
        }
        durability::Verdict::NotDurable(evidence) => {
            terminal::error(&format!("not durable: {evidence}"));
            Verdict::Broken
        }
        durability::Verdict::Unknown(reason) => {
            terminal::error(&format!("unknown: {reason}"));
            Verdict::Partial
        }
    }
}

fn again(image: &Path, program: &Program, scratch: &Scratch) -> Outcome {
    let (case, now) = durability::look_again(image, program, &scratch.0)?;
    terminal::print(&format!(
        "{}?{}, {} acknowledged, power cut behind step {} with loss \"{}\".\nThen: {}: {}\nNow: {}: {}\n",
        case.store,
        case.options,
        case.outcome.acknowledged,
        case.cut.step,
        case.cut.loss.word(),
        case.outcome.class.words(),
        case.outcome.what,
        now.class.words(),
        now.what,
    ))?;
    if now.class == Class::Ok {
        return Ok(Verdict::Holds);
    }
    terminal::error(&format!("{}: {}", now.class.words(), now.what));
    Ok(Verdict::Broken)
}

fn isolation<S: Shelf>(args: &IsolationArgs, shelf: &S) -> Outcome {
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
    let text = serde_json::to_string_pretty(&finding)? + "\n";
    let file = write_record(&args.runs, "isolation", &text)?;
    if args.json {
        terminal::print(&text)?;
    } else {
        terminal::print(&(finding.sentences().join("\n") + "\n"))?;
    }
    terminal::note(&format!("record: {}", file.display()));
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

fn write_record(runs: &Path, kind: &str, text: &str) -> Result<PathBuf, CannotRun> {
    fs::create_dir_all(runs)?;
    let file = runs.join(format!("{}.json", facts::identity(kind, 0).id));
    fs::write(&file, text)?;
    Ok(file)
}

/// A folder that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(directory: &Path) -> Result<Scratch, CannotRun> {
        let path = directory.join(format!("syncline-verify-{}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Scratch(path.canonicalize()?))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            let path = self.0.display();
            terminal::warn(&format!(
                "{path} could not be removed ({error}); remove it yourself"
            ));
        }
    }
}
