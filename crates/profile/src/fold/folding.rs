//! Folding: turns samples into charges, metric by metric.

use super::account::{self, MetricAccount};
use super::charged_stacks::Stacks;
use super::coverage;
use super::wall_clock;
use crate::cost::{Charge, Cost, MetricCost, ThreadClass, View};
use crate::map::Map;
use crate::metric::Metric;
use crate::profile::{Precision, Profile};
use std::collections::BTreeMap;
use syncline_instrument::Module;

/// Charges every sample of a profile to a module, by a map.
pub fn fold(profile: &Profile, map: &Map, view: View) -> Cost {
    let stacks = Stacks::new(profile, map, view);
    let metrics = Metric::ALL.into_iter().filter_map(|metric| {
        let measurement = account::of(profile, metric)?;
        Some(cost(profile, metric, measurement, &stacks))
    });
    let mut metrics: Vec<MetricCost> = metrics.collect();
    wall_clock::derive(&mut metrics);
    Cost {
        map: map.product().to_owned(),
        view,
        window_ns: profile.window_ns(),
        metrics,
        warnings: coverage::warnings(profile, map),
    }
}

fn cost(
    profile: &Profile,
    metric: Metric,
    measurement: MetricAccount,
    stacks: &Stacks<'_>,
) -> MetricCost {
    let (mut sums, mut guessed, mut all) = (Sums::default(), 0, 0);
    for sample in profile.samples().iter().filter(|it| it.metric == metric) {
        let charged = stacks.charge_of(sample);
        sums.add(charged.class, charged.module, sample.weight, sample.count);
        guessed += if charged.guess { sample.weight } else { 0 };
        all += sample.weight;
    }
    let charges = match measurement.how {
        Precision::NotAttributable(_) => Vec::new(),
        Precision::Exact | Precision::Sampled(_) => sums.charges(),
    };
    let charged: u64 = charges.iter().map(|charge| charge.weight).sum();
    assert!(charges.is_empty() || charged == all, "every sample is charged once");
    MetricCost {
        metric,
        collector: measurement.collector,
        how: measurement.how,
        lost: measurement.lost,
        total: measurement.total,
        guessed,
        charges,
    }
}

/// Sums by class and module, unknown after every module.
#[derive(Debug, Default)]
pub(super) struct Sums(BTreeMap<(ThreadClass, bool, Option<Module>), (u64, u64)>);

impl Sums {
    pub(super) fn add(
        &mut self,
        class: ThreadClass,
        module: Option<Module>,
        weight: u64,
        count: u64,
    ) {
        let sum = self.0.entry((class, module.is_none(), module)).or_default();
        sum.0 += weight;
        sum.1 += count;
    }

    pub(super) fn charges(self) -> Vec<Charge> {
        self.0
            .into_iter()
            .map(|((class, _, module), (weight, count))| Charge { class, module, weight, count })
            .collect()
    }
}
