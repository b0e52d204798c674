//! Converts the result of a probe to its saved record.

use crate::{
    self as probe, CellOutcome, Direction, FlushCounts as Flushes, ProbeResult, SyncBehavior,
};
use syncline_record::{
    Cell, CellFigures, Counted, Fact, FlushCounts, Identity, Latency, Layer, Machine, Mode, NotRun,
    PlainWrite, ProbeBody, ProbeDevice, ProbeRecord, ReadCell, SequentialCell, SyncLine, Verdict,
};

/// The record of one directory's probe. `machine` describes the machine; `not_run` are planned rows of the
/// survey that were not run.
pub fn from_probe(
    result: &ProbeResult,
    identity: &Identity,
    machine: Machine,
    not_run: Vec<NotRun>,
) -> ProbeRecord {
    let body = ProbeBody {
        directory: result.directory.display().to_string(),
        machine,
        duration_ns: result.duration_ns,
        quick: result.quick,
        label: result.label.to_owned(),
        device: device(&result.device),
        sync_line: sync_line(result),
        cells: result.cells.iter().map(cell).collect(),
        plain_write: result.plain_write.as_ref().map(|write| PlainWrite {
            write_bytes: write.write_bytes as u64,
            rate_per_s: write.rate_per_s,
            latency_ns: latency(&write.latency),
        }),
        reads: result.reads.iter().map(read).collect(),
        sequential: result.sequential.iter().map(sequential).collect(),
        flush_counts: flush_counts(&result.flush_counts),
        verdicts: result.verdicts.iter().map(verdict).collect(),
        notes: result.notes.clone(),
        cut_short: result.incomplete.clone(),
        not_run,
    };
    ProbeRecord { identity: identity.clone(), body }
}

fn sync_line(result: &ProbeResult) -> SyncLine {
    let directory = Some(result.directory.display().to_string());
    let Some(line) = &result.line else {
        let reason = result.incomplete.as_deref().unwrap_or("no honest method could be measured");
        return SyncLine::unknown(directory, reason);
    };
    SyncLine {
        directory: Some(line.directory.display().to_string()),
        device: line.device.clone(),
        method: Some(line.method.name().to_owned()),
        file_state: Some(line.file_state.name().to_owned()),
        write_bytes: Some(line.write_bytes as u64),
        line_1: Some(line.line_1),
        line_max: line.line_max,
        line_max_outstanding: line.line_max_outstanding.map(|count| count as u64),
        latency_ns: Some(latency(&line.line_1_latency)),
        before: line.line_1_windows.clone(),
        after: Vec::new(),
        round_trip_ns: None,
        verdict: None,
        reason: line.line_max.is_none().then(|| "only one outstanding was measured".to_owned()),
    }
}

fn device(facts: &probe::DeviceFacts) -> ProbeDevice {
    let summary = &facts.summary;
    ProbeDevice {
        mount: facts.mount.iter().map(fact).collect(),
        layers: facts.layers.iter().map(layer).collect(),
        environment: facts.environment.iter().map(fact).collect(),
        sentences: facts.sentences.clone(),
        file_system: summary.file_system.clone(),
        disks: summary.disks.clone(),
        write_cache: summary.write_cache.name().to_owned(),
        rpm: summary.rpm.as_ref().map(|rpm| u64::from(rpm.value)),
        rpm_said_by: summary.rpm.as_ref().map(|rpm| rpm.said_by.clone()),
        model: summary.model.clone(),
        cache_off_command: summary.cache_off_command.clone(),
    }
}

fn fact(fact: &probe::Fact) -> Fact {
    Fact {
        name: fact.name.to_owned(),
        value: fact.value.clone(),
        said_by: fact.said_by.clone(),
        private: fact.private,
    }
}

fn layer(layer: &probe::Layer) -> Layer {
    let (standing, standing_reason, remedy) = match &layer.standing {
        SyncBehavior::PassesOn => ("passes on", None, None),
        SyncBehavior::NotKnown(reason) => ("not known", Some(reason.clone()), None),
        SyncBehavior::Breaks { evidence, remedy } => {
            ("breaks", Some(evidence.clone()), remedy.clone())
        }
    };
    Layer {
        name: layer.name.clone(),
        kind: layer.kind.clone(),
        depth: layer.depth as u64,
        facts: layer.facts.iter().map(fact).collect(),
        standing: standing.to_owned(),
        standing_reason,
        remedy,
    }
}

fn cell(cell: &probe::Cell) -> Cell {
    let (measured, reason) = match &cell.outcome {
        CellOutcome::Measured(measured) => (Some(figures(measured)), None),
        CellOutcome::NotPossible(reason) => (None, Some(format!("not possible: {reason}"))),
        CellOutcome::NotRun(reason) => (None, Some(format!("not run: {reason}"))),
    };
    Cell {
        method: cell.method.name().to_owned(),
        write_bytes: cell.write_bytes as u64,
        file_state: cell.file_state.name().to_owned(),
        placement: cell.placement.name().to_owned(),
        outstanding: cell.outstanding as u64,
        fio: cell.fio.clone(),
        measured,
        reason,
    }
}

fn figures(measured: &probe::Measured) -> CellFigures {
    CellFigures {
        syncs: measured.syncs,
        elapsed_ns: measured.elapsed_ns,
        rate_per_s: measured.rate_per_s,
        latency_ns: latency(&measured.latency),
        modes: measured.latency.modes.map(|modes| {
            let mode = |mode: probe::Mode| Mode { share: mode.share, typical_ns: mode.typical_ns };
            modes.map(mode).to_vec()
        }),
        device_writes_per_sync: counted(&measured.device_writes_per_sync),
        device_bytes_per_sync: counted(&measured.device_bytes_per_sync),
        flushes_per_sync: counted(&measured.flushes_per_sync),
        windows: measured.windows.clone(),
        window_ns: measured.window_ns,
        steady: measured.steady,
    }
}

fn counted(counted: &probe::Counted) -> Counted {
    match counted {
        probe::Counted::PerSync(value) => {
            Counted::by(Some(*value), "the disk's counters, idle rate subtracted")
        }
        probe::Counted::Unknown(reason) => Counted::unknown(reason.clone()),
    }
}

fn latency(times: &probe::Latency) -> Latency {
    Latency {
        p50: times.p50,
        p90: times.p90,
        p99: times.p99,
        p999: times.p999,
        max: times.max,
        mean: times.mean,
    }
}

fn read(read: &probe::ReadCell) -> ReadCell {
    let measured = read.outcome.as_ref().ok();
    ReadCell {
        read_bytes: read.read_bytes as u64,
        depth: read.depth as u64,
        file_bytes: read.file_bytes,
        rate_per_s: measured.map(|measured| measured.rate_per_s),
        latency_ns: measured.map(|measured| latency(&measured.latency)),
        reason: read.outcome.as_ref().err().cloned(),
    }
}

fn sequential(cell: &probe::SequentialCell) -> SequentialCell {
    SequentialCell {
        direction: match cell.direction {
            Direction::Read => "read".to_owned(),
            Direction::Write => "write".to_owned(),
        },
        transfer_bytes: cell.transfer_bytes as u64,
        bytes_per_s: cell.outcome.as_ref().ok().map(|measured| measured.bytes_per_s),
        reason: cell.outcome.as_ref().err().cloned(),
    }
}

fn flush_counts(counts: &Flushes) -> FlushCounts {
    match counts {
        Flushes::Counting { disk, idle_flushes_per_s, idle_writes_per_s, .. } => FlushCounts {
            disk: Some(disk.clone()),
            idle_flushes_per_s: Some(*idle_flushes_per_s),
            idle_writes_per_s: Some(*idle_writes_per_s),
            reason: None,
        },
        Flushes::Unknown(reason) => FlushCounts {
            disk: None,
            idle_flushes_per_s: None,
            idle_writes_per_s: None,
            reason: Some(reason.clone()),
        },
    }
}

fn verdict(verdict: &probe::Verdict) -> Verdict {
    Verdict {
        subject: verdict.subject.clone(),
        word: verdict.word.name().to_owned(),
        reason: verdict.reason.clone(),
        remedy: verdict.remedy.clone(),
    }
}
