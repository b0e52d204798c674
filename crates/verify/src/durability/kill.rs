//! Processes killed in mid-load, on a plain file system: the lowest rung of the ladder of evidence.
//!
//! The kernel survives, and with it everything that was written to it: this says nothing about syncs.

use super::ground::{FIRST_LIMIT, Ground, look};
use super::outcome::{Acknowledged, Class, Outcome};
use crate::error::{Result, doing};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;
use syncline_metering::clock;
use syncline_targets::private::Ending;

/// What was found after all kills of one setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kills {
    /// How many.
    pub kills: u64,
    /// Transactions acknowledged in all.
    pub acknowledged: u64,
    /// How many of each class.
    pub classes: BTreeMap<String, u64>,
    /// The first outcome that is not ok, in words.
    pub example: Option<String>,
}

impl Kills {
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

fn bytes(told: &Path) -> u64 {
    fs::metadata(told).map_or(0, |found| found.len())
}

/// Loads a copy of a prepared store and kills it, so many times, each time going on where it was killed.
pub(super) fn kills(
    ground: &Ground<'_>,
    prepared: &Path,
    options: &str,
    count: u64,
    seed: u64,
) -> Result<Kills> {
    let folder = ground.folder("kill")?;
    let (store, told) = (folder.join("store"), folder.join("acknowledgements"));
    fs::create_dir(&store).map_err(doing("make", &store))?;
    Ground::copy(prepared, &store)?;
    let (mut found, mut random) = (Kills::default(), fastrand::Rng::with_seed(seed));
    for _ in 0..count {
        let mut running = ground.adapter.start(&store, options)?;
        let before = bytes(&told);
        let mut helper = ground.work(&*running, told.clone())?;
        // A store that is slow to open is not killed before it was loaded.
        let end = clock::now() + clock::nanos(FIRST_LIMIT);
        while bytes(&told) == before && clock::now() < end {
            thread::sleep(Duration::from_millis(2));
        }
        thread::sleep(Duration::from_millis(random.u64(10..300)));
        running.end(Ending::Killed)?;
        helper.kill()?;
        let mut heard = Acknowledged::default();
        if told.exists() {
            heard.hear(&fs::read(&told).map_err(doing("read", &told))?);
        }
        let mut helper = ground.program.start()?;
        let answer = look(ground.adapter, &mut helper, &store, options)?;
        ground.go_on()?;
        found.add(heard.judge(answer));
    }
    Ok(found)
}
