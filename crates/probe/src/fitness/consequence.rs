//! What a product's users will notice, and what would help, each in one sentence.

use super::judgement::count_above;
use super::product::{Deadline, Product};
use crate::WriteCache;
use hdrhistogram::Histogram;
use syncline_record::stats::samples_for_quantile;
use syncline_record::units;

/// Other programs that flush more often than this make syncs wait.
const BUSY_FLUSHES_PER_S: f64 = 20.0;

/// The sentence for the first shape's times in the worst window, and in all.
pub(super) fn consequence(
    product: &Product,
    worst: &Histogram<u64>,
    rate_per_s: f64,
    all: &Histogram<u64>,
) -> String {
    let missed = product.deadlines.iter().rev().find(|deadline| above(all, deadline) > 0);
    let effect = match (missed, product.deadlines.first()) {
        // The window with the most says how bad it gets; a miss may be in another one.
        (Some(deadline), _) => {
            let of = if above(worst, deadline) > 0 { worst } else { all };
            let every = of.len() as f64 / above(of, deadline) as f64;
            format!("{} in about 1 of {} syncs", deadline.missed, count(every))
        }
        (None, Some(first)) => format!(
            "{}: none of {} syncs took {} (the longest {})",
            first.kept,
            all.len(),
            units::span(first.ms as f64 * 1e6),
            units::span_ns(all.max())
        ),
        (None, None) => waits(product, worst),
    };
    let operation = &product.operation;
    format!("{effect}; one {operation} after another, {} at most", units::rate(rate_per_s))
}

/// "1 commit in 100 waits longer than 2.1 ms", or the longest if there are too few samples for that.
fn waits(product: &Product, times: &Histogram<u64>) -> String {
    let operation = &product.operation;
    if times.len() < samples_for_quantile(0.99) {
        return format!("the longest of {} took {}", times.len(), units::span_ns(times.max()));
    }
    let p99 = units::span_ns(times.value_at_quantile(0.99));
    format!("1 {operation} in 100 waits longer than {p99} for the disk")
}

fn above(histogram: &Histogram<u64>, deadline: &Deadline) -> u64 {
    count_above(histogram, deadline.ms * 1_000_000)
}

/// A whole number where it is small.
fn count(value: f64) -> String {
    if value < 1_000.0 { format!("{value:.0}") } else { units::count(value) }
}

/// What is known of the device when a product's writes are too slow.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlowDevice<'a> {
    /// True if a disk below spins.
    pub(super) spins: bool,
    /// The cache as the kernel assumes it.
    pub(super) write_cache: WriteCache,
    /// The virtual machine's kind.
    pub(super) virtual_machine: Option<&'a str>,
    /// Flushes per second by other programs while the probe was at rest.
    pub(super) idle_flushes_per_s: Option<f64>,
    /// The load that the probe itself ran beside.
    pub(super) beside: Option<&'a str>,
}

/// What would make the writes faster, most effective first.
pub(super) fn remedies(product: &Product, device: &SlowDevice<'_>) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(load) = device.beside {
        found.push(format!("a disk of its own, without a load such as {load}"));
    }
    if let Some(flushes) = device.idle_flushes_per_s.filter(|rate| *rate > BUSY_FLUSHES_PER_S) {
        found.push(format!(
            "a disk of its own: other programs flush this one {} while the probe is at rest",
            units::rate(flushes)
        ));
    }
    if device.spins {
        found.push("a solid-state disk: a spinning one waits for a turn in each sync".to_owned());
    } else if device.virtual_machine.is_some() {
        found.push("a volume class with a lower and guaranteed write latency".to_owned());
    } else if device.write_cache == WriteCache::Back {
        found.push(
            "a disk with power-loss protection, whose cache may answer before the medium has the data"
                .to_owned(),
        );
    }
    found.push(product.tuning.clone());
    found
}
