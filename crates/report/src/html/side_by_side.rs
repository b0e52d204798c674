//! Commits per second of several runs: stores, or the values of a swept option, with a bar for each run.
//!
//! Bars begin at zero. A thin line across the end of a bar is the range of its repetitions. Runs that differ
//! in their number of clients are a curve instead (`by_clients`).

use super::axis::{Axis, short_count};
use super::chart::{Chart, STYLES, Series, Shape, draw};
use super::{by_clients, stores};
use crate::sweep_title;
use maud::{Markup, PreEscaped, html};
use std::collections::BTreeMap;
use syncline_record::RunRecord;

/// A chart for each workload with several runs and no curve.
pub(super) fn figures(runs: &[&RunRecord]) -> Markup {
    let mut workloads: BTreeMap<&str, Vec<&RunRecord>> = BTreeMap::new();
    for run in runs {
        workloads.entry(&run.head.workload.name).or_default().push(run);
    }
    workloads.retain(|_, runs| runs.len() > 1 && !by_clients::has_curve(runs));
    html! {
        @for (workload, runs) in &workloads {
            h2 { "Commits per second: " (workload) }
            figure {
                div.scroll tabindex="0" { (PreEscaped(chart(runs))) }
                figcaption { "From zero; a thin line is the range of the repetitions. "
                    "The values are in the table above." }
            }
        }
    }
}

fn chart(runs: &[&RunRecord]) -> String {
    let mut names: Vec<String> = runs.iter().map(|run| stores::name(run)).collect();
    names.sort();
    names.dedup();
    // The first row is on top.
    let rows: Vec<&&RunRecord> = runs.iter().rev().collect();
    let titles: Vec<String> = rows.iter().map(|run| sweep_title::title(**run, runs)).collect();
    let mut most: f64 = 0.0;
    let mut series = Vec::new();
    for (row, run) in (0_u32..).map(f64::from).zip(&rows) {
        let store = stores::name(run);
        let style = names.iter().position(|name| *name == store).unwrap_or(0) % STYLES;
        let rate = run.end.throughput_per_s;
        most = most.max(rate);
        series.push(Series { style, shape: Shape::Bar, points: vec![(0.0, row), (rate, row)] });
        if let Some(range) = &run.end.throughput_range {
            most = most.max(range.most);
            series.push(Series {
                style,
                shape: Shape::Range,
                points: vec![(range.least, row), (range.most, row)],
            });
        }
    }
    let longest = titles.iter().map(|title| title.chars().count()).max();
    draw(&Chart {
        title: "Commits per second of each run".to_owned(),
        x: Axis::linear("commits per second", most * 1.05, short_count),
        y: Axis::names("", &titles),
        series,
        size: (920, 80 + 32 * rows.len() as u32),
        left: (24 + 8 * longest.unwrap_or(0) as u32).min(500),
        notes: Vec::new(),
    })
}
