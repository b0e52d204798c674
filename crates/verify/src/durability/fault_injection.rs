//! Faults that strike a running store, one kind and one class of files at a time.
//!
//! The store may stop, refuse or continue; but it must not acknowledge what it then loses. So each run ends
//! with a power loss, and two images are judged: one without any unsynced data, and one with all of it.

use super::crash_images::{Keep, Trial};
use super::live_fault::LiveFault;
use super::outcome::Class;
use super::power_cuts::Cut;
use super::test_store::{LoadResult, TestStore};
use crate::error::Result;
use crate::power::{Class as PathClass, Fault, Loss};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the load continues after the fault.
const AFTERWARDS: Duration = Duration::from_millis(250);

const FAULTS: [Fault; 6] = [
    Fault::WriteError,
    Fault::DiskFull,
    Fault::SyncError,
    Fault::SlowSync(Duration::from_millis(40)),
    Fault::ReadError,
    Fault::FlippedBit,
];

/// The effect of one fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectedFault {
    /// The fault, in words.
    pub fault: String,
    /// The class of the files that it struck.
    pub class: PathClass,
    /// How often it struck; a fault that never did was not exercised.
    pub times: u64,
    /// Why the store's clients stopped; empty if they continued.
    pub stopped: String,
    /// Transactions acknowledged after the fault.
    #[serde(default)]
    pub after: u64,
    /// The most severe line that the store had logged by then, if it logs where this program reads.
    #[serde(default, rename = "gravest")]
    pub most_severe_line: Option<String>,
    /// The worst outcome afterwards; none if the fault was not exercised.
    pub found: Option<Class>,
    /// The same in words.
    pub what: Option<String>,
    /// The directories of kept failing images.
    #[serde(default)]
    pub kept: Vec<PathBuf>,
}

/// The conclusion about a store on a failing disk.
///
/// A store that receives a read, write or sync error and continues to acknowledge is responsible for what it
/// acknowledged: if that is gone, the store is at fault, as in a power loss. After a failed sync the kernel
/// counts the unwritten pages as clean, so only a store that stops and recovers from its log is safe. A slow
/// sync excuses nothing. Flipped bits are not reported to the store, so their effect is listed but does not
/// enter the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultVerdict {
    /// Something acknowledged was gone; the text says what, and after which fault.
    NotDurable(String),
    /// This many kinds of faults struck, and nothing acknowledged was gone.
    Survived(u64),
    /// No fault struck, so there is no conclusion.
    Unknown,
}

impl FaultVerdict {
    /// The conclusion from all faults that were tried.
    pub(super) fn of(faults: &[InjectedFault]) -> FaultVerdict {
        let reported = faults.iter().filter(|one| one.is_reported());
        let struck: Vec<_> = reported.filter(|one| one.found.is_some()).collect();
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
    /// True if the store received an error or could notice the delay.
    pub fn is_reported(&self) -> bool {
        self.fault != Fault::FlippedBit.words()
    }

    /// True if something acknowledged was gone or unreadable afterwards.
    pub fn is_bad(&self) -> bool {
        self.found.is_some_and(|class| class != Class::Ok)
    }

    /// The fault, its place and the outcome, in words.
    fn words(&self) -> String {
        let class = self.found.unwrap_or(Class::Ok).words();
        format!(
            "after a {} in the {}: {class}: {}",
            self.fault,
            self.class.word(),
            self.what.as_deref().unwrap_or("no details")
        )
    }
}

/// Tries every fault in the log and in the data.
pub(super) fn faults(
    test_store: &TestStore<'_>,
    prepared: &Path,
    options: &str,
    keep: Keep<'_>,
    progress: &dyn Fn(&str),
) -> Result<Vec<InjectedFault>> {
    let mut all = Vec::new();
    for fault in FAULTS {
        for class in [PathClass::Log, PathClass::Data] {
            progress(&format!("{} in the {}", fault.words(), class.word()));
            all.push(one(test_store, prepared, options, keep, (fault, class))?);
        }
    }
    Ok(all)
}

fn one(
    test_store: &TestStore<'_>,
    prepared: &Path,
    options: &str,
    keep: Keep<'_>,
    (fault, class): (Fault, PathClass),
) -> Result<InjectedFault> {
    let live_fault = LiveFault::Fault(fault, class);
    let loaded = test_store.load(prepared, options, "fault", AFTERWARDS, live_fault)?;
    let times = loaded.fault_counts.values().sum();
    let mut struck = InjectedFault {
        fault: fault.words().to_owned(),
        class,
        times,
        stopped: loaded.stopped.clone(),
        after: loaded.after,
        most_severe_line: loaded.most_severe_line.clone(),
        found: None,
        what: None,
        kept: Vec::new(),
    };
    if times > 0 {
        judge(test_store, options, keep, &loaded, &mut struck)?;
    }
    Ok(struck)
}

fn judge(
    test_store: &TestStore<'_>,
    options: &str,
    keep: Keep<'_>,
    loaded: &LoadResult,
    struck: &mut InjectedFault,
) -> Result<()> {
    let fault = format!("{} in the {}", struck.fault, struck.class.word());
    let trial = Trial {
        test_store,
        options,
        loaded,
        // One image of each class is enough to show the effect of a fault.
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
            most_severe_line: None,
            found,
            what: Some("9 of 12 acknowledged are gone".to_owned()),
            kept: Vec::new(),
        }
    }

    #[test]
    fn only_losses_after_reported_errors_enter_the_verdict() {
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
            panic!("expected a verdict of not durable")
        };
        assert_eq!(
            why,
            "after a failed sync (EIO) in the data: lost: 9 of 12 acknowledged are gone"
        );
    }
}
