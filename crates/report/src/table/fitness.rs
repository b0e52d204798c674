//! Whether directories are good enough for products: one line for each, then why, what follows, what would
//! help, and the limits with their sources.

use super::grid::{Grid, Side};
use super::prose;
use syncline_record::units;
use syncline_record::{Fitness, FitnessShape, ProbeRecord, ResolvedLatency};

/// The view of the verdicts for products, of several directories side by side.
pub fn fitness(records: &[ProbeRecord]) -> String {
    let mut text = summary(records);
    for record in records.iter().filter(|record| record.body.cut_short.is_some()) {
        text += &format!("\n{}\n{}", record.body.directory, super::over_time::cut_short(record));
    }
    for record in records {
        for fitness in &record.body.fitness {
            text += &details(&record.body.directory, fitness);
        }
    }
    text += &thresholds(records);
    text += &resolution(records);
    text
}

fn verdicts(records: &[ProbeRecord]) -> impl Iterator<Item = (&ProbeRecord, &Fitness)> {
    records
        .iter()
        .flat_map(|record| record.body.fitness.iter().map(move |fitness| (record, fitness)))
}

/// One row for each shape: figures of the worst window.
fn summary(records: &[ProbeRecord]) -> String {
    let mut grid = Grid::new(&[
        ("For", Side::Left),
        ("directory", Side::Left),
        ("verdict", Side::Left),
        ("writes", Side::Left),
        ("ops/s", Side::Right),
        ("p50", Side::Right),
        ("p99", Side::Right),
        ("p99.9", Side::Right),
        ("max", Side::Right),
        ("window", Side::Left),
    ])
    .optional_columns(&["p99.9", "window", "p50", "writes"]);
    let count = records.iter().map(|record| record.body.fitness.len()).max().unwrap_or(0);
    for product in 0..count {
        for record in records {
            let Some(fitness) = record.body.fitness.get(product) else { continue };
            for (number, shape) in fitness.shapes.iter().enumerate() {
                grid.row(row(record, fitness, shape, number == 0));
            }
        }
    }
    let mut text = grid.render();
    if let Some((_, fitness)) = verdicts(records).find(|(_, fitness)| fitness.beside.is_some()) {
        let load = fitness.beside.as_deref().unwrap_or_default();
        text += &prose::wrap("  ", &format!("measured beside {load}"));
    }
    text
}

fn row(record: &ProbeRecord, fitness: &Fitness, shape: &FitnessShape, first: bool) -> Vec<String> {
    let only_first = |text: &str| if first { text.to_owned() } else { String::new() };
    let mut cells = vec![
        only_first(&fitness.product),
        only_first(&record.body.directory),
        only_first(&fitness.word),
        shape.name.clone(),
    ];
    let worst = shape.worst_window.and_then(|number| shape.windows.get(number as usize - 1));
    let Some(worst) = worst else {
        cells.extend([units::UNKNOWN, "", "", "", "", ""].map(str::to_owned));
        return cells;
    };
    let times = &worst.latency_ns;
    cells.push(units::rate(worst.rate_per_s));
    cells.extend([times.p50, times.p99, times.p999, times.max].map(time));
    let of = shape.windows.len();
    cells.push(format!("{} of {of}", shape.worst_window.unwrap_or_default()));
    cells
}

fn time(value: Option<u64>) -> String {
    units::or_unknown(value, units::span_ns)
}

fn details(directory: &str, fitness: &Fitness) -> String {
    let mut text = format!("\n{} in {directory}: {}\n", fitness.title, fitness.word);
    text += &prose::wrap("  because     ", &fitness.reason);
    if let Some(consequence) = &fitness.consequence {
        text += &prose::wrap("  so          ", consequence);
    }
    for limit in &fitness.limits {
        text += &prose::wrap("  but         ", limit);
    }
    for remedy in &fitness.remedies {
        text += &prose::wrap("  would help  ", remedy);
    }
    for shape in &fitness.shapes {
        if let (false, Some(reason)) = (shape.windows.is_empty(), &shape.reason) {
            text += &prose::wrap("  incomplete  ", &format!("{}: {reason}", shape.name));
        }
    }
    text
}

/// The limits of each product, once, with the value of each directory.
fn thresholds(records: &[ProbeRecord]) -> String {
    let mut text = String::new();
    let mut known = Vec::new();
    for (_, fitness) in verdicts(records) {
        for shape in &fitness.shapes {
            for limit in &shape.thresholds {
                let what = match limit.statistic.as_str() {
                    "rate" => format!("at least {} {}", limit.value, limit.unit),
                    statistic => format!("{statistic} at most {} {}", limit.value, limit.unit),
                };
                let kind = if limit.required { "" } else { " (recommended)" };
                let line =
                    format!("{} {}: {what}{kind}; {}", fitness.product, shape.name, limit.source);
                if !known.contains(&line) {
                    text += &prose::wrap("  ", &line);
                    known.push(line);
                }
            }
        }
    }
    if text.is_empty() { text } else { prose::heading("Published limits") + &text }
}

/// How exactly the percentiles are known.
fn resolution(records: &[ProbeRecord]) -> String {
    let mut text = String::new();
    for (record, fitness) in verdicts(records) {
        for shape in &fitness.shapes {
            let worst =
                shape.worst_window.and_then(|number| shape.windows.get(number as usize - 1));
            let Some(worst) = worst else { continue };
            let name = format!("{} {}", fitness.product, shape.name);
            let several = records.len() > 1;
            let at = if several { format!(" in {}", record.body.directory) } else { String::new() };
            text += &prose::wrap("  ", &format!("{name}{at}: {}", resolved(&worst.latency_ns)));
        }
    }
    if text.is_empty() {
        return text;
    }
    prose::heading("Resolution of p99 in the worst window") + &text
}

fn resolved(times: &ResolvedLatency) -> String {
    match (times.p99_least, times.p99_most) {
        (Some(least), Some(most)) => format!(
            "{} samples, 95 % confidence from {} to {}",
            times.samples,
            units::span_ns(least),
            units::span_ns(most)
        ),
        _ => format!("{} samples, too few: 368 are needed", times.samples),
    }
}
