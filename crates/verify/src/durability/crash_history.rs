//! Histories that continue after a crash: clients append to lists and read them until the power goes or the
//! process is killed, then every list is read once more in a last session of the same history.
//!
//! Invocations and answers are written as they happen, out of the crash's reach; on a mount they are recorded
//! steps, so that each cut has its own history with every answer before it. A transaction without an answer
//! is unknown: it may be there or not, but never in part. So one checker decides whether transactions were
//! isolated and whether they survived the crash together; see
//! [`recovered_history`](super::recovered_history).

use super::adapter::Expected;
use super::check::{Request, expected};
use super::child_process::ChildProgram;
use super::child_protocol::{Answer, Settings, Task};
use super::live_fault::LiveFault;
use super::power_cuts::{LossSelection, cuts};
use super::recovered_history::{RecoveredHistory, end_with, keys};
use super::sentences::name;
use super::test_store::{TestStore, ask, remove};
use crate::error::{Result, doing};
use crate::isolation::{TransactionStatus, elle};
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
    /// The settings that it reports.
    pub settings: Settings,
    /// The expected durability.
    pub expected: Expected,
    /// Seed of the load and the crashes.
    pub seed: u64,
    /// Results after process kills.
    pub kills: RecoveredHistory,
    /// Results after power losses; none if they could not be simulated here.
    pub cuts: Option<RecoveredHistory>,
    /// Why power losses could not be simulated.
    pub no_cuts: Option<String>,
    /// The conclusion.
    #[serde(default)]
    pub verdict: CrashHistoryVerdict,
}

/// The conclusion about histories that continue after crashes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CrashHistoryVerdict {
    /// The level was violated, or an acknowledged append that had to survive was gone.
    Broken,
    /// Neither was seen.
    Held,
    /// No anomaly was seen, but the setting may lose acknowledged transactions in a power loss.
    PromisesNothing,
    /// No conclusion; the text says why.
    Unknown(String),
    /// An old record without a verdict.
    #[default]
    None,
}

/// Crashes a private store during a load over lists, `request.images` times by power loss and `request.kills`
/// times by process kill, and checks the histories that continue after the crashes.
pub fn check_crash_histories(
    request: &Request,
    program: &ChildProgram,
    stop: &AtomicBool,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<CrashHistory> {
    let original = request;
    let request = &with_fast_deadlock_detection(original);
    let lists = Some(request.seed);
    let mut test_store = TestStore::of(&request.store, program, &request.scratch, stop, lists)?;
    test_store.recorded_bytes_max = request.recorded_bytes_max;
    let prepared = test_store.folder("prepared")?;
    let settings = test_store.prepare(&prepared, &request.options)?;
    let expected = expected(test_store.adapter, &original.options, &settings.durability);
    let crash = Crash {
        request,
        test_store,
        product: settings.product.clone(),
        claimed: claimed(&settings.isolation),
        progress,
    };
    let no_cuts = crash.test_store.no_power()?;
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

/// Clients of few lists run into deadlocks, and a load of one second must not wait a second for each: makes
/// PostgreSQL check for deadlocks sooner, unless the options set that time.
fn with_fast_deadlock_detection(request: &Request) -> Request {
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
    test_store: TestStore<'c>,
    product: String,
    claimed: Isolation,
    progress: &'c (dyn Fn(&str) + Sync),
}

impl Crash<'_> {
    /// Each kill gets its own store, because the numbers of values start again.
    fn kills(&self, prepared: &Path) -> Result<RecoveredHistory> {
        let (mut results, test_store) = (RecoveredHistory::default(), &self.test_store);
        let mut random = fastrand::Rng::with_seed(self.request.seed);
        for number in 1..=self.request.kills {
            let kills = self.request.kills;
            (self.progress)(&format!("killing processes: {number} of {kills}"));
            let folder = test_store.folder("kill")?;
            let (store, log) = (folder.join("store"), folder.join("history"));
            fs::create_dir(&store).map_err(doing("make", &store))?;
            TestStore::copy(prepared, &store)?;
            test_store.kill(&store, &self.request.options, &log, &mut random)?;
            let text = if log.exists() {
                fs::read(&log).map_err(doing("read", &log))?
            } else {
                Vec::new()
            };
            self.judge_recovered(&store, &text, &mut results)?;
        }
        Ok(results)
    }

    fn cuts(&self, prepared: &Path) -> Result<RecoveredHistory> {
        let (request, adapter) = (self.request, self.test_store.adapter);
        (self.progress)("loading");
        let (options, load) = (&*request.options, request.load);
        let loaded = self.test_store.load(prepared, options, "load", load, LiveFault::None)?;
        // Strict names only matter for durability, which `verify durability` tests.
        let drawn =
            LossSelection { images: 2 * request.images, seed: request.seed, tears: request.tears };
        let recording = &loaded.recording;
        let mut cuts = cuts(recording, adapter.classify(), drawn);
        cuts.retain(|cut| !cut.strict);
        cuts.truncate(request.images as usize);
        let mut replay = Replay::new(&recording.base, Metadata::OrderedJournal);
        let (mut results, mut at) = (RecoveredHistory::default(), 0);
        for (number, cut) in cuts.iter().enumerate() {
            (self.progress)(&format!("power losses: {number} of {}", cuts.len()));
            for step in &recording.steps[at..cut.step] {
                replay.step(step)?;
            }
            at = cut.step;
            let directory = self.test_store.folder("image")?;
            replay.image(cut.loss)?.write_to(&directory)?;
            let text: Vec<u8> = recording.acknowledged(cut.step).flatten().copied().collect();
            self.judge_recovered(&directory, &text, &mut results)?;
            remove(&directory)?;
        }
        Ok(results)
    }

    /// Recovers a crashed store, reads every list, and judges the history that ends with these reads.
    fn judge_recovered(
        &self,
        directory: &Path,
        text: &[u8],
        results: &mut RecoveredHistory,
    ) -> Result<()> {
        // A truncated last line was not completely written.
        let whole = text.iter().rposition(|byte| *byte == b'\n');
        let mut history = elle::read(&text[..whole.map_or(0, |end| end + 1)])?;
        results.crashes += 1;
        results.committed += history.count(TransactionStatus::Committed) as u64;
        results.unknown += history.count(TransactionStatus::Unknown) as u64;
        let keys = keys(&history);
        let mut helper = self.test_store.program.start()?;
        let (adapter, options) = (self.test_store.adapter, &self.request.options);
        let found =
            ask(adapter, &mut helper, directory, options, |url| Task::ReadLists { url, keys })?;
        self.test_store.check_not_stopped()?;
        let why = match found.answer {
            Ok(Answer::Lists(lists)) => {
                end_with(&mut history, lists);
                results.judge(&self.product, self.claimed, &history);
                return Ok(());
            }
            Ok(Answer::NotOpened(why) | Answer::Unreadable(why)) => why,
            other => format!("{other:?}"),
        };
        let log = found.most_severe_line.map(|line| format!("; its log says \"{line}\""));
        let why = why + log.as_deref().unwrap_or_default();
        results.unreadable += 1;
        match adapter.known_cause(&why) {
            Some(known) => {
                results.known.insert(known.to_owned());
            }
            None => results.unexplained += 1,
        }
        results.example.get_or_insert(why);
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

    /// True if nothing wrong was seen: no anomaly that the level forbids and, if commits must hold, no lost
    /// append. [`CrashHistory::verdict`] says whether enough was tested for a conclusion.
    pub fn holds(&self) -> bool {
        let may_lose = self.expected != Expected::Hold;
        let fine =
            |results: &RecoveredHistory| !results.is_broken() && (may_lose || results.lost == 0);
        let all_may_go = self.expected == Expected::Lose;
        fine(&self.kills) && self.cuts.as_ref().is_none_or(|cuts| all_may_go || fine(cuts))
    }

    /// True if nothing wrong was seen, or only failures with a known cause.
    pub fn is_explained(&self) -> bool {
        let explained = |results: &RecoveredHistory| results.unexplained == 0 && results.lost == 0;
        self.holds() || explained(&self.kills) && self.cuts.as_ref().is_none_or(explained)
    }

    /// The finding, one sentence per line: first the verdict, last what remains unknown.
    pub fn sentences(&self) -> Vec<String> {
        let name = name(&self.settings);
        let (level, durability) = (&self.settings.isolation, &self.settings.durability);
        let mut lines = vec![match &self.verdict {
            CrashHistoryVerdict::Broken => {
                format!("{name}: not {level} across crashes, or not durable; see below.")
            }
            CrashHistoryVerdict::Held => format!(
                "{name}: across crashes, no anomaly that {level} forbids and no acknowledged append lost."
            ),
            CrashHistoryVerdict::PromisesNothing => format!(
                "{name}: this setting (durability {durability}) promises nothing after a power loss; the losses \
                 are reported below."
            ),
            CrashHistoryVerdict::Unknown(why) => format!("{name}: unknown: {why}."),
            CrashHistoryVerdict::None => {
                format!("{name}: this record was written by a version without verdicts.")
            }
        }];
        lines.push(self.kills.words("process kills"));
        let known = [Some(&self.kills), self.cuts.as_ref()];
        let known: BTreeSet<_> = known.iter().flatten().flat_map(|one| &one.known).collect();
        match &self.cuts {
            Some(cuts) => {
                lines.push(cuts.words("simulated power losses (names as on ext4)"));
            }
            None => lines.push(
                "This rests on process kills alone, which lose nothing that the kernel holds; a store that \
                 never syncs would pass them."
                    .to_owned(),
            ),
        }
        lines.extend(known.iter().map(|known| format!("Known: {known}.")));
        lines.push(
            "Not known from here: phantoms, which lists cannot show, and the behaviour of the real file \
             system and device."
                .to_owned(),
        );
        lines
    }
}

/// The level, by its name.
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

    /// A finding with these results after kills, and with power losses if they could be simulated.
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
    fn without_power_losses_the_verdict_is_unknown() {
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
    fn levels_are_found_by_name() {
        assert_eq!(claimed("snapshot"), Isolation::Snapshot);
        assert_eq!(claimed("read committed"), Isolation::ReadCommitted);
        assert_eq!(claimed("else"), Isolation::NoneClaimed);
    }
}
