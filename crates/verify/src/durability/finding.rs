//! What was found of one setting of a store: the record of `verify durability`.

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

/// A setting whose behaviour is known, tested beside the one that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    /// The store's own words for it.
    pub name: String,
    /// The options of its URL.
    pub options: String,
    /// What is expected of it.
    pub expected: Expected,
    /// How far back what it may lose can reach, in milliseconds, by the store's own documents.
    #[serde(default)]
    pub window_ms: Option<u64>,
    /// What its images showed.
    pub images: Images,
}

/// A loss may reach back so many windows: a machine that is busy wakes whoever syncs late.
const WINDOWS: u64 = 2;

impl Control {
    /// True if it did what was expected of it.
    pub fn fired(&self) -> bool {
        let bad = self.images.images - self.images.count(Class::Ok, None);
        match self.expected {
            Expected::Hold => bad_on_ext4(&self.images) == 0,
            Expected::Lose => bad > 0,
            // It may lose nothing, if nothing was under way.
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

/// What may be said in the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A loss was seen; which.
    NotDurable(String),
    /// No loss was seen, and the controls did what they should.
    Survived {
        /// Losses of power, simulated: the places of a recording at which it went.
        cuts: u64,
        /// Crash images of them; those under ext4-like names alone, if it failed under strict ones.
        images: u64,
        /// Processes killed.
        kills: u64,
    },
    /// The setting promises nothing when the power goes; what was seen of it.
    PromisesNothing(String),
    /// Nothing may be said; why.
    Unknown(String),
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The format: [`FORMAT`].
    pub format: u32,
    /// The store: "sqlite".
    pub store: String,
    /// The options of its URL.
    pub options: String,
    /// The live server whose replica it is, if it is one.
    #[serde(default)]
    pub like: Option<Replica>,
    /// What the store says of itself.
    pub settings: Settings,
    /// What is expected of this setting.
    pub expected: Expected,
    /// How far back what it may lose can reach, in milliseconds, by the store's own documents.
    #[serde(default)]
    pub window_ms: Option<u64>,
    /// The seed of cuts and losses.
    pub seed: u64,
    /// Whether pages and sectors may have been torn.
    #[serde(default)]
    pub tears: bool,
    /// How many clients loaded it.
    pub clients: i64,
    /// What kills left.
    pub kills: KillResults,
    /// What losses of power left; none if they could not be simulated here.
    pub images: Option<Images>,
    /// Why they could not.
    pub no_images: Option<String>,
    /// The settings tested beside it.
    pub controls: Vec<Control>,
    /// What live faults did; none if they were not tried.
    pub faults: Option<Vec<InjectedFault>>,
    /// What may be said of power lost on a disk that works.
    pub verdict: Verdict,
    /// What may be said of a disk that fails; none if that was not tried, or if the setting promises
    /// nothing anyhow.
    #[serde(default)]
    pub fault_verdict: Option<FaultVerdict>,
}

impl Finding {
    /// What may be said of what was found so far.
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
        // A control that lost more than it may cannot have hidden a loss of this setting: it is told.
        let silent = |one: &&Control| one.expected == Expected::Lose && !one.fired();
        if let Some(control) = self.controls.iter().find(silent) {
            return Verdict::Unknown(format!(
                "the control {} lost nothing, so a loss might not have been seen",
                control.name
            ));
        }
        let has_lost = |one: &Control| one.images.images > one.images.count(Class::Ok, None);
        let may_lose = |one: &&Control| one.expected != Expected::Hold;
        if !self.controls.iter().filter(may_lose).any(has_lost) {
            let why = "no control that may lose has lost, so a loss might not have been seen";
            return Verdict::Unknown(why.to_owned());
        }
        let looked = match bad_on_strict(images) {
            0 => images.images,
            _ => images.journal.values().sum(),
        };
        Verdict::Survived { cuts: images.places, images: looked, kills: self.kills.kills }
    }

    /// What may be said of the faults that struck.
    pub(super) fn judge_faults(&self) -> Option<FaultVerdict> {
        let faults = self.faults.as_ref()?;
        (self.expected == Expected::Hold).then(|| FaultVerdict::of(faults))
    }

    /// True if something that was acknowledged was gone, on a disk that works or on one that fails.
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
        let example = example.map(|what| format!("; one: {what}"));
        let (all, heads) = (images.images, images.heads.0);
        let torn = if bad > 0 && bad == images.heads.1 {
            format!(
                ", each of them among the {heads} with a torn first page of a data file, and all {} others are",
                all - heads
            )
        } else if bad > 0 && bad == images.torn.1 {
            ", each of them with torn pages".to_owned()
        } else {
            String::new()
        };
        format!(
            "{bad} of {all} crash images are not as acknowledged{torn}{}",
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

    /// A control that may lose the latest second, of whose two images one has lost so much.
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
    fn the_latest_may_be_lost_back_to_twice_the_stores_window_and_whole() {
        assert!(lost(Class::Lost, 2000).fired());
        assert!(!lost(Class::Lost, 2001).fired());
        assert!(!lost(Class::OutOfOrder, 10).fired());
        let mut without = lost(Class::Lost, 2001);
        without.window_ms = None;
        assert!(without.fired(), "no time is known that it keeps");
    }
}
