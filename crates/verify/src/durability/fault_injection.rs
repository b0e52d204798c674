//! Faults that strike while the store runs, one kind and one class of paths at a time.
//!
//! The store may stop, refuse or go on; what it must not do is acknowledge what it then has not. So each
//! run ends with a loss of power, and two images are judged: nothing of what was not synced, and all.

use super::crash_images::{Keep, Trial};
use super::live_fault::LiveFault;
use super::outcome::Class;
use super::power_cuts::Cut;
use super::test_store::{Loaded, TestStore};
use crate::error::Result;
use crate::power::{Class as PathClass, Fault, Loss};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
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
pub struct InjectedFault {
    /// The fault, in words.
    pub fault: String,
    /// In which files.
    pub class: PathClass,
    /// How often it struck; a fault that never did was not exercised.
    pub times: u64,
    /// Why the store's clients stopped; empty if they went on.
    pub stopped: String,
    /// Transactions that it acknowledged afterwards.
    #[serde(default)]
    pub after: u64,
    /// The gravest line that the store had logged by then; none if it logs none where we look.
    #[serde(default)]
    pub gravest: Option<String>,
    /// The worst that was found afterwards; none if the fault was not exercised.
    pub found: Option<Class>,
    /// The same in words.
    pub what: Option<String>,
    /// Where failing images are kept.
    #[serde(default)]
    pub kept: Vec<PathBuf>,
}

/// What may be said of a store on a disk that fails.
///
/// Whoever is told that a write, a read or a sync has failed and goes on acknowledging has vouched for
/// what it has: if that is gone, the store is at fault as it is when the power goes. After a failed sync
/// the kernel counts as clean what it should have written, so that only a store that stops, and recovers
/// from its log, is safe. A sync that is only slow excuses nothing. A bit that flips on its way is told
/// to nobody: what comes of it is told, and is no verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultVerdict {
    /// Something acknowledged was gone; which, after what.
    NotDurable(String),
    /// So many kinds of faults struck, and nothing acknowledged was gone.
    Survived(u64),
    /// No fault struck, so that nothing may be said.
    Unknown,
}

impl FaultVerdict {
    /// Of every fault that was tried.
    pub(super) fn of(faults: &[InjectedFault]) -> FaultVerdict {
        let told = faults.iter().filter(|one| one.is_reported());
        let struck: Vec<_> = told.filter(|one| one.found.is_some()).collect();
        let bad = struck.iter().filter(|one| one.is_bad());
        let bad: Vec<_> = bad.map(|one| one.words()).collect();
        match (bad.is_empty(), struck.is_empty()) {
            (false, _) => FaultVerdict::NotDurable(bad.join("; ")),
            (true, false) => FaultVerdict::Survived(struck.len() as u64),
            (true, true) => FaultVerdict::Unknown,
        }
    }
}

impl InjectedFault {
    /// True if the store could know of it.
    pub fn is_reported(&self) -> bool {
        self.fault != Fault::FlippedBit.words()
    }

    /// True if something acknowledged was gone or unreadable afterwards.
    pub fn is_bad(&self) -> bool {
        self.found.is_some_and(|class| class != Class::Ok)
    }

    /// Fault, place and what was found, in words.
    fn words(&self) -> String {
        let class = self.found.unwrap_or(Class::Ok).words();
        format!(
            "after a {} in the {}: {class}: {}",
            self.fault,
            self.class.word(),
            self.what.as_deref().unwrap_or("no words for it")
        )
    }
}

/// Every fault in the log and in the data.
pub(super) fn faults(
    ground: &TestStore<'_>,
    prepared: &Path,
    options: &str,
    keep: Keep<'_>,
    progress: &dyn Fn(&str),
) -> Result<Vec<InjectedFault>> {
    let mut all = Vec::new();
    for fault in FAULTS {
        for class in [PathClass::Log, PathClass::Data] {
            progress(&format!("{} in the {}", fault.words(), class.word()));
            all.push(one(ground, prepared, options, keep, (fault, class))?);
        }
    }
    Ok(all)
}

fn one(
    ground: &TestStore<'_>,
    prepared: &Path,
    options: &str,
    keep: Keep<'_>,
    (fault, class): (Fault, PathClass),
) -> Result<InjectedFault> {
    let meddling = LiveFault::Fault(fault, class);
    let loaded = ground.load(prepared, options, "fault", AFTERWARDS, meddling)?;
    let times = loaded.struck.values().sum();
    let mut struck = InjectedFault {
        fault: fault.words().to_owned(),
        class,
        times,
        stopped: loaded.stopped.clone(),
        after: loaded.after,
        gravest: loaded.gravest.clone(),
        found: None,
        what: None,
        kept: Vec::new(),
    };
    if times > 0 {
        judge(ground, options, keep, &loaded, &mut struck)?;
    }
    Ok(struck)
}

fn judge(
    ground: &TestStore<'_>,
    options: &str,
    keep: Keep<'_>,
    loaded: &Loaded,
    struck: &mut InjectedFault,
) -> Result<()> {
    let fault = format!("{} in the {}", struck.fault, struck.class.word());
    let trial = Trial {
        ground,
        options,
        loaded,
        // One of each class shows what a fault did.
        keep: Some(Keep { of_class_max: 1, fault: Some(&fault), ..keep }),
        progress: &|_| {},
    };
    let step = loaded.recording.steps.len();
    let cuts = [Loss::Drop, Loss::Keep].map(|loss| Cut { step, strict: false, loss });
    let images = trial.run(&cuts)?;
    struck.kept.clone_from(&images.kept);
    let found = Class::ALL.into_iter().rev();
    let mut found = found.filter(|class| images.count(*class, None) > 0);
    struck.found = found.next();
    struck.what = images.examples.into_values().next_back();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{FaultVerdict, InjectedFault};
    use crate::durability::outcome::Class;
    use crate::power::{Class as PathClass, Fault};

    fn struck(fault: Fault, found: Option<Class>) -> InjectedFault {
        InjectedFault {
            fault: fault.words().to_owned(),
            class: PathClass::Data,
            times: u64::from(found.is_some()),
            stopped: String::new(),
            after: 0,
            gravest: None,
            found,
            what: Some("9 of 12 acknowledged are gone".to_owned()),
            kept: Vec::new(),
        }
    }

    #[test]
    fn a_loss_after_an_error_that_was_told_is_a_verdict_and_one_after_a_flip_is_none() {
        let fine = struck(Fault::DiskFull, Some(Class::Ok));
        let lost = struck(Fault::SyncError, Some(Class::Lost));
        let flipped = struck(Fault::FlippedBit, Some(Class::Unreadable));
        let never = struck(Fault::ReadError, None);
        let of = |all: &[&InjectedFault]| {
            FaultVerdict::of(&all.iter().map(|one| (*one).clone()).collect::<Vec<_>>())
        };
        assert_eq!(of(&[&fine, &flipped, &never]), FaultVerdict::Survived(1));
        assert_eq!(of(&[&flipped, &never]), FaultVerdict::Unknown);
        let FaultVerdict::NotDurable(why) = of(&[&fine, &lost]) else {
            panic!("what was acknowledged is gone")
        };
        assert_eq!(
            why,
            "after a failed sync (EIO) in the data: lost: 9 of 12 acknowledged are gone"
        );
    }
}
