//! Processes killed in mid-load, on a plain file system: the lowest rung of the ladder of evidence.
//!
//! The kernel survives, and with it everything that was written to it: this says nothing about syncs.

use super::outcome::{Acknowledged, Class, Outcome};
use super::test_store::{TestStore, look};
use crate::error::{Result, doing};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What was found after all kills of one setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KillResults {
    /// How many.
    pub kills: u64,
    /// Transactions acknowledged in all.
    pub acknowledged: u64,
    /// How many of each class.
    pub classes: BTreeMap<String, u64>,
    /// The first outcome that is not ok, in words.
    pub example: Option<String>,
}

impl KillResults {
    /// Kills that left something other than they should.
    pub fn bad(&self) -> u64 {
        self.kills - self.classes.get(Class::Ok.words()).copied().unwrap_or(0)
    }

    fn add(&mut self, outcome: Outcome) {
        self.kills += 1;
        self.acknowledged = outcome.acknowledged;
        let class = outcome.class.words().to_owned();
        *self.classes.entry(class).or_default() += 1;
        if outcome.class != Class::Ok && self.example.is_none() {
            self.example = Some(outcome.what);
        }
    }
}

/// Loads a copy of a prepared store and kills it, so many times, each time going on where it was killed.
pub(super) fn kills(
    ground: &TestStore<'_>,
    prepared: &Path,
    options: &str,
    count: u64,
    seed: u64,
    progress: &dyn Fn(&str),
) -> Result<KillResults> {
    let folder = ground.folder("kill")?;
    let (store, told) = (folder.join("store"), folder.join("acknowledgements"));
    fs::create_dir(&store).map_err(doing("make", &store))?;
    TestStore::copy(prepared, &store)?;
    let (mut found, mut random) = (KillResults::default(), fastrand::Rng::with_seed(seed));
    for number in 1..=count {
        progress(&format!("killing processes: {number} of {count}"));
        ground.kill(&store, options, &told, &mut random)?;
        let mut heard = Acknowledged::default();
        if told.exists() {
            heard.hear(&fs::read(&told).map_err(doing("read", &told))?);
        }
        let mut helper = ground.program.start()?;
        let looked = look(ground.adapter, &mut helper, &store, options)?;
        ground.go_on()?;
        found.add(heard.judge(looked));
    }
    Ok(found)
}
