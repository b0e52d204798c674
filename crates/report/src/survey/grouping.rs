//! Groups records: one survey per directory, one group per store, one step per number of clients.

use super::sentences;
use std::collections::BTreeMap;
use syncline_record::{ProbeRecord, Record, RunRecord, SyncLine};

/// The records of one directory.
#[derive(Clone, Debug)]
pub struct Survey<'a> {
    /// The probe of the directory.
    pub probe: &'a ProbeRecord,
    /// The runs in it, in the order of the records.
    pub runs: Vec<&'a RunRecord>,
}

/// A store with one setting and one client model, over all numbers of clients.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// The store's name.
    pub target: String,
    /// The durability level.
    pub durability: String,
    /// The client model.
    pub model: String,
    /// One of its runs, for version and evidence; `None` if none was run.
    pub example: Option<&'a RunRecord>,
    /// Its steps, fewest clients first.
    pub steps: Vec<SurveyStep<'a>>,
}

/// One number of clients.
#[derive(Clone, Debug)]
pub struct SurveyStep<'a> {
    /// The number of clients.
    pub clients: u64,
    /// Whether it was run.
    pub outcome: StepOutcome<'a>,
}

/// Whether a step was run.
#[derive(Clone, Copy, Debug)]
pub enum StepOutcome<'a> {
    /// It was run.
    Run(&'a RunRecord),
    /// It was not run, for this reason.
    NotRun(&'a str),
}

impl<'a> Survey<'a> {
    /// The surveys in the records, one for each probe, in order. A run belongs to the probe of its survey and
    /// its line's directory; a run without a survey belongs to the probe of that directory.
    pub fn all(records: &'a [Record]) -> Vec<Survey<'a>> {
        let probes = records.iter().filter_map(Record::as_probe);
        let mut surveys: Vec<Survey<'a>> =
            probes.map(|probe| Survey { probe, runs: Vec::new() }).collect();
        for run in records.iter().filter_map(Record::as_run) {
            if let Some(home) = surveys.iter_mut().find(|survey| survey.contains(run)) {
                home.runs.push(run);
            }
        }
        surveys
    }

    /// The sync line for ratios: that of a run, which includes both probes, or else that of the probe.
    pub fn line(&self) -> &SyncLine {
        self.runs
            .iter()
            .map(|run| &run.end.sync_line)
            .find(|line| line.line_1.is_some())
            .unwrap_or(&self.probe.body.sync_line)
    }

    /// Stores by name, durability and client model, in the order in which they first appear; those that never
    /// ran come last.
    pub fn groups(&self) -> Vec<Group<'a>> {
        let mut groups: Vec<Group<'a>> = Vec::new();
        for run in &self.runs {
            let target = &run.head.target;
            let durability = target.durability.as_deref().unwrap_or("unknown");
            let group = group_of(&mut groups, &target.name, durability, run.client_model());
            group.example.get_or_insert(run);
            let outcome = StepOutcome::Run(run);
            group.steps.push(SurveyStep { clients: run.head.plan.clients, outcome });
        }
        for row in &self.probe.body.not_run {
            let group = group_of(&mut groups, &row.target, &row.durability, &row.model);
            let outcome = StepOutcome::NotRun(&row.reason);
            group.steps.push(SurveyStep { clients: row.clients, outcome });
        }
        for group in &mut groups {
            group.steps.sort_by_key(|step| step.clients);
        }
        groups
    }

    /// The best run of each store that promised to sync, best store first.
    pub fn best(&self) -> Vec<&'a RunRecord> {
        let mut best: BTreeMap<&str, &'a RunRecord> = BTreeMap::new();
        for run in self.runs.iter().filter(|run| run.head.target.syncs()) {
            let name = run.head.target.name.as_str();
            let known = best.entry(name).or_insert(run);
            if run.end.throughput_per_s > known.end.throughput_per_s {
                *known = run;
            }
        }
        let mut best: Vec<_> = best.into_values().collect();
        best.sort_by(|a, b| b.end.throughput_per_s.total_cmp(&a.end.throughput_per_s));
        best
    }

    /// Three sentences: the directory's sync rates, the throughput of the stores relative to them, and the
    /// gaps in this survey.
    pub fn sentences(&self) -> [String; 3] {
        [sentences::directory(self), sentences::stores(self), sentences::gaps(self)]
    }

    fn contains(&self, run: &RunRecord) -> bool {
        let (mine, theirs) = (&self.probe.identity.survey, &run.identity.survey);
        let here = run.end.sync_line.directory.as_deref().is_none_or(|directory| {
            self.probe.body.sync_line.directory.as_deref() == Some(directory)
                || self.probe.body.directory == directory
        });
        // A store without a log directory belongs to a survey by the survey's id alone.
        match (mine, theirs) {
            (Some(mine), Some(theirs)) => mine == theirs && here,
            (None, None) => here && run.end.sync_line.directory.is_some(),
            _ => false,
        }
    }
}

impl StepOutcome<'_> {
    /// The run, if it was run.
    pub fn run(&self) -> Option<&RunRecord> {
        match self {
            StepOutcome::Run(run) => Some(run),
            StepOutcome::NotRun(_) => None,
        }
    }
}

fn group_of<'g, 'a>(
    groups: &'g mut Vec<Group<'a>>,
    target: &str,
    durability: &str,
    model: &str,
) -> &'g mut Group<'a> {
    let fits = |group: &Group<'_>| {
        group.target == target && group.durability == durability && group.model == model
    };
    let at = groups.iter().position(fits).unwrap_or_else(|| {
        groups.push(Group {
            target: target.to_owned(),
            durability: durability.to_owned(),
            model: model.to_owned(),
            example: None,
            steps: Vec::new(),
        });
        groups.len() - 1
    });
    &mut groups[at]
}
