//! `syncline verify durability`.

use super::CHILD;
use super::record;
use super::scratch::ScratchDir;
use crate::args::DurabilityArgs;
use crate::commands::environment;
use crate::commands::live_option::with_live_option;
use crate::interrupt;
use crate::registry::TargetRegistry;
use std::path::{Path, PathBuf};
use syncline_console::{CannotRun, Outcome, Verdict, terminal};
use syncline_contract::Target;
use syncline_contract::conformance::block_on;
use syncline_record::prepare_folder;
use syncline_stores::server::redacted_url;
use syncline_verify::durability::{self, ChildProgram, Class, FaultVerdict, Finding, Request};

/// Verifies a setting of a store, or checks a kept image again.
pub(super) fn durability<S: TargetRegistry>(args: &DurabilityArgs, registry: &S) -> Outcome {
    let program = ChildProgram::this(CHILD)?;
    if let Some(image) = &args.again {
        let scratch = scratch(args, &durability::read_case(image)?.store)?;
        return again(image, args.output.json, &program, &scratch);
    }
    let (store, options, like) = if let Some(url) = &args.like {
        let like = replica_config(url, registry)?;
        (like.store.to_owned(), like.options, Some(like.replica))
    } else {
        let target = args.target.as_deref().unwrap_or_default();
        let (store, options) = durability::parse(durability::VERB, target)?;
        (store, options, None)
    };
    prepare_folder(&args.output.runs)?;
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
        recorded_bytes_max: durability::RECORDED_BYTES_MAX,
        seed: args.seed,
        scratch: scratch.path().to_owned(),
        keep: args.keep.clone(),
        like,
    };
    let identity = record::identity();
    let bar = terminal::Progress::of_messages();
    let progress = |what: &str| bar.at(0, what);
    let finding = durability::verify(&request, &program, interrupt::stop_flag(), &progress)?;
    drop(bar);
    let shown = record::RecordOutput {
        runs: &args.output.runs,
        kind: "durability",
        json: args.output.json,
        identity,
    };
    let kept = shown.show(record::VerificationResult {
        subject: record::setting(&finding.store, &finding.options),
        outcome: outcome(&finding),
        sentences: finding.sentences(),
        finding: serde_json::to_value(&finding)?,
    })?;
    Ok(kept.and(verdict(&finding)))
}

/// Reads a live server's settings, and returns the replica configuration.
fn replica_config<S: TargetRegistry>(
    url: &str,
    registry: &S,
) -> Result<durability::ReplicaConfig, CannotRun> {
    // The server is only read, so other sessions do not matter.
    let target = registry.open(&with_live_option(url, true))?;
    let seen = block_on(&(), target.observe())?;
    Ok(durability::like(&redacted_url(url), &seen)?)
}

/// A scratch directory where the store is fastest, unless `--dir` names another.
fn scratch(args: &DurabilityArgs, store: &str) -> Result<ScratchDir, CannotRun> {
    let quickest = || durability::place(store).unwrap_or_else(|| PathBuf::from("."));
    let directory = args.dir.clone().unwrap_or_else(quickest);
    environment::must_be_directory(&directory)?;
    ScratchDir::new(&directory)
}

/// The outcome of a finding, as the record stores it.
fn outcome(finding: &Finding) -> &'static str {
    let fails = matches!(&finding.fault_verdict, Some(FaultVerdict::NotDurable(_)));
    match &finding.verdict {
        durability::Verdict::NotDurable(_) => "broken",
        durability::Verdict::Unknown(_) => "unknown",
        durability::Verdict::Survived { .. } if fails || finding.is_broken() => "broken",
        durability::Verdict::Survived { .. } => "held",
        durability::Verdict::PromisesNothing(_) => "promises nothing",
    }
}

/// The verdict of a finding; the reason for anything but 0 is printed on standard error.
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

/// The version of the output of `--again --json`.
const AGAIN_FORMAT: u32 = 1;

fn again(image: &Path, json: bool, program: &ChildProgram, scratch: &ScratchDir) -> Outcome {
    let (case, now) = durability::recheck_images(image, program, scratch.path())?;
    let options = match &*case.options {
        "" => String::new(),
        options => format!("?{options}"),
    };
    if json {
        let found = serde_json::json!({
            "format": AGAIN_FORMAT,
            "image": image,
            "store": case.store,
            "options": case.options,
            "cut": case.cut,
            "fault": case.fault,
            "then": case.outcome,
            "now": now,
        });
        terminal::print(&format!("{}\n", serde_json::to_string_pretty(&found)?))?;
    } else {
        let fault = case.fault.as_ref();
        let fault = fault.map(|fault| format!("after a {fault}, "));
        terminal::print(&format!(
            "{}{options}, {} acknowledged, {}power lost after step {} with loss \"{}\".\nThen: {}: {}\nNow: \
             {}: {}\n",
            case.store,
            case.outcome.acknowledged,
            fault.unwrap_or_default(),
            case.cut.step,
            case.cut.loss.word(),
            case.outcome.class.words(),
            case.outcome.what,
            now.class.words(),
            now.what,
        ))?;
    }
    if now.class == Class::Ok {
        return Ok(Verdict::Holds);
    }
    terminal::error(&format!("{}: {}", now.class.words(), now.what));
    Ok(Verdict::Broken)
}
