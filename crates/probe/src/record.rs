//! Converts the result of a probe to its saved record.

use crate::{self as probe, CellOutcome, ProbeResult, SyncBehavior};
use syncline_record::{
    Cell, CellFigures, Identity, Layer, Machine, NotRun, ProbeBody, ProbeDevice, ProbeRecord,
    SyncLine,
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
        plain_write: result.plain_write.clone(),
        reads: result.reads.clone(),
        sequential: result.sequential.clone(),
        flush_counts: result.flush_counts.clone(),
        verdicts: result.verdicts.clone(),
        notes: result.notes.clone(),
        cut_short: result.incomplete.clone(),
        not_run,
        fitness: result.fitness.clone(),
        over_time: result.over_time.clone(),
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
        latency_ns: Some(line.line_1_latency),
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
        mount: facts.mount.clone(),
        layers: facts.layers.iter().map(layer).collect(),
        environment: facts.environment.clone(),
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

fn layer(layer: &probe::StorageLayer) -> Layer {
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
        facts: layer.facts.clone(),
        standing: standing.to_owned(),
        standing_reason,
        remedy,
    }
}

fn cell(cell: &probe::SyncCell) -> Cell {
    let (measured, reason) = match &cell.outcome {
        CellOutcome::Measured(measured) => (Some(CellFigures::clone(measured)), None),
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
