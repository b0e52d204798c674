//! `syncline verify disk`: writes blocks until the power is cut, or checks which of them survived.

use super::record;
use crate::args::{CutArg, DiskArgs, MethodArg};
use crate::commands::environment;
use crate::interrupt;
use rustix::fs::statfs;
use std::fs;
use std::path::Path;
use syncline_console::{CannotRun, Outcome, Verdict, terminal};
use syncline_record::units::plural;
use syncline_verify::disk::{self, Cut, Limit, Method, Plan, Subject, WitnessClient};
use syncline_vfs::{RealDisk, SyncMethod};

/// Where the kernel reports the id of this boot, and the host's name.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";
const HOST: &str = "/proc/sys/kernel/hostname";

/// Writes, or checks.
pub(super) fn disk(args: &DiskArgs) -> Outcome {
    environment::must_be_directory(&args.directory)?;
    must_not_be_memory(&args.directory)?;
    let subject = subject(args)?;
    let mut caller = WitnessClient::connect(&args.witness)?;
    if args.check { check(args, &subject, &mut caller) } else { write(args, subject, &mut caller) }
}

/// File systems in memory, by the kernel's magic numbers: tmpfs, ramfs.
const MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// Refuses a directory that is not on a disk.
fn must_not_be_memory(directory: &Path) -> Result<(), CannotRun> {
    let found = statfs(directory).map_err(|error| {
        CannotRun(format!("cannot read the file system of {}: {error}", directory.display()))
    })?;
    if MEMORY.contains(&(found.f_type as u64)) {
        return Err(CannotRun(format!(
            "{} is in memory, not on a disk: every power loss erases it; name a directory on the disk \
             under test",
            directory.display()
        )));
    }
    Ok(())
}

fn write(args: &DiskArgs, subject: Subject, caller: &mut WitnessClient) -> Outcome {
    let (name, method) = (subject.name.clone(), method(args)?);
    let plan = Plan {
        subject,
        method,
        block_bytes: args.block,
        slots: args.slots,
        limit: Limit { blocks: args.blocks, time: args.time },
        abandon: args.abandon,
    };
    let stop = interrupt::stop_flag();
    let bar = terminal::Progress::of_steps(args.blocks.unwrap_or(0));
    let progress = |blocks| match blocks {
        // Every refusal is past.
        0 => terminal::note(&format!(
            "{name}: blocks of {} bytes by {}, each reported to {}; pull the plug at any time, and check with \
             --check",
            args.block,
            method.name(),
            args.witness
        )),
        blocks => bar.at(blocks, &format!("writing: {} reported", plural(blocks, "block"))),
    };
    let written = disk::write(&RealDisk, &plan, caller, stop, &progress)?;
    drop(bar);
    terminal::print(&format!(
        "{name}: {} blocks written, synced and promised; stopped in order, so no power loss was tested.\n",
        written.blocks
    ))?;
    Ok(Verdict::Holds)
}

fn check(args: &DiskArgs, subject: &Subject, caller: &mut WitnessClient) -> Outcome {
    let cut = args.cut.map(|cut| match cut {
        CutArg::PlugPull => Cut::PlugPull,
        CutArg::MachineKill => Cut::MachineKill,
    });
    let identity = record::identity();
    let finding = disk::check(&RealDisk, subject, cut, caller)?;
    let shown = record::RecordOutput {
        runs: &args.output.runs,
        kind: "disk",
        json: args.output.json,
        identity,
    };
    let kept = shown.show(record::VerificationResult {
        subject: finding.subject.clone(),
        outcome: match &finding.verdict {
            disk::Verdict::Survived(_) => "held",
            disk::Verdict::NotDurable(_) => "broken",
            disk::Verdict::Unknown(_) => "unknown",
        },
        sentences: finding.sentences(),
        finding: serde_json::to_value(&finding)?,
    })?;
    Ok(kept.and(match &finding.verdict {
        disk::Verdict::Survived(_) => Verdict::Holds,
        disk::Verdict::NotDurable(evidence) => {
            terminal::error(&format!("not durable: {evidence}"));
            Verdict::Broken
        }
        disk::Verdict::Unknown(reason) => {
            terminal::error(&format!("unknown: {reason}"));
            Verdict::Partial
        }
    }))
}

fn subject(args: &DiskArgs) -> Result<Subject, CannotRun> {
    let directory = environment::real(&args.directory)?;
    let read_line = |path: &str| match fs::read_to_string(path) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(error) => Err(CannotRun(format!("cannot read {path}: {error}"))),
    };
    let name = match &args.name {
        Some(name) => name.clone(),
        None => format!("{}:{}", read_line(HOST)?, directory.display()),
    };
    Ok(Subject { name, directory, boot: read_line(BOOT)? })
}

fn method(args: &DiskArgs) -> Result<Method, CannotRun> {
    let method = match (args.method, args.direct) {
        (MethodArg::Fsync, false) => SyncMethod::Fsync,
        (MethodArg::Fdatasync, false) => SyncMethod::Fdatasync,
        (MethodArg::OSync, false) => SyncMethod::OSync,
        (MethodArg::ODsync, false) => SyncMethod::ODsync,
        (MethodArg::Fsync, true) => SyncMethod::DirectFsync,
        (MethodArg::Fdatasync, true) => SyncMethod::DirectFdatasync,
        (MethodArg::OSync, true) => SyncMethod::DirectOSync,
        (MethodArg::ODsync, true) => SyncMethod::DirectODsync,
    };
    Method::of(method).ok_or_else(|| CannotRun(format!("{} is not tested", method.name())))
}
