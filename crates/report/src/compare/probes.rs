//! Two probes side by side.

use super::comparison::{Comparison, Unit, Verdict, refuse, row, spread_of};
use crate::record::ProbeRecord;
use crate::{Error, Result};

pub(super) fn compare_probes(
    first: &ProbeRecord,
    second: &ProbeRecord,
    unequal: bool,
) -> Result<Comparison> {
    let mut differences = Vec::new();
    if !first.body.machine.equals(&second.body.machine) {
        let machines = [first, second].map(|probe| probe.body.machine.in_words());
        differences.push(format!("machine ({}) and ({})", machines[0], machines[1]));
    }
    if first.body.label != second.body.label {
        differences.push(format!(
            "length ({} and {})",
            first.body.label, second.body.label
        ));
    }
    let differences = refuse(differences, unequal)?;
    let line_1 = |probe: &ProbeRecord| {
        let line = &probe.body.sync_line;
        spread_of(
            &line.line_1.into_iter().collect::<Vec<_>>(),
            &line.before,
            false,
        )
    };
    let line_max = |probe: &ProbeRecord| {
        let line = &probe.body.sync_line;
        let windows = line
            .method
            .as_deref()
            .zip(line.line_max_outstanding)
            .and_then(|(method, n)| {
                let (_, figures) = probe.cell(method, 4_096, "overwrite", n)?;
                Some(figures.windows.as_slice())
            });
        spread_of(
            &line.line_max.into_iter().collect::<Vec<_>>(),
            windows.unwrap_or(&[]),
            false,
        )
    };
    let rows = vec![
        row("line_1", Unit::PerSecond, line_1(first), line_1(second)),
        row(
            "line_max",
            Unit::PerSecond,
            line_max(first),
            line_max(second),
        ),
    ];
    for probe in [first, second] {
        if probe.body.sync_line.line_1.is_none() {
            let why = "it has no sync line".to_owned();
            return Err(Error::NothingToCompare {
                id: probe.identity.id.clone(),
                why,
            });
        }
    }
    Ok(Comparison {
        titles: [first, second]
            .map(|probe| format!("{} ({})", probe.body.directory, probe.identity.id)),
        differences,
        regression: rows[0].verdict == Verdict::Slower,
        rows,
        basis: "ranges are over the windows within one probe".to_owned(),
    })
}
