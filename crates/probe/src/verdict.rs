//! Derives a verdict and its reason from facts and figures.
//!
//! 1. Evidence against a directory decides first: a layer that drops syncs, or a flush counter that does
//!    not move although the kernel reports a volatile cache.
//! 2. "Implausible" needs a known rotation speed (given by hand or by the disk's identity page, never the
//!    kernel's rotational guess), writes of one and the same block, and no layer or host in
//!    between that may have its own cache.
//! 3. Every unknown layer, and every virtual machine, limits the verdict to "unknown".
//! 4. "Consistent with flushing" needs counted flushes and a measurable time for them. A fast sync is
//!    never evidence against flash, nor a slow one evidence for it.

use crate::plan::is_honest;
use crate::{
    Cell, DeviceFacts, FileState, Placement, Rpm, SyncBehavior, Verdict, VerdictWord, WriteCache,
};
use std::path::Path;
use syncline_record::PlainWrite;
use syncline_vfs::SyncMethod;

/// The facts and figures for a verdict.
#[derive(Clone, Copy, Debug)]
pub struct VerdictInput<'a> {
    /// The layers below.
    pub device: &'a DeviceFacts,
    /// The cells measured.
    pub cells: &'a [Cell],
    /// Direct writes without a sync.
    pub plain_write: Option<&'a PlainWrite>,
    /// The speed of rotation that the user gave by hand, in turns a minute.
    pub rpm_by_hand: Option<u32>,
}

/// The directory's verdict, then those of methods with their own verdict.
pub fn verdicts(directory: &Path, evidence: &VerdictInput<'_>) -> Vec<Verdict> {
    let (word, reason, remedy) = of_directory(evidence);
    let subject = directory.display().to_string();
    let mut verdicts = vec![Verdict { subject, word, reason, remedy }];
    let tried = |method| evidence.cells.iter().any(|cell| cell.method == method);
    if tried(SyncMethod::SyncFileRange) {
        verdicts.push(Verdict {
            subject: SyncMethod::SyncFileRange.name().to_owned(),
            word: VerdictWord::NotDurable,
            reason: "according to the kernel's manual it writes pages, but no metadata, and flushes no cache"
                .to_owned(),
            remedy: None,
        });
    }
    verdicts
}

/// The fewest syncs that show whether flushes follow them.
const SYNCS_THAT_SHOW: u64 = 20;

/// The fewest syncs for an implausible rate.
const SYNCS_THAT_HOLD: u64 = 200;

/// A sync may be slightly faster than a turn: clocks and spindles are not exact.
const TURN_MARGIN: f64 = 1.1;

/// The least ratio of a write with its flush to a plain write at which the flush is visible.
const FLUSH_SHOWS: f64 = 1.25;

type Judgement = (VerdictWord, String, Option<String>);

fn of_directory(evidence: &VerdictInput<'_>) -> Judgement {
    let summary = &evidence.device.summary;
    let cache_off = summary.cache_off_command.clone();
    let unknown = |reason: String| (VerdictWord::Unknown, reason, cache_off.clone());
    if let Some(dropped) = evidence.device.dropped_syncs() {
        return (VerdictWord::NotDurable, dropped.evidence, dropped.remedy);
    }
    let hidden = hidden_layers(evidence.device);
    let flushes = flushes_per_sync(evidence.cells);
    if let (WriteCache::Back, None, Ok(counted)) = (summary.write_cache, &hidden, &flushes)
        && counted.per_sync < 0.1
        && counted.syncs >= SYNCS_THAT_HOLD
    {
        return (VerdictWord::NotDurable, no_flush_sent(evidence, *counted), cache_off);
    }
    let turns = compare_with_turns(evidence);
    if let Some(reason) = hidden.or_else(|| host(evidence.device)) {
        let counted = match &turns {
            Some(RotationCheck::Faster(words)) => format!("{words}, so a cache answers; "),
            _ => String::new(),
        };
        return unknown(format!("{counted}{reason}"));
    }
    match turns {
        Some(RotationCheck::Faster(words)) => {
            let reason = format!(
                "{words}: a cache answers, and whether it survives a power cut must be tested"
            );
            (VerdictWord::Implausible, reason, cache_off)
        }
        Some(RotationCheck::Slower(words)) => {
            (VerdictWord::ConsistentWithFlushing, words, cache_off)
        }
        None => match by_flushes(evidence, flushes) {
            Ok(reason) => (VerdictWord::ConsistentWithFlushing, reason, cache_off),
            Err(reason) => unknown(reason),
        },
    }
}

fn hidden_layers(device: &DeviceFacts) -> Option<String> {
    let reasons: Vec<_> = device
        .layers
        .iter()
        .filter_map(|layer| match &layer.standing {
            SyncBehavior::NotKnown(reason) => Some(reason.as_str()),
            SyncBehavior::PassesOn | SyncBehavior::Breaks { .. } => None,
        })
        .collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn host(device: &DeviceFacts) -> Option<String> {
    device
        .summary
        .virtual_machine
        .as_ref()
        .map(|machine| format!("virtual machine, {machine}; the host's cache cannot be seen"))
}

/// The flushes at one outstanding.
#[derive(Clone, Copy, Debug)]
struct Flushes {
    syncs: u64,
    per_sync: f64,
}

/// Methods with a separate sync call, which always requests a flush. A write with `O_DSYNC` may instead be a
/// FUA write, which no flush counter shows.
fn syncs_by_call(method: SyncMethod) -> bool {
    matches!(
        method,
        SyncMethod::Fsync
            | SyncMethod::Fdatasync
            | SyncMethod::DirectFsync
            | SyncMethod::DirectFdatasync
            | SyncMethod::UringLinked
            | SyncMethod::UringUnlinked
    )
}

fn flushes_per_sync(cells: &[Cell]) -> Result<Flushes, String> {
    let (mut syncs, mut flushes) = (0, 0.0);
    let mut reason = "no sync call was measured with one outstanding".to_owned();
    for cell in cells.iter().filter(|cell| cell.outstanding == 1 && syncs_by_call(cell.method)) {
        let Some(measured) = cell.measured().filter(|_| cell.file_state == FileState::Overwrite)
        else {
            continue;
        };
        let counted = &measured.flushes_per_sync;
        match counted.value {
            Some(per_sync) => {
                syncs += measured.syncs;
                flushes += per_sync * measured.syncs as f64;
            }
            None => reason = format!("flushes were not counted: {}", counted.source),
        }
    }
    if syncs >= SYNCS_THAT_SHOW {
        Ok(Flushes { syncs, per_sync: flushes / syncs as f64 })
    } else if syncs > 0 {
        Err(format!("only {syncs} syncs were counted"))
    } else {
        Err(reason)
    }
}

fn no_flush_sent(evidence: &VerdictInput<'_>, counted: Flushes) -> String {
    format!(
        "the kernel reports that {} has a volatile cache, but {} syncs sent {:.2} flushes each",
        evidence.device.summary.disks.join(", "),
        counted.syncs,
        counted.per_sync
    )
}

fn by_flushes(
    evidence: &VerdictInput<'_>,
    flushes: Result<Flushes, String>,
) -> Result<String, String> {
    let disks = evidence.device.summary.disks.join(", ");
    match evidence.device.summary.write_cache {
        WriteCache::Unknown => Err(format!("whether {disks} has a volatile cache is not reported")),
        WriteCache::Through => Err(format!(
            "the kernel takes the cache of {disks} for write through and sends no flush, which is a \
             setting, not evidence"
        )),
        WriteCache::Back => {
            let counted = flushes?;
            if counted.per_sync < 0.9 {
                return Err(format!("only {:.2} flushes were sent per sync", counted.per_sync));
            }
            flush_takes_time(evidence, counted)
        }
    }
}

fn flush_takes_time(evidence: &VerdictInput<'_>, counted: Flushes) -> Result<String, String> {
    let plain =
        evidence.plain_write.ok_or("no write without a sync was measured to compare with")?;
    let is_it = |cell: &&Cell| {
        cell.method == SyncMethod::DirectFdatasync
            && (cell.outstanding, cell.file_state) == (1, FileState::Overwrite)
            && cell.write_bytes as u64 == plain.write_bytes
    };
    let synced = evidence.cells.iter().find(is_it).and_then(Cell::measured);
    let synced = synced.ok_or("no direct write with fdatasync was measured to compare with")?;
    let (plain_us, synced_us) =
        (plain.latency_ns.p50 as f64 / 1_000.0, synced.latency_ns.p50 as f64 / 1_000.0);
    let figures = format!(
        "{:.2} flushes are sent per sync; a write takes {plain_us:.0} us and with its flush \
         {synced_us:.0} us",
        counted.per_sync
    );
    if synced_us >= FLUSH_SHOWS * plain_us {
        Ok(figures)
    } else {
        Err(format!(
            "{figures}: a protected cache cannot be distinguished from one that ignores flushes"
        ))
    }
}

enum RotationCheck {
    Faster(String),
    Slower(String),
}

fn compare_with_turns(evidence: &VerdictInput<'_>) -> Option<RotationCheck> {
    let by_hand = evidence.rpm_by_hand.map(|value| Rpm { value, said_by: "by hand".to_owned() });
    let rpm =
        by_hand.or_else(|| evidence.device.summary.rpm.clone()).filter(|rpm| rpm.value > 0)?;
    let turns_per_s = f64::from(rpm.value) / 60.0;
    let same_block = evidence.cells.iter().filter(|cell| {
        cell.placement == Placement::SameBlock && cell.outstanding == 1 && is_honest(cell.method)
    });
    let (cell, measured) = same_block
        .filter_map(|cell| Some((cell, cell.measured()?)))
        .max_by(|(_, a), (_, b)| a.rate_per_s.total_cmp(&b.rate_per_s))?;
    let words = |relation: &str| {
        format!(
            "{:.0} syncs/s of one block by {} is {relation} the {turns_per_s:.0} turns/s of a disk of \
             {} rpm ({})",
            measured.rate_per_s,
            cell.method.name(),
            rpm.value,
            rpm.said_by
        )
    };
    if measured.rate_per_s <= TURN_MARGIN * turns_per_s {
        return (measured.syncs >= SYNCS_THAT_SHOW)
            .then(|| RotationCheck::Slower(words("not above")));
    }
    (measured.syncs >= SYNCS_THAT_HOLD).then(|| RotationCheck::Faster(words("above")))
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
