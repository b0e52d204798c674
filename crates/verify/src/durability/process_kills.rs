//! Processes killed under load, on an ordinary file system: the lowest level of evidence.
//!
//! The kernel survives, with everything that was written to it, so this says nothing about syncs.

use super::outcome::{Acknowledged, Class, Outcome};
use super::test_store::{TestStore, inspect};
use crate::error::{Result, doing};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The results of all kills of one setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KillResults {
    /// Number of kills.
    pub kills: u64,
    /// Transactions acknowledged in total.
    pub acknowledged: u64,
    /// Kills by class of outcome.
    pub classes: BTreeMap<String, u64>,
    /// The first outcome that is not ok, in words.
    pub example: Option<String>,
}

impl KillResults {
    /// Kills with an outcome that is not ok.
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

/// Loads a copy of a prepared store and kills it `count` times; each load continues where the last was
/// killed.
pub(super) fn kills(
    test_store: &TestStore<'_>,
    prepared: &Path,
    options: &str,
    count: u64,
    seed: u64,
    progress: &dyn Fn(&str),
) -> Result<KillResults> {
    let folder = test_store.folder("kill")?;
    let (store, log) = (folder.join("store"), folder.join("acknowledgements"));
    fs::create_dir(&store).map_err(doing("make", &store))?;
    TestStore::copy(prepared, &store)?;
    let (mut found, mut random) = (KillResults::default(), fastrand::Rng::with_seed(seed));
    for number in 1..=count {
        progress(&format!("killing processes: {number} of {count}"));
        test_store.kill(&store, options, &log, &mut random)?;
        let mut acknowledged = Acknowledged::default();
        if log.exists() {
            acknowledged.add(&fs::read(&log).map_err(doing("read", &log))?);
        }
        let mut helper = test_store.program.start()?;
        let recovered = inspect(test_store.adapter, &mut helper, &store, options)?;
        test_store.check_not_stopped()?;
        found.add(acknowledged.judge(recovered));
    }
    Ok(found)
}
