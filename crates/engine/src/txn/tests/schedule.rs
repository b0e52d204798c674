//! Sessions are stopped between every two steps, in tens of thousands of orders, and their answers are
//! checked against serial histories.

use super::fixture::{Store, StoreConfig, TestSession, scan_all};
use super::history::{FinishedTransaction, Request, State, check, perform};
use crate::buffer::MemoryEvictor;
use crate::conflict::Conflict;
use crate::ids::Csn;
use crate::log::Threads;
use crate::planted_bug::{self, PlantedBug};
use crate::scheduler;
use crate::step::{Step, step};
use crate::txn::scan::Direction;
use crate::txn::{Begin, TxnOptions};
use std::collections::BTreeMap;

/// The parameters of a family of schedules.
#[derive(Clone, Copy)]
struct Family {
    sessions: usize,
    keys: u8,
    /// The longest value: beyond a quarter of a page it goes to extents.
    value_bytes_max: usize,
    kinds: &'static [Begin],
    actions_max: usize,
    /// A thread evicts pages meanwhile.
    evicts: bool,
}

const SMALL: Family = Family {
    sessions: 3,
    keys: 4,
    value_bytes_max: 3,
    kinds: &[
        Begin::Serializable,
        Begin::Serializable,
        Begin::Serializable,
        Begin::ReadOnly,
        Begin::ReadOnlyDurable,
    ],
    actions_max: 4,
    evicts: false,
};

const MIXED: Family = Family {
    sessions: 4,
    kinds: &[
        Begin::Serializable,
        Begin::Serializable,
        Begin::Snapshot,
        Begin::Snapshot,
        Begin::ReadOnlyDurable,
    ],
    ..SMALL
};

const WIDE: Family = Family { keys: 12, value_bytes_max: 200, ..MIXED };

const EVICTED: Family = Family { keys: 8, evicts: true, ..MIXED };

const WIDE_EVICTED: Family = Family { evicts: true, ..WIDE };

/// Pages that the evicting thread tries to evict in a schedule.
const EVICTIONS: u32 = 30;

/// The transactions of one session, one after another.
type Script = Vec<(Begin, bool, Vec<Request>)>;

/// A store with many schedules in it, one after another.
struct ScheduleFixture {
    store: Store,
    /// The current state, and the one before the last initialization, each from some commit on.
    states: Vec<(Csn, State)>,
    commits: usize,
    conflicts: usize,
}

impl ScheduleFixture {
    fn new(evicts: bool) -> ScheduleFixture {
        // Threads of the log would take locks outside the schedule.
        let config = StoreConfig {
            options: TxnOptions { lock_retries_max: 12, ..TxnOptions::default() },
            evicts,
            ..StoreConfig::default()
        };
        let store = Store::with_threads(config, Threads::None);
        ScheduleFixture { store, states: vec![(Csn::ZERO, State::new())], commits: 0, conflicts: 0 }
    }

    /// Plays one schedule. Returns the first problem.
    fn play(&mut self, family: Family, seed: u64, plant: Option<PlantedBug>) -> Result<(), String> {
        let mut random = fastrand::Rng::with_seed(seed);
        self.set_scene(family, &mut random);
        let scripts: Vec<Script> = (0..family.sessions)
            .map(|session| script(family, session as u8, &mut random))
            .collect();
        let store = &self.store;
        let bodies = scripts.iter().map(|script| {
            let body: Box<dyn FnOnce() -> Vec<FinishedTransaction> + Send> =
                Box::new(move || planted_bug::with(plant, || act(store, script)));
            body
        });
        let mut bodies: Vec<_> = bodies.collect();
        if let Some(evictor) = &store.evictor {
            let seed = random.u64(..);
            bodies.push(Box::new(move || {
                planted_bug::with(plant, || evict(store, evictor, seed));
                Vec::new()
            }));
        }
        let pasts = scheduler::run(random.u64(..), bodies);
        if pasts.iter().any(Option::is_none) {
            return Err("a session panicked".to_owned());
        }
        let pasts: Vec<FinishedTransaction> = pasts.into_iter().flatten().flatten().collect();
        self.store.core.log.flush().map_err(|error| error.to_string())?;
        let last = self.rows();
        check(&pasts, &self.states, &last)
            .map_err(|wrong| format!("seed {seed}: {wrong}\nfrom {:?}\n{pasts:#?}", self.states))?;
        self.states = vec![(self.store.core.log.published(), last)];
        self.commits += pasts
            .iter()
            .filter(|past| matches!(past.end, super::history::End::Committed(_)))
            .count();
        self.conflicts +=
            pasts.iter().filter(|past| past.end == super::history::End::Conflict).count();
        self.store.core.log.release(self.store.core.log.durable_lsn());
        Ok(())
    }

    /// Gives about half of the keys a row.
    fn set_scene(&mut self, family: Family, random: &mut fastrand::Rng) {
        let mut session = self.store.session();
        let mut state = self.states[0].1.clone();
        session.begin(Begin::Serializable).unwrap();
        for key in 0..family.keys {
            if random.bool() {
                let value = vec![b'a' + key; random.usize(..=family.value_bytes_max)];
                session.put(&self.store.tree, &[key], &value).unwrap();
                state.insert(key, value);
            } else if state.remove(&key).is_some() {
                session.delete(&self.store.tree, &[key]).unwrap();
            }
        }
        let ticket = session.commit().unwrap();
        self.states.push((self.store.core.log.published(), state));
        // If these rows are not stable yet, the durable LSN lags from the start.
        if random.bool() {
            session.wait(ticket).unwrap();
        }
    }

    fn rows(&self) -> State {
        let rows = self.store.rows(&self.store.tree);
        rows.into_iter().map(|(key, value)| (key[0], value)).collect()
    }
}

fn script(family: Family, session: u8, random: &mut fastrand::Rng) -> Script {
    let mut script = Vec::new();
    for transaction in 0..random.u8(1..=2) {
        let begin = family.kinds[random.usize(..family.kinds.len())];
        let alone = begin == Begin::Serializable && random.u8(..24) == 0;
        let reads_only = matches!(begin, Begin::ReadOnly | Begin::ReadOnlyDurable);
        let mut actions = Vec::new();
        for at in 0..random.usize(1..=family.actions_max) {
            let key = random.u8(..family.keys);
            let name = vec![session * 16 + transaction * 8 + at as u8];
            let bytes = random.usize(1..=family.value_bytes_max);
            let value = name.iter().copied().cycle().take(bytes).collect();
            actions.push(match random.u8(..if reads_only { 5 } else { 16 }) {
                0..=2 => Request::Get(key),
                3 | 4 => {
                    let end = random.u8(key..=family.keys);
                    Request::Scan {
                        range: (key, end),
                        direction: if random.bool() {
                            Direction::Ascending
                        } else {
                            Direction::Descending
                        },
                        limit: random.usize(1..=3),
                    }
                }
                5..=7 => Request::Put(key, value),
                8 | 9 => Request::Insert(key, value),
                10 => Request::Update(key, value),
                11 | 12 => Request::Delete(key),
                13 | 14 => Request::Patch(key, name),
                15 if random.bool() => Request::Savepoint,
                _ => Request::Rollback,
            });
        }
        script.push((begin, alone, actions));
    }
    script
}

fn act(store: &Store, script: &Script) -> Vec<FinishedTransaction> {
    let mut session = store.session();
    let mut pasts = Vec::new();
    for (at, (begin, alone, actions)) in script.iter().enumerate() {
        if *alone {
            session.begin_exclusive().unwrap();
        } else {
            session.begin(*begin).unwrap();
        }
        pasts.push(perform(store, &mut session, *begin, actions));
        if at == 0 && actions.len() % 2 == 0 {
            store.core.sweep();
        }
    }
    pasts
}

/// Evicts random pages at random moments.
fn evict(store: &Store, evictor: &MemoryEvictor, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..EVICTIONS {
        step(Step::Read);
        let pages = store.core.buffer.pages_of(store.tree.id);
        if let Some(page) = random.choice(&pages) {
            evictor.evict(&store.core.buffer, *page);
        }
    }
}

/// Plays schedules until one fails. Returns how many it took.
fn play_all(
    family: Family,
    seeds: std::ops::Range<u64>,
    plant: Option<PlantedBug>,
) -> Result<ScheduleFixture, (u64, String)> {
    let mut stage = ScheduleFixture::new(family.evicts);
    for seed in seeds {
        stage.play(family, seed, plant).map_err(|wrong| (seed, wrong))?;
    }
    Ok(stage)
}

fn assert_all_hold(family: Family, seeds: std::ops::Range<u64>) {
    let count = (seeds.end - seeds.start) as usize;
    match play_all(family, seeds, None) {
        Ok(stage) => {
            assert!(stage.commits > count, "{} commits are too few", stage.commits);
            assert!(stage.conflicts > count / 20, "{} conflicts are too few", stage.conflicts);
            stage.store.assert_clean();
        }
        Err((_, wrong)) => panic!("{wrong}"),
    }
}

#[test]
fn every_schedule_is_serial_in_the_order_of_numbers() {
    assert_all_hold(SMALL, 0..schedules(4_000));
}

#[test]
fn every_schedule_with_snapshots_among_them_is_what_it_claims() {
    assert_all_hold(MIXED, 100_000..100_000 + schedules(4_000));
}

#[test]
fn every_schedule_over_leaves_that_split_and_values_that_overflow_holds() {
    assert_all_hold(WIDE, 200_000..200_000 + schedules(2_000));
}

#[test]
fn every_schedule_in_which_pages_come_and_go_holds() {
    assert_all_hold(EVICTED, 300_000..300_000 + schedules(3_000));
    assert_all_hold(WIDE_EVICTED, 400_000..400_000 + schedules(1_500));
}

/// The number of schedules: `SCHEDULES` times the usual number.
fn schedules(usual: u64) -> u64 {
    let times = std::env::var("SCHEDULES").ok().and_then(|times| times.parse::<u64>().ok());
    usual * times.unwrap_or(1)
}

#[test]
fn write_skew_appears_under_snapshots_and_never_in_serializable() {
    let skews = |begin| {
        let stage = ScheduleFixture::new(false);
        let store = &stage.store;
        let mut skews = 0;
        for seed in 0..600 {
            store.apply(|session| {
                session.put(&store.tree, b"x", b"").unwrap();
                session.put(&store.tree, b"y", b"").unwrap();
            });
            // Each goes off duty if the other one stays.
            let leave = |key: &'static [u8]| {
                move || {
                    let mut session = store.session();
                    session.begin(begin).unwrap();
                    let off = try_leave(store, &mut session, key);
                    session.abort();
                    off
                }
            };
            let bodies: Vec<Box<dyn FnOnce() -> bool + Send>> =
                vec![Box::new(leave(b"x")), Box::new(leave(b"y"))];
            let off = scheduler::run(seed, bodies);
            skews +=
                u32::from(off == [Some(true), Some(true)] && store.rows(&store.tree).is_empty());
            store.core.log.release(store.core.log.durable_lsn());
        }
        store.apply(|session| {
            for (key, _) in scan_all(session, &store.tree).unwrap() {
                session.delete(&store.tree, &key).unwrap();
            }
            session.put(&store.other, b"end", b"").unwrap();
        });
        skews
    };
    assert_eq!(skews(Begin::Serializable), 0);
    assert!(skews(Begin::Snapshot) > 20);
}

fn try_leave(store: &Store, session: &mut TestSession, key: &[u8]) -> bool {
    let mut left = || {
        if scan_all(session, &store.tree)?.len() < 2 {
            return Ok(false);
        }
        session.delete(&store.tree, key)?;
        session.commit().map(|_| true)
    };
    match left() {
        Ok(off) => off,
        Err(crate::Error::Conflict(
            Conflict::Locked | Conflict::ReadChanged | Conflict::Phantom | Conflict::ReadPoint,
        )) => false,
        Err(error) => panic!("{error}"),
    }
}

/// Each planted bug must be found within this many schedules.
#[test]
fn planted_bugs_are_found() {
    let budget = 6_000;
    let mut found = BTreeMap::new();
    for (plant, family) in [
        (PlantedBug::NumberBeforeLocks, SMALL),
        (PlantedBug::ValidateBeforeNumber, SMALL),
        (PlantedBug::PublishBeforeApply, MIXED),
        (PlantedBug::SkipBeforeImage, MIXED),
        (PlantedBug::GhostAtApply, SMALL),
        (PlantedBug::CollectBlindly, MIXED),
        (PlantedBug::LockNotChecked, SMALL),
        (PlantedBug::BeginAhead, SMALL),
        (PlantedBug::EvictLocked, EVICTED),
        (PlantedBug::EvidenceWithoutNewest, EVICTED),
        (PlantedBug::MergeEvicted, WIDE_EVICTED),
    ] {
        match play_all(family, 0..budget, Some(plant)) {
            Err((seed, _)) => {
                found.insert(format!("{plant:?}"), seed);
            }
            Ok(_) => panic!("{plant:?} was not found in {budget} schedules"),
        }
    }
    println!("schedules until each planted bug was found: {found:?}");
}
