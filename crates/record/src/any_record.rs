//! A record of any kind, and its JSON.

use super::identity::Identity;
use super::observation::ObservationRecord;
use super::probe::ProbeRecord;
use super::run::RunRecord;
use super::verification::VerificationRecord;
use serde::Serialize;
use serde_json::Value;

/// A record of any kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Record {
    /// The record of a run.
    Run(Box<RunRecord>),
    /// The record of a probe.
    Probe(Box<ProbeRecord>),
    /// The record of an observation.
    Observation(Box<ObservationRecord>),
    /// The record of a verification.
    Verification(Box<VerificationRecord>),
}

impl Record {
    /// The identity that every record starts with.
    pub fn identity(&self) -> &Identity {
        match self {
            Record::Run(run) => &run.identity,
            Record::Probe(probe) => &probe.identity,
            Record::Observation(observation) => &observation.identity,
            Record::Verification(verification) => &verification.identity,
        }
    }

    /// The run, if it is one.
    pub fn as_run(&self) -> Option<&RunRecord> {
        match self {
            Record::Run(run) => Some(run),
            Record::Probe(_) | Record::Observation(_) | Record::Verification(_) => None,
        }
    }

    /// The probe, if it is one.
    pub fn as_probe(&self) -> Option<&ProbeRecord> {
        match self {
            Record::Run(_) | Record::Observation(_) | Record::Verification(_) => None,
            Record::Probe(probe) => Some(probe),
        }
    }

    /// The observation, if it is one.
    pub fn as_observation(&self) -> Option<&ObservationRecord> {
        match self {
            Record::Run(_) | Record::Probe(_) | Record::Verification(_) => None,
            Record::Observation(observation) => Some(observation),
        }
    }

    /// The verification, if it is one.
    pub fn as_verification(&self) -> Option<&VerificationRecord> {
        match self {
            Record::Run(_) | Record::Probe(_) | Record::Observation(_) => None,
            Record::Verification(verification) => Some(verification),
        }
    }

    /// A title: "probe of /srv/data".
    pub fn title(&self) -> String {
        match self {
            Record::Run(run) => run.title(),
            Record::Probe(probe) => format!("probe of {}", probe.body.directory),
            Record::Observation(observation) => {
                format!("observed {}", observation.body.target.name)
            }
            Record::Verification(verification) => format!("verified {}", verification.title()),
        }
    }

    /// The record folded into one JSON object.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("records hold text keys and plain values only")
    }
}

impl From<RunRecord> for Record {
    fn from(run: RunRecord) -> Record {
        Record::Run(Box::new(run))
    }
}

impl From<ProbeRecord> for Record {
    fn from(probe: ProbeRecord) -> Record {
        Record::Probe(Box::new(probe))
    }
}

impl From<ObservationRecord> for Record {
    fn from(observation: ObservationRecord) -> Record {
        Record::Observation(Box::new(observation))
    }
}

impl From<VerificationRecord> for Record {
    fn from(verification: VerificationRecord) -> Record {
        Record::Verification(Box::new(verification))
    }
}

/// What `--json` prints: one object for one record, an array for several, as indented text without a
/// final newline.
pub fn json(records: &[Record]) -> String {
    let text = match records {
        [one] => serde_json::to_string_pretty(one),
        several => serde_json::to_string_pretty(several),
    };
    text.expect("records hold text keys and plain values only")
}
