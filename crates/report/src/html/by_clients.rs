//! Commits per second by number of clients, for runs that belong to no survey: a line for each store and
//! setting.
//!
//! A vertical line at a point is the range of its repetitions. Both axes are logarithmic.

use super::axis::{Axis, short_count};
use super::chart::{Chart, Series, Shape, draw, mark};
use super::stores::name;
use crate::sweep_title::swept_values;
use maud::{Markup, PreEscaped, html};
use std::collections::BTreeMap;
use syncline_record::RunRecord;
use syncline_record::units;

/// The chart with its legend; empty unless a store was run with several numbers of clients.
pub(super) fn figure(runs: &[&RunRecord]) -> Markup {
    let curves = curves(runs);
    html! {
        @if !curves.is_empty() {
            h2 { "Commits per second by clients" }
            figure {
                ul.legend { @for (style, (name, _)) in curves.iter().enumerate() {
                    li { (PreEscaped(mark(style))) (name) }
                } }
                div.scroll tabindex="0" { (PreEscaped(chart(&curves))) }
                figcaption { "Both axes are logarithmic; a vertical line is the range of the repetitions. "
                    "The values are in the table above." }
            }
        }
    }
}

/// True if some of these runs form a curve.
pub(super) fn has_curve(runs: &[&RunRecord]) -> bool {
    !curves(runs).is_empty()
}

type Curve<'r> = (String, Vec<&'r RunRecord>);

fn curves<'r>(runs: &[&'r RunRecord]) -> Vec<Curve<'r>> {
    let mut curves: BTreeMap<String, Vec<&RunRecord>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.end.throughput_per_s > 0.0) {
        let setting = swept_values(*run, runs);
        let key = match setting.as_str() {
            "" => format!("{}, {}", run.head.workload.name, name(run)),
            setting => format!("{}, {}, {setting}", run.head.workload.name, name(run)),
        };
        curves.entry(key).or_default().push(run);
    }
    for runs in curves.values_mut() {
        runs.sort_by_key(|run| run.head.plan.clients);
    }
    let several = |runs: &[&RunRecord]| {
        runs.first()
            .zip(runs.last())
            .is_some_and(|(first, last)| first.head.plan.clients < last.head.plan.clients)
    };
    curves.into_iter().filter(|(_, runs)| several(runs)).collect()
}

fn chart(curves: &[Curve<'_>]) -> String {
    let all = || curves.iter().flat_map(|(_, runs)| runs);
    let mut clients: Vec<f64> = all().map(|run| run.head.plan.clients as f64).collect();
    clients.sort_by(f64::total_cmp);
    clients.dedup();
    let mut rates: Vec<f64> = all().map(|run| run.end.throughput_per_s).collect();
    let ranges = all().filter_map(|run| run.end.throughput_range.as_ref());
    rates.extend(ranges.flat_map(|range| [range.least, range.most]));
    let mut series = Vec::new();
    for (style, (_, runs)) in curves.iter().enumerate() {
        let at = |run: &RunRecord| run.head.plan.clients as f64;
        for run in runs {
            if let Some(range) = run.end.throughput_range.as_ref().filter(|range| range.least > 0.0)
            {
                series.push(Series {
                    style,
                    shape: Shape::Line,
                    points: vec![(at(run), range.least), (at(run), range.most)],
                });
            }
        }
        series.push(Series {
            style,
            shape: Shape::MarkedLine,
            points: runs.iter().map(|run| (at(run), run.end.throughput_per_s)).collect(),
        });
    }
    draw(&Chart {
        title: "Commits per second by number of clients".to_owned(),
        x: Axis::log_at("clients", &clients, |value| units::count(value).replace("1.00k", "1000")),
        y: Axis::log("commits per second", &rates, short_count),
        series,
        size: (920, 430),
        left: 78,
        notes: Vec::new(),
    })
}
