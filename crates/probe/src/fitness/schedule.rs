//! The steps of a probe for products: first what shows whether syncs are honest, then three windows a shape.
//!
//! All first windows come before all second ones. With few shapes the disk rests between the windows, so that
//! the three of a shape are always spread over the whole time. Two products that write alike share windows.

use super::product::{Product, Shape};
use crate::{FileState, MethodChoice, Placement, Plan, PlanKind, Span, Step, SyncStep};
use syncline_instrument::Nanos;
use syncline_instrument::clock::SECOND;
use syncline_vfs::SyncMethod;

/// The default time for one directory.
pub const FITNESS_BUDGET_NS: Nanos = 30 * SECOND;

/// The number of windows of a shape.
pub(super) const WINDOWS: usize = 3;

/// The share of the time for the steps that show whether syncs are honest, and its upper limit.
const EVIDENCE_SHARE: u64 = 10;
const EVIDENCE_MOST_NS: Nanos = 3 * SECOND;

/// The longest window.
const WINDOW_MOST_NS: Nanos = 5 * SECOND;

/// The shortest window.
const WINDOW_LEAST_NS: Nanos = SECOND / 100;

impl Plan {
    /// A probe for these products that takes about `budget_ns` in each directory.
    pub fn fitness(products: &[&'static Product], budget_ns: Nanos) -> Plan {
        let shapes = distinct_shapes(products);
        let evidence_ns = (budget_ns / EVIDENCE_SHARE).min(EVIDENCE_MOST_NS);
        let rest_ns = budget_ns - evidence_ns;
        let count = (WINDOWS * shapes.len()).max(1) as u64;
        let window_ns = (rest_ns / count).clamp(WINDOW_LEAST_NS, WINDOW_MOST_NS);
        let pause_ns = rest_ns.saturating_sub(window_ns * count) / (WINDOWS as u64 - 1);
        let mut steps = evidence(evidence_ns);
        for window in 0..WINDOWS {
            if window > 0 && pause_ns > 0 {
                steps.push(Step::Pause { span_ns: pause_ns });
            }
            steps.extend(shapes.iter().map(|&shape| Step::Shape { shape, span_ns: window_ns }));
        }
        Plan { kind: PlanKind::Fitness, products: products.to_vec(), ..Plan::custom(steps) }
    }
}

/// The shapes to measure, each once.
fn distinct_shapes(products: &[&'static Product]) -> Vec<&'static Shape> {
    let mut shapes: Vec<&'static Shape> = Vec::new();
    for shape in products.iter().flat_map(|product| &product.shapes) {
        if !shapes.iter().any(|known| known.writes_like(shape)) {
            shapes.push(shape);
        }
    }
    shapes
}

/// The steps whose figures the verdict on the device needs, and the sync line as a reference.
pub(crate) fn evidence(span_ns: Nanos) -> Vec<Step> {
    let tenth = (span_ns / 10).max(WINDOW_LEAST_NS);
    let cell = |method, write_bytes, placement| {
        Step::Sync(SyncStep {
            method: MethodChoice::Named(method),
            write_bytes,
            file_state: FileState::Overwrite,
            placement,
            outstanding: 1,
            span: Span::fixed(tenth, tenth),
        })
    };
    vec![
        Step::Idle { span_ns: 2 * tenth },
        cell(SyncMethod::Fdatasync, 4096, Placement::Walk),
        cell(SyncMethod::DirectFdatasync, 4096, Placement::Walk),
        Step::PlainWrite { span_ns: tenth },
        cell(SyncMethod::Fdatasync, 8192, Placement::SameBlock),
        Step::Line1 { method: MethodChoice::Fastest, span_ns: 4 * tenth },
    ]
}
