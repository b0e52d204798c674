//! Faults that strike while the store runs, one kind and one class of paths at a time.
//!
//! The store may stop, refuse or go on; what it must not do is acknowledge what it then has not. So each
//! run ends with a loss of power, and two images are judged: nothing of what was not synced, and all.

use super::ground::{Ground, Loaded};
use super::images::{Cut, Trial};
use super::outcome::Class;
use crate::error::Result;
use crate::power::{Class as PathClass, Fault, FaultRule, Loss};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// How long the load goes on behind the fault.
const AFTERWARDS: Duration = Duration::from_millis(250);

const FAULTS: [Fault; 6] = [
    Fault::WriteError,
    Fault::DiskFull,
    Fault::SyncError,
    Fault::SlowSync(Duration::from_millis(40)),
    Fault::ReadError,
    Fault::FlippedBit,
];

/// What one fault did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Struck {
    /// The fault, in words.
    pub fault: String,
    /// In which files.
    pub class: PathClass,
    /// How often it struck; a fault that never did was not exercised.
    pub times: u64,
    /// Why the store's clients stopped; empty if they went on.
    pub stopped: String,
    /// The worst that was found afterwards; none if the fault was not exercised.
    pub found: Option<Class>,
    /// The same in words.
    pub what: Option<String>,
}

/// Every fault in the log and in the data.
pub(super) fn faults(
    ground: &Ground<'_>,
    prepared: &Path,
    options: &str,
    progress: &dyn Fn(&str),
) -> Result<Vec<Struck>> {
    let mut all = Vec::new();
    for fault in FAULTS {
        for class in [PathClass::Log, PathClass::Data] {
            progress(&format!("{} in the {}", fault.words(), class.word()));
            all.push(one(ground, prepared, options, fault, class)?);
        }
    }
    Ok(all)
}

fn one(
    ground: &Ground<'_>,
    prepared: &Path,
    options: &str,
    fault: Fault,
    class: PathClass,
) -> Result<Struck> {
    let rule = FaultRule {
        fault,
        class: Some(class),
        skip: 2,
        times: 1,
    };
    let loaded = ground.load(prepared, options, "fault", AFTERWARDS, |mount| {
        mount.arm(rule);
    })?;
    let times = loaded.struck.values().sum();
    let mut struck = Struck {
        fault: fault.words().to_owned(),
        class,
        times,
        stopped: loaded.stopped.clone(),
        found: None,
        what: None,
    };
    if times > 0 {
        judge(ground, options, &loaded, &mut struck)?;
    }
    Ok(struck)
}

fn judge(ground: &Ground<'_>, options: &str, loaded: &Loaded, struck: &mut Struck) -> Result<()> {
    let trial = Trial {
        ground,
        options,
        loaded,
        keep: None,
        progress: &|_| {},
    };
    let step = loaded.recording.steps.len();
    let cuts = [Loss::Drop, Loss::Keep].map(|loss| Cut {
        step,
        strict: false,
        loss,
    });
    let images = trial.run(&cuts)?;
    let found = Class::ALL.into_iter().rev();
    let mut found = found.filter(|class| images.count(*class, None) > 0);
    struck.found = found.next();
    struck.what = images.examples.into_iter().next();
    Ok(())
}
