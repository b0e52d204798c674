//! Histories that go on behind a crash: lists appended to and read until the power goes or the process is
//! killed, then every list read once more in a last session of the same history.
//!
//! What was asked for and answered is written, as it happens, where the crash cannot take it: on a mount
//! among the recorded steps, so that each cut has its own history, with every answer up to it. A
//! transaction without an answer is unknown: it may be there or not, but whole. So one checker says
//! whether transactions stayed apart and whether they outlived the crash together; see
//! [`behind`](super::recovered_history).

use super::adapter::Expected;
use super::check::{Request, expected};
use super::child_process::ChildProgram;
use super::child_protocol::{Answer, Settings, Task};
use super::live_fault::LiveFault;
use super::power_cuts::{Drawn, cuts};
use super::recovered_history::{RecoveredHistory, end_with, keys};
use super::sentences::name;
use super::test_store::{TestStore, ask, remove};
use crate::error::{Result, doing};
use crate::isolation::{Ending, elle};
use crate::power::{Metadata, Replay};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use syncline_contract::Isolation;

/// The format of this record.
const FORMAT: u32 = 1;

/// The record of `verify isolation --crashes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrashHistory {
    /// The format.
    pub format: u32,
    /// The store: "sqlite".
    pub store: String,
    /// The options of its URL.
    pub options: String,
    /// What it says of itself.
    pub settings: Settings,
    /// What is expected of its durability.
    pub expected: Expected,
    /// Where all was drawn from.
    pub seed: u64,
    /// Behind killed processes.
    pub kills: RecoveredHistory,
    /// Behind losses of power; none if they could not be simulated here.
    pub cuts: Option<RecoveredHistory>,
    /// Why they could not.
    pub no_cuts: Option<String>,
    /// What may be said.
    #[serde(default)]
    pub verdict: CrashHistoryVerdict,
}

/// What may be said of histories that go on behind crashes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CrashHistoryVerdict {
    /// An anomaly that the level forbids, or an acknowledged append gone that had to stay.
    Broken,
    /// Neither was seen.
    Held,
    /// No anomaly was seen; what is acknowledged may go with the power.
    PromisesNothing,
    /// Nothing may be said; why.
    Unknown(String),
    /// A record that is older than verdicts.
    #[default]
    None,
}

/// Lets a private store crash in the middle of a load over lists, and checks the histories that go on
/// behind. `request.images` losses of power, `request.kills` kills.
pub fn across(
    request: &Request,
    program: &ChildProgram,
    stop: &AtomicBool,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<CrashHistory> {
    let asked = request;
    let request = &hastened(asked);
    let lists = Some(request.seed);
    let mut ground = TestStore::of(&request.store, program, &request.scratch, stop, lists)?;
    ground.recorded_bytes_max = request.recorded_bytes_max;
    let prepared = ground.folder("prepared")?;
    let settings = ground.prepare(&prepared, &request.options)?;
    let expected = expected(ground.adapter, &asked.options, &settings.durability);
    let crash = Crash {
        request,
        ground,
        product: settings.product.clone(),
        claimed: claimed(&settings.isolation),
        progress,
    };
    let no_cuts = crash.ground.no_power()?;
    let mut found = CrashHistory {
        format: FORMAT,
        store: request.store.clone(),
        options: request.options.clone(),
        expected,
        settings,
        seed: request.seed,
        kills: crash.kills(&prepared)?,
        cuts: match no_cuts {
            None => Some(crash.cuts(&prepared)?),
            Some(_) => None,
        },
        no_cuts,
        verdict: CrashHistoryVerdict::None,
    };
    found.verdict = found.judge();
    Ok(found)
}

/// Clients of few lists meet in deadlocks, and a load of a second shall not wait a second for each: a
/// PostgreSQL is asked to look for one sooner, unless the options say when.
fn hastened(request: &Request) -> Request {
    let mut options = request.options.clone();
    if request.store == "postgres" && !options.contains("deadlock_timeout=") {
        let joint = if options.is_empty() { "" } else { "&" };
        options.push_str(joint);
        options.push_str("deadlock_timeout=10ms");
    }
    Request { options, ..request.clone() }
}

struct Crash<'c> {
    request: &'c Request,
    ground: TestStore<'c>,
    product: String,
    claimed: Isolation,
    progress: &'c (dyn Fn(&str) + Sync),
}

impl Crash<'_> {
    /// Each kill in a store of its own, since the numbers of values begin anew.
    fn kills(&self, prepared: &Path) -> Result<RecoveredHistory> {
        let (mut behind, ground) = (RecoveredHistory::default(), &self.ground);
        let mut random = fastrand::Rng::with_seed(self.request.seed);
        for number in 1..=self.request.kills {
            let kills = self.request.kills;
            (self.progress)(&format!("killing processes: {number} of {kills}"));
            let folder = ground.folder("kill")?;
            let (store, told) = (folder.join("store"), folder.join("history"));
            fs::create_dir(&store).map_err(doing("make", &store))?;
            TestStore::copy(prepared, &store)?;
            ground.kill(&store, &self.request.options, &told, &mut random)?;
            let text = if told.exists() {
                fs::read(&told).map_err(doing("read", &told))?
            } else {
                Vec::new()
            };
            self.look(&store, &text, &mut behind)?;
        }
        Ok(behind)
    }

    fn cuts(&self, prepared: &Path) -> Result<RecoveredHistory> {
        let (request, adapter) = (self.request, self.ground.adapter);
        (self.progress)("loading");
        let (options, load) = (&*request.options, request.load);
        let loaded = self.ground.load(prepared, options, "load", load, LiveFault::None)?;
        // Strict names are a question of durability alone, which is asked elsewhere.
        let drawn = Drawn { images: 2 * request.images, seed: request.seed, tears: request.tears };
        let recording = &loaded.recording;
        let mut cuts = cuts(recording, adapter.classify(), drawn);
        cuts.retain(|cut| !cut.strict);
        cuts.truncate(request.images as usize);
        let mut machine = Replay::new(&recording.base, Metadata::OrderedJournal);
        let (mut behind, mut at) = (RecoveredHistory::default(), 0);
        for (number, cut) in cuts.iter().enumerate() {
            (self.progress)(&format!("losses of power: {number} of {}", cuts.len()));
            for step in &recording.steps[at..cut.step] {
                machine.step(step)?;
            }
            at = cut.step;
            let directory = self.ground.folder("image")?;
            machine.image(cut.loss)?.write_to(&directory)?;
            let text: Vec<u8> = recording.acknowledged(cut.step).flatten().copied().collect();
            self.look(&directory, &text, &mut behind)?;
            remove(&directory)?;
        }
        Ok(behind)
    }

    /// Recovers what a crash has left, reads every list, and judges the history that ends with that.
    fn look(&self, directory: &Path, text: &[u8], behind: &mut RecoveredHistory) -> Result<()> {
        // A line that is cut off was never written whole.
        let whole = text.iter().rposition(|byte| *byte == b'\n');
        let mut history = elle::read(&text[..whole.map_or(0, |end| end + 1)])?;
        behind.crashes += 1;
        behind.committed += history.count(Ending::Committed) as u64;
        behind.unknown += history.count(Ending::Unknown) as u64;
        let keys = keys(&history);
        let mut helper = self.ground.program.start()?;
        let (adapter, options) = (self.ground.adapter, &self.request.options);
        let found =
            ask(adapter, &mut helper, directory, options, |url| Task::ReadLists { url, keys })?;
        self.ground.go_on()?;
        let why = match found.answer {
            Ok(Answer::Lists(lists)) => {
                end_with(&mut history, lists);
                behind.judge(&self.product, self.claimed, &history);
                return Ok(());
            }
            Ok(Answer::NotOpened(why) | Answer::Unreadable(why)) => why,
            other => format!("{other:?}"),
        };
        let log = found.gravest.map(|line| format!("; its log says \"{line}\""));
        let why = why + log.as_deref().unwrap_or_default();
        behind.unreadable += 1;
        match adapter.known(&why) {
            Some(known) => {
                behind.known.insert(known.to_owned());
            }
            None => behind.unexplained += 1,
        }
        behind.example.get_or_insert(why);
        Ok(())
    }
}

impl CrashHistory {
    fn judge(&self) -> CrashHistoryVerdict {
        if !self.holds() {
            return CrashHistoryVerdict::Broken;
        }
        if let Some(why) = &self.no_cuts {
            return CrashHistoryVerdict::Unknown(format!("power loss was not simulated: {why}"));
        }
        match self.expected {
            Expected::Hold => CrashHistoryVerdict::Held,
            Expected::LoseLatest | Expected::Lose => CrashHistoryVerdict::PromisesNothing,
        }
    }

    /// True if nothing was seen that was not to be: no anomaly that the level forbids, and where commits
    /// are to hold, none lost. Whether enough was seen to say so is [`CrashHistory::verdict`].
    pub fn holds(&self) -> bool {
        let may_lose = self.expected != Expected::Hold;
        let fine =
            |behind: &RecoveredHistory| !behind.is_broken() && (may_lose || behind.lost == 0);
        let all_may_go = self.expected == Expected::Lose;
        fine(&self.kills) && self.cuts.as_ref().is_none_or(|cuts| all_may_go || fine(cuts))
    }

    /// True if nothing was seen that was not to be, or nothing but what is known of the store.
    pub fn is_explained(&self) -> bool {
        let explained = |behind: &RecoveredHistory| behind.unexplained == 0 && behind.lost == 0;
        self.holds() || explained(&self.kills) && self.cuts.as_ref().is_none_or(explained)
    }

    /// The finding, a line each; the first says whether it holds, the last what is not known.
    pub fn sentences(&self) -> Vec<String> {
        let name = name(&self.settings);
        let (level, durability) = (&self.settings.isolation, &self.settings.durability);
        let mut lines = vec![match &self.verdict {
            CrashHistoryVerdict::Broken => {
                format!("{name}: not {level} across crashes, or not durable; see below.")
            }
            CrashHistoryVerdict::Held => format!(
                "{name}: no anomaly that {level} forbids across crashes, and nothing acknowledged was gone."
            ),
            CrashHistoryVerdict::PromisesNothing => format!(
                "{name}: this setting (durability {durability}) promises nothing behind a loss of power; what \
                 it left is reported below."
            ),
            CrashHistoryVerdict::Unknown(why) => format!("{name}: unknown: {why}."),
            CrashHistoryVerdict::None => format!("{name}: this record is older than verdicts."),
        }];
        lines.push(self.kills.words("killed processes"));
        let known = [Some(&self.kills), self.cuts.as_ref()];
        let known: BTreeSet<_> = known.iter().flatten().flat_map(|one| &one.known).collect();
        match &self.cuts {
            Some(cuts) => {
                lines.push(cuts.words("simulated losses of power (names as on ext4)"));
            }
            None => lines.push(
                "This rests on process kills alone, which take nothing that the kernel holds; a store that \
                 never syncs would pass them."
                    .to_owned(),
            ),
        }
        lines.extend(known.iter().map(|known| format!("Known: {known}.")));
        lines.push(
            "Not known from here: phantoms, which no list shows; and what the real file system and the \
             device do."
                .to_owned(),
        );
        lines
    }
}

/// The level by its words.
fn claimed(words: &str) -> Isolation {
    let levels = [
        Isolation::ReadCommitted,
        Isolation::RepeatableRead,
        Isolation::Snapshot,
        Isolation::Serializable,
    ];
    let found = levels.into_iter().find(|level| level.words() == words);
    found.unwrap_or(Isolation::NoneClaimed)
}

#[cfg(test)]
mod tests {
    use super::{CrashHistory, CrashHistoryVerdict, FORMAT, claimed};
    use crate::durability::adapter::Expected;
    use crate::durability::child_protocol::Settings;
    use crate::durability::recovered_history::RecoveredHistory;
    use syncline_contract::Isolation;

    /// What killed processes left, and losses of power where they could be simulated.
    fn found(expected: Expected, kills: RecoveredHistory, no_cuts: Option<&str>) -> CrashHistory {
        let mut found = CrashHistory {
            format: FORMAT,
            store: "store".to_owned(),
            options: String::new(),
            settings: Settings::default(),
            expected,
            seed: 1,
            kills,
            cuts: no_cuts.is_none().then(RecoveredHistory::default),
            no_cuts: no_cuts.map(str::to_owned),
            verdict: CrashHistoryVerdict::None,
        };
        found.verdict = found.judge();
        found
    }

    #[test]
    fn where_no_power_was_lost_nothing_is_claimed_and_the_first_line_says_why() {
        for expected in [Expected::Hold, Expected::LoseLatest, Expected::Lose] {
            let without = found(expected, RecoveredHistory::default(), Some("no FUSE here"));
            let why = "power loss was not simulated: no FUSE here";
            assert_eq!(without.verdict, CrashHistoryVerdict::Unknown(why.to_owned()));
            let lines = without.sentences();
            assert!(lines[0].ends_with(&format!(": unknown: {why}.")), "{lines:?}");
            assert!(lines[2].contains("process kills alone"), "{lines:?}");
        }
        let lost = RecoveredHistory { lost: 1, ..RecoveredHistory::default() };
        let broken = found(Expected::Hold, lost, Some("no FUSE here"));
        assert_eq!(broken.verdict, CrashHistoryVerdict::Broken);
        let all = |expected| found(expected, RecoveredHistory::default(), None).verdict;
        assert_eq!(all(Expected::Hold), CrashHistoryVerdict::Held);
        assert_eq!(all(Expected::Lose), CrashHistoryVerdict::PromisesNothing);
    }

    #[test]
    fn levels_are_known_by_their_words() {
        assert_eq!(claimed("snapshot"), Isolation::Snapshot);
        assert_eq!(claimed("read committed"), Isolation::ReadCommitted);
        assert_eq!(claimed("else"), Isolation::NoneClaimed);
    }
}
