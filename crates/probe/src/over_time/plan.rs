//! The steps of a probe over time.

use crate::fitness::evidence;
use crate::{Load, Plan, PlanKind, Step};
use syncline_instrument::Nanos;
use syncline_instrument::clock::SECOND;

/// A phase of a probe over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Without a load of the probe.
    Alone,
    /// Beside a load.
    Beside,
    /// For a long time, without a load of the probe.
    OverTime,
}

impl Phase {
    /// The name in tables and records.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Alone => "alone",
            Phase::Beside => "beside",
            Phase::OverTime => "over time",
        }
    }
}

/// The time before a load for what shows whether syncs are honest.
const EVIDENCE_NS: Nanos = SECOND;

/// The default duration of the phase beside a load.
pub const BESIDE_NS: Nanos = 20 * SECOND;

/// The time that a load gets before anything is measured beside it, and its share of that time.
const LEAD_NS: Nanos = 2 * SECOND;
const LEAD_PART: u64 = 10;

/// The most parts of a long time, and the shortest part.
const PARTS: u64 = 24;
const PART_LEAST_NS: Nanos = 10 * SECOND;

impl Plan {
    /// A probe over time: alone, beside the load if there is one, then for `watch_ns` if that is
    /// given. The phase alone is half as long as the one beside.
    pub fn over_time(load: Option<&Load>, watch_ns: Option<Nanos>, beside_ns: Nanos) -> Plan {
        let lead_ns = LEAD_NS.min(beside_ns / LEAD_PART);
        let mut steps = evidence(EVIDENCE_NS.min(beside_ns));
        steps.push(Step::Sample { phase: Phase::Alone, span_ns: beside_ns / 2 });
        if let Some(load) = load {
            steps.push(Step::BeginLoad { load: load.clone(), lead_ns });
            steps.push(Step::Sample { phase: Phase::Beside, span_ns: beside_ns });
            steps.push(Step::EndLoad);
        }
        if let Some(watch_ns) = watch_ns {
            let parts = (watch_ns / PART_LEAST_NS).clamp(1, PARTS);
            let part = Step::Sample { phase: Phase::OverTime, span_ns: watch_ns / parts };
            steps.extend((0..parts).map(|_| part.clone()));
        }
        Plan { kind: PlanKind::OverTime, ..Plan::custom(steps) }
    }

    /// The same plan with the load beside everything that follows the first steps, which show whether syncs
    /// are honest.
    #[must_use]
    pub fn beside(mut self, load: &Load) -> Plan {
        let is_first = |step: &Step| matches!(step, Step::Shape { .. });
        let at = self.steps.iter().position(is_first).unwrap_or(self.steps.len());
        self.steps.insert(at, Step::BeginLoad { load: load.clone(), lead_ns: LEAD_NS });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{BESIDE_NS, Phase};
    use crate::{Load, Plan, Step, product};
    use syncline_instrument::clock::SECOND;

    fn phases(plan: &Plan) -> Vec<&'static str> {
        let name = |step: &Step| match step {
            Step::Sample { phase, .. } => Some(phase.name()),
            Step::Shape { .. } => Some("shape"),
            Step::BeginLoad { .. } => Some("load begins"),
            Step::EndLoad => Some("load ends"),
            _ => None,
        };
        let mut names: Vec<_> = plan.steps.iter().filter_map(name).collect();
        names.dedup();
        names
    }

    #[test]
    fn the_load_runs_beside_its_phase_only_and_a_long_time_has_parts() {
        let plan = Plan::over_time(Some(&Load::Writer), Some(6 * 3_600 * SECOND), BESIDE_NS);
        let expected = ["alone", "load begins", "beside", "load ends", "over time"];
        assert_eq!(phases(&plan), expected);
        let parts = plan.steps.iter().filter(|step| {
            matches!(step, Step::Sample { phase: Phase::OverTime, span_ns } if *span_ns == 900 * SECOND)
        });
        assert_eq!(parts.count(), 24);
        assert_eq!(phases(&Plan::over_time(None, Some(SECOND), BESIDE_NS)), ["alone", "over time"]);
    }

    #[test]
    fn beside_a_load_every_window_of_a_product_is_measured_beside_it() {
        let plan = Plan::fitness(&[product("etcd").unwrap()], SECOND).beside(&Load::Syncs);
        assert_eq!(phases(&plan), ["load begins", "shape"]);
    }
}
