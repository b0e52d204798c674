//! Titles that distinguish the runs of one command: the options and the load in which they differ.
//!
//! A record does not hold that it belongs to a sweep. Runs of one workload on one store by one command differ
//! in the swept values and in nothing else that a user chose; the number of clients is already in a run's
//! title.

use std::collections::BTreeSet;
use syncline_record::{PLAN_OPTIONS, RunRecord, Summary};

/// A run, by its record or by its summary.
pub(crate) trait SweepMember {
    /// The title without swept values.
    fn title(&self) -> String;

    /// Runs of one sweep agree in these: workload, store, command, survey.
    fn family(&self) -> [Option<&str>; 4];

    /// The names of the workload's options.
    fn options(&self) -> Vec<String>;

    /// The value of an option, or of one of [`PLAN_OPTIONS`].
    fn value(&self, name: &str) -> Option<String>;
}

impl SweepMember for RunRecord {
    fn title(&self) -> String {
        RunRecord::title(self)
    }

    fn family(&self) -> [Option<&str>; 4] {
        let (workload, target) = (&self.head.workload.name, &self.head.target.name);
        let (command, survey) = (&self.identity.command, &self.identity.survey);
        [Some(workload), Some(target), command.as_deref(), survey.as_deref()]
    }

    fn options(&self) -> Vec<String> {
        self.head.workload.options.keys().cloned().collect()
    }

    fn value(&self, name: &str) -> Option<String> {
        let plan = &self.head.plan;
        match name {
            "pipeline" => plan.pipeline.map(|whether| whether.to_string()),
            "rate" => plan.rate_per_s.map(|rate| rate.to_string()),
            "retries" => Some(plan.retries.to_string()),
            option => self.head.workload.options.get(option).cloned(),
        }
    }
}

impl SweepMember for Summary {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn family(&self) -> [Option<&str>; 4] {
        [&self.workload, &self.target, &self.command, &self.survey].map(Option::as_deref)
    }

    fn options(&self) -> Vec<String> {
        Summary::options(self).keys().cloned().collect()
    }

    fn value(&self, name: &str) -> Option<String> {
        Some(Summary::options(self).get(name)?.as_str()?.to_owned())
    }
}

/// The values in which `run` differs from the other runs of its command, such as `commit_every=10, rate=500`;
/// empty if there are none.
pub(crate) fn swept_values<R: SweepMember>(run: &R, among: &[&R]) -> String {
    let family: Vec<&&R> = among.iter().filter(|other| run.family() == other.family()).collect();
    let options: BTreeSet<String> = family.iter().flat_map(|other| other.options()).collect();
    let names: BTreeSet<&str> = options.iter().map(String::as_str).chain(PLAN_OPTIONS).collect();
    let differs = |name: &&str| {
        let own = run.value(name);
        family.iter().any(|other| other.value(name) != own)
    };
    let parts: Vec<String> = names
        .into_iter()
        .filter(differs)
        .map(|name| {
            let value = run.value(name).unwrap_or_else(|| "none".to_owned());
            format!("{name}={value}")
        })
        .collect();
    parts.join(", ")
}

/// The title of a run with its swept values.
pub(crate) fn title<R: SweepMember>(run: &R, among: &[&R]) -> String {
    match swept_values(run, among) {
        swept if swept.is_empty() => run.title(),
        swept => format!("{}, {swept}", run.title()),
    }
}
