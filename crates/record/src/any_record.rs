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
    /// Of a run.
    Run(Box<RunRecord>),
    /// Of a probe.
    Probe(Box<ProbeRecord>),
    /// Of an observation.
    Observation(Box<ObservationRecord>),
    /// Of a verification.
    Verification(Box<VerificationRecord>),
}

impl Record {
    /// What it opens with.
    pub fn identity(&self) -> &Identity {
        match self {
            Record::Run(run) => &run.identity,
            Record::Probe(probe) => &probe.identity,
            Record::Observation(seen) => &seen.identity,
            Record::Verification(verified) => &verified.identity,
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
            Record::Observation(seen) => Some(seen),
        }
    }

    /// The verification, if it is one.
    pub fn as_verification(&self) -> Option<&VerificationRecord> {
        match self {
            Record::Run(_) | Record::Probe(_) | Record::Observation(_) => None,
            Record::Verification(verified) => Some(verified),
        }
    }

    /// What it is of, in words: "probe of /srv/data".
    pub fn title(&self) -> String {
        match self {
            Record::Run(run) => run.title(),
            Record::Probe(probe) => format!("probe of {}", probe.body.directory),
            Record::Observation(seen) => format!("observed {}", seen.body.target.name),
            Record::Verification(verified) => format!("verified {}", verified.title()),
        }
    }

    /// Folded into one JSON object.
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
    fn from(seen: ObservationRecord) -> Record {
        Record::Observation(Box::new(seen))
    }
}

impl From<VerificationRecord> for Record {
    fn from(verified: VerificationRecord) -> Record {
        Record::Verification(Box::new(verified))
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
