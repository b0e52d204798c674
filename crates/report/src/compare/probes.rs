//! Compares two probes.

use super::comparison::{Allowed, Comparison, Unit, Verdict, refuse, row, too_short};
use super::verdict::{Basis, Sample};
use crate::{Error, Result};
use syncline_record::ProbeRecord;

pub(super) fn compare_probes(
    first: &ProbeRecord,
    second: &ProbeRecord,
    allowed: Allowed,
) -> Result<Comparison> {
    let mut differences = Vec::new();
    if !first.body.machine.equals(&second.body.machine) {
        let machines = [first, second].map(|probe| probe.body.machine.in_words());
        differences.push(format!("machine ({}) and ({})", machines[0], machines[1]));
    }
    if first.body.label != second.body.label {
        differences.push(format!("length ({} and {})", first.body.label, second.body.label));
    }
    let differences = refuse(differences, allowed)?;
    let line_1 = |probe: &ProbeRecord| {
        let line = &probe.body.sync_line;
        Sample {
            repetitions: line.line_1.into_iter().collect(),
            windows: Some(line.before.clone()),
            disturbance: 0.0,
        }
    };
    let line_max = |probe: &ProbeRecord| {
        let line = &probe.body.sync_line;
        let windows =
            line.method.as_deref().zip(line.line_max_outstanding).and_then(|(method, n)| {
                let (_, figures) = probe.cell(method, 4_096, "overwrite", n)?;
                Some(figures.windows.as_slice())
            });
        Sample {
            repetitions: line.line_max.into_iter().collect(),
            windows: Some(windows.unwrap_or(&[]).to_vec()),
            disturbance: 0.0,
        }
    };
    let by = Basis::ProbeWindows;
    let mut rows = vec![
        row(
            ("disk syncs, one at a time", "line_1"),
            Unit::PerSecond,
            by,
            &line_1(first),
            &line_1(second),
        ),
        row(
            ("disk syncs, best in parallel", "line_max"),
            Unit::PerSecond,
            by,
            &line_max(first),
            &line_max(second),
        ),
    ];
    for probe in [first, second] {
        if probe.body.sync_line.line_1.is_none() {
            let why = "it has no sync line".to_owned();
            return Err(Error::NothingToCompare { id: probe.identity.id.clone(), why });
        }
    }
    let kept = [first, second].map(keeps_acknowledged_writes);
    let words = [first, second].map(durability);
    if kept[0] != kept[1] {
        // Syncs that keep their data and syncs that do not are not two speeds of the same work.
        for row in &mut rows {
            row.verdict = Verdict::NotJudged;
            row.least_effect = None;
        }
    }
    let worse = (kept[0] && !kept[1]).then(|| {
        let (before, after) = (&words[0], &words[1]);
        format!("B loses writes that it acknowledged ({after}); A is not known to ({before})")
    });
    Ok(Comparison {
        titles: [first, second]
            .map(|probe| format!("{} ({})", probe.body.directory, probe.identity.id)),
        differences,
        regression: worse.is_some() || rows[0].verdict == Verdict::Slower,
        worse,
        too_short: too_short(rows[0].verdict, "probes need three; probe for longer with --full"),
        basis: format!(
            "durability of the disk: A {}; B {}; ranges are over the windows within one probe",
            words[0], words[1]
        ),
        rows,
    })
}

/// False if the probe's verdict is that its disk loses acknowledged writes.
fn keeps_acknowledged_writes(probe: &ProbeRecord) -> bool {
    !probe.verdict().is_some_and(|verdict| LOSES.contains(&verdict.word.as_str()))
}

/// The probe's verdict on its disk.
fn durability(probe: &ProbeRecord) -> String {
    probe.verdict().map_or_else(|| "not judged".to_owned(), |verdict| verdict.word.clone())
}

/// The verdicts for a disk that loses acknowledged writes.
const LOSES: [&str; 2] = ["not durable", "implausible"];
