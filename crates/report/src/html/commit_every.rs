//! The curve of the article of 2008: inserts per second by inserts per commit, a line for each store.

use super::axis::{Axis, short_count};
use super::chart::{Chart, Series, Shape, draw, mark};
use super::stores::name;
use maud::{Markup, PreEscaped, html};
use std::collections::BTreeMap;
use syncline_record::RunRecord;
use syncline_record::units;
use syncline_record::units::plural;

/// One line: its name, and pairs of inserts per commit and inserts per second.
type Curve = (String, Vec<(f64, f64)>);

/// The chart with its legend; empty unless a store was run with several numbers of inserts per commit.
pub(super) fn figure(runs: &[&RunRecord]) -> Markup {
    let curves = curves(runs);
    html! {
        @if !curves.is_empty() {
            h2 { "Inserts per second by inserts per commit" }
            figure {
                ul.legend { @for (style, (name, _)) in curves.iter().enumerate() {
                    li { (PreEscaped(mark(style))) (name) }
                } }
                (PreEscaped(chart(&curves)))
                figcaption { "Both axes are logarithmic. Commits per second are inserts per second "
                    "divided by inserts per commit." }
            }
        }
    }
}

fn curves(runs: &[&RunRecord]) -> Vec<Curve> {
    let mut curves: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.head.workload.name == "insert") {
        let each = run.head.workload.unit_per_transaction as f64;
        let inserts = run.end.throughput_per_s * each;
        if each > 0.0 && inserts > 0.0 {
            let clients = plural(run.head.plan.clients, "client");
            let curve = curves.entry(format!("{}, {clients}", name(run)));
            curve.or_default().push((each, inserts));
        }
    }
    for points in curves.values_mut() {
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
    }
    let several = |points: &[(f64, f64)]| {
        points.first().zip(points.last()).is_some_and(|(first, last)| first.0 < last.0)
    };
    curves.into_iter().filter(|(_, points)| several(points)).collect()
}

fn chart(curves: &[Curve]) -> String {
    let all = || curves.iter().flat_map(|(_, points)| points);
    let mut each: Vec<f64> = all().map(|point| point.0).collect();
    each.sort_by(f64::total_cmp);
    each.dedup();
    let rates: Vec<f64> = all().map(|point| point.1).collect();
    let series = curves.iter().enumerate().map(|(style, (_, points))| Series {
        style,
        shape: Shape::MarkedLine,
        points: points.clone(),
    });
    draw(&Chart {
        title: "Inserts per second by inserts per commit".to_owned(),
        x: Axis::log_at("inserts per commit", &each, units::count),
        y: Axis::log("inserts per second", &rates, short_count),
        series: series.collect(),
        size: (920, 430),
        left: 78,
        notes: Vec::new(),
    })
}
