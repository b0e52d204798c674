//! The finding about one setting of a store: the record of `verify durability`.

use super::adapter::Expected;
use super::child_protocol::Settings;
use super::crash_images::Images;
use super::fault_injection::{FaultVerdict, InjectedFault};
use super::outcome::Class;
use super::process_kills::KillResults;
use super::replica::Replica;
use serde::{Deserialize, Serialize};

/// The format of this record.
pub const FORMAT: u32 = 2;

/// A setting of known behaviour, tested together with the requested one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    /// The store's own name for it.
    pub name: String,
    /// The options of its URL.
    pub options: String,
    /// Its expected behaviour.
    pub expected: Expected,
    /// The documented time within which it may lose the latest transactions, in milliseconds.
    #[serde(default)]
    pub window_ms: Option<u64>,
    /// The results of its images.
    pub images: Images,
}

/// A loss may reach back this many windows, because a busy machine wakes the syncing thread late.
const WINDOWS: u64 = 2;

impl Control {
    /// True if it behaved as expected.
    pub fn fired(&self) -> bool {
        let bad = self.images.images - self.images.count(Class::Ok, None);
        match self.expected {
            Expected::Hold => bad_on_ext4(&self.images) == 0,
            Expected::Lose => bad > 0,
            // It may also lose nothing, if nothing was in flight.
            Expected::LoseLatest => {
                let fine =
                    self.images.count(Class::Ok, None) + self.images.count(Class::Lost, None);
                let in_time = |window: u64| self.images.reach_ms_max <= WINDOWS * window;
                fine == self.images.images && self.window_ms.is_none_or(in_time)
            }
        }
    }
}

/// Images that are not ok under the ext4-like model.
pub(super) fn bad_on_ext4(images: &Images) -> u64 {
    images.journal.values().sum::<u64>() - images.count(Class::Ok, Some(false))
}

/// Images that are not ok under the strict model.
pub(super) fn bad_on_strict(images: &Images) -> u64 {
    images.strict.values().sum::<u64>() - images.count(Class::Ok, Some(true))
}

/// The conclusion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Data was lost; the text says which.
    NotDurable(String),
    /// No loss was seen, and the controls behaved as expected.
    Survived {
        /// Simulated power losses: the number of places in the recording at which the power was cut.
        cuts: u64,
        /// Crash images of them; only those under ext4-like names if images under strict names failed.
        images: u64,
        /// Number of killed processes.
        kills: u64,
    },
    /// The setting promises nothing in a power loss; the text says what was lost.
    PromisesNothing(String),
    /// No conclusion; the text says why.
    Unknown(String),
}

/// The record of one verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The format: [`FORMAT`].
    pub format: u32,
    /// The store: "sqlite".
    pub store: String,
    /// The options of its URL.
    pub options: String,
    /// The live server that this is a replica of, if any.
    #[serde(default)]
    pub like: Option<Replica>,
    /// The settings that the store reports.
    pub settings: Settings,
    /// The expected behaviour of this setting.
    pub expected: Expected,
    /// The documented time within which the setting may lose the latest transactions, in milliseconds.
    #[serde(default)]
    pub window_ms: Option<u64>,
    /// The seed of cuts and losses.
    pub seed: u64,
    /// Whether pages and sectors may have been torn.
    #[serde(default)]
    pub tears: bool,
    /// Number of clients in the load.
    pub clients: i64,
    /// The results of process kills.
    pub kills: KillResults,
    /// The results of power losses; none if they could not be simulated here.
    pub images: Option<Images>,
    /// Why they could not be simulated.
    pub no_images: Option<String>,
    /// The settings of known behaviour that were tested too.
    pub controls: Vec<Control>,
    /// The effects of live faults; none if they were not tried.
    pub faults: Option<Vec<InjectedFault>>,
    /// The conclusion about power losses on a working disk.
    pub verdict: Verdict,
    /// The conclusion about a failing disk; none if that was not tested, or if the setting promises nothing.
    #[serde(default)]
    pub fault_verdict: Option<FaultVerdict>,
}

impl Finding {
    /// The conclusion from the results so far.
    pub(super) fn judge(&self) -> Verdict {
        if self.expected == Expected::Hold {
            self.judge_promise()
        } else {
            Verdict::PromisesNothing(self.what_was_lost())
        }
    }

    fn judge_promise(&self) -> Verdict {
        if let Some(example) = &self.kills.example {
            let (bad, kills) = (self.kills.bad(), self.kills.kills);
            let of = if kills == 1 { "kill" } else { "kills" };
            return Verdict::NotDurable(format!("after {bad} of {kills} {of}: {example}"));
        }
        let Some(images) = &self.images else {
            let why = self.no_images.clone().unwrap_or_default();
            return Verdict::Unknown(format!("power loss was not simulated: {why}"));
        };
        if bad_on_ext4(images) > 0 {
            return Verdict::NotDurable(self.what_was_lost());
        }
        // A control that lost more than it may cannot have hidden a loss of this setting, so it does not
        // affect the verdict.
        let silent = |one: &&Control| one.expected == Expected::Lose && !one.fired();
        if let Some(control) = self.controls.iter().find(silent) {
            return Verdict::Unknown(format!(
                "the control {} lost nothing, so the test may be too weak to detect a loss",
                control.name
            ));
        }
        let has_lost = |one: &Control| one.images.images > one.images.count(Class::Ok, None);
        let may_lose = |one: &&Control| one.expected != Expected::Hold;
        if !self.controls.iter().filter(may_lose).any(has_lost) {
            let why = "no control that may lose data lost any, so the test may be too weak to detect a loss";
            return Verdict::Unknown(why.to_owned());
        }
        let checked = match bad_on_strict(images) {
            0 => images.images,
            _ => images.journal.values().sum(),
        };
        Verdict::Survived { cuts: images.places, images: checked, kills: self.kills.kills }
    }

    /// The conclusion from the faults that struck.
    pub(super) fn judge_faults(&self) -> Option<FaultVerdict> {
        let faults = self.faults.as_ref()?;
        (self.expected == Expected::Hold).then(|| FaultVerdict::of(faults))
    }

    /// True if something acknowledged was gone, on a working disk or on a failing one.
    pub fn is_broken(&self) -> bool {
        matches!(self.verdict, Verdict::NotDurable(_))
            || matches!(self.fault_verdict, Some(FaultVerdict::NotDurable(_)))
    }

    fn what_was_lost(&self) -> String {
        let Some(images) = &self.images else {
            return "power loss was not simulated".to_owned();
        };
        let bad = images.images - images.count(Class::Ok, None);
        let example = images.examples.values().next_back();
        let example = example.map(|what| format!("; for example: {what}"));
        let (all, heads) = (images.images, images.heads.0);
        let torn = if bad > 0 && bad == images.heads.1 {
            format!(
                ", all of them among the {heads} with a torn first page of a data file; the other {} are fine",
                all - heads
            )
        } else if bad > 0 && bad == images.torn.1 {
            ", all of them with torn pages".to_owned()
        } else {
            String::new()
        };
        format!(
            "{bad} of {all} crash images lack acknowledged data or are damaged{torn}{}",
            example.unwrap_or_default()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Control, Expected};
    use crate::durability::crash_images::Images;
    use crate::durability::outcome::Class;
    use std::collections::BTreeMap;

    /// A control that may lose the latest second; one of its two images has lost transactions back to
    /// `reach_ms_max`.
    fn lost(class: Class, reach_ms_max: u64) -> Control {
        let counts = [Class::Ok, class].map(|class| (class.words().to_owned(), 1));
        Control {
            name: "late".to_owned(),
            options: String::new(),
            expected: Expected::LoseLatest,
            window_ms: Some(1000),
            images: Images {
                images: 2,
                journal: BTreeMap::from(counts),
                reach_ms_max,
                ..Images::default()
            },
        }
    }

    #[test]
    fn the_latest_may_be_lost_within_twice_the_window_in_whole_transactions() {
        assert!(lost(Class::Lost, 2000).fired());
        assert!(!lost(Class::Lost, 2001).fired());
        assert!(!lost(Class::OutOfOrder, 10).fired());
        let mut without = lost(Class::Lost, 2001);
        without.window_ms = None;
        assert!(without.fired(), "without a window, any reach is accepted");
    }
}
