//! Derives wall clock from processor time and off-CPU time if it was not sampled.

use super::folding::Sums;
use crate::cost::MetricCost;
use crate::metric::Metric;
use crate::profile::Precision;

/// The parts of wall clock.
const PARTS: [Metric; 3] = [Metric::CpuUser, Metric::CpuKernel, Metric::OffCpu];

/// Inserts the row of wall clock, unless it was sampled or none of its parts was requested.
pub(super) fn derive(metrics: &mut Vec<MetricCost>) {
    let sampled = |cost: &MetricCost| {
        cost.metric == Metric::Wall && !matches!(cost.how, Precision::NotAttributable(_))
    };
    let has_off_cpu = metrics.iter().any(|cost| cost.metric == Metric::OffCpu);
    if metrics.iter().any(sampled) || !has_off_cpu {
        return;
    }
    let parts = PARTS.map(|part| metrics.iter().find(|cost| cost.metric == part));
    let wall = sum(&parts);
    metrics.retain(|cost| cost.metric != Metric::Wall);
    let place = metrics.partition_point(|cost| cost.metric < Metric::Wall);
    metrics.insert(place, wall);
}

fn sum(parts: &[Option<&MetricCost>; 3]) -> MetricCost {
    let (mut sums, mut lost, mut guessed, mut missing) = (Sums::default(), 0, 0, Vec::new());
    for (part, name) in parts.iter().zip(PARTS) {
        match part {
            None => missing.push(format!("{} was not measured", name.name())),
            Some(part) => {
                if let Precision::NotAttributable(why) = &part.how {
                    missing.push(format!("{}: {why}", name.name()));
                }
                lost += part.lost;
                guessed += part.guessed;
                for charge in &part.charges {
                    sums.add(charge.class, charge.module, charge.weight, charge.count);
                }
            }
        }
    }
    let split = missing.is_empty();
    let how = if split {
        Precision::Sampled("sum of processor time and off-CPU time".to_owned())
    } else {
        Precision::NotAttributable(format!(
            "it is the sum of processor time and off-CPU time, and {}",
            missing.join("; ")
        ))
    };
    MetricCost {
        metric: Metric::Wall,
        collector: "derived from processor time and off-CPU time".to_owned(),
        how,
        lost,
        total: None,
        guessed: if split { guessed } else { 0 },
        charges: if split { sums.charges() } else { Vec::new() },
    }
}
