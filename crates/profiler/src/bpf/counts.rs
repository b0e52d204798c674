//! What the programs have counted, read when they are detached.

use super::map_types::{
    Actor, Ended, Key, Kind, Losses, RawEnded, RawKey, RawSum, RawThread, SLOTS, Slot, Sum,
    ThreadState,
};
use super::process_tree;
use super::programs::{Programs, unreadable};
use super::weight_distribution::split;
use aya::Pod;
use aya::maps::{Array, HashMap, MapError, PerCpuArray};
use std::collections::{BTreeMap, BTreeSet};
use syncline_instrument::Nanos;

/// Everything that was counted.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub sums: BTreeMap<Key, Sum>,
    /// Threads of the tree that have not ended.
    pub threads: BTreeMap<u32, ThreadState>,
    /// Those that have, as many as there was room for.
    pub ended: BTreeMap<u32, Ended>,
    /// Devices to which the tree wrote.
    pub devices: BTreeSet<u32>,
    pub losses: Losses,
    /// False if some system calls were passed over and others stand for them.
    pub all_calls: bool,
    /// Times off the processor that ended in the window, by powers of two.
    pub lengths: Vec<u64>,
}

impl Counts {
    /// Reads all maps of detached programs.
    pub(super) fn read(programs: &mut Programs) -> Result<Counts, String> {
        let mut counts = Counts::default();
        each(programs, "counts", |key: RawKey, sum: RawSum| {
            if let Some(key) = Key::of(key) {
                counts.sums.insert(key, Sum::of(sum));
            }
        })?;
        each(programs, "threads", |number, thread: RawThread| {
            counts.threads.insert(number, ThreadState::of(&thread));
        })?;
        counts.read_slots(programs)?;
        each(programs, "ended", |number, ended: RawEnded| {
            counts.ended.insert(number, Ended::of(&ended));
        })?;
        each(programs, "devices", |device, _requests: u64| {
            counts.devices.insert(device);
        })?;
        let mut losses = [0; Losses::PLACES as usize];
        losses.copy_from_slice(&numbers(programs, "losses", Losses::PLACES)?);
        counts.losses = Losses::of(losses);
        counts.lengths = numbers_of_all(programs, "lengths", 64)?;
        let processors = programs.processors()?;
        counts.all_calls = !processors.iter().any(|one| one.passed_over);
        counts.scale_calls();
        Ok(counts)
    }

    /// Adds the threads that have a slot, and what was under way there.
    fn read_slots(&mut self, programs: &mut Programs) -> Result<(), String> {
        let slots = programs.slots()?;
        for at in 0..SLOTS.min(slots.len()) {
            let raw = slots.get(&at, 0);
            let raw = raw.map_err(|error| unreadable("slots", &error))?;
            if let Some(slot) = Slot::of(&raw) {
                self.add_slot(slot);
            }
        }
        Ok(())
    }

    fn add_slot(&mut self, slot: Slot) {
        self.threads.insert(slot.number, slot.thread);
        self.sums.extend(slot.seats);
        let (key, taken_off) = slot.taken_off;
        if taken_off == Sum::default() {
            return;
        }
        let sum = self.sums.entry(key).or_default();
        sum.count += taken_off.count;
        sum.amount += taken_off.amount;
    }

    /// Makes what the system calls that were looked at stand for exactly as many as there were, thread by
    /// thread; threads with few looks and those that have ended are taken together.
    fn scale_calls(&mut self) {
        let mut threads: BTreeMap<u32, Calls> = BTreeMap::new();
        for (number, thread) in &self.threads {
            threads.entry(*number).or_default().counted = thread.calls;
        }
        for (key, sum) in &self.sums {
            let (Actor::Thread(number), Kind::Call(_)) = (key.doer, key.kind) else {
                continue;
            };
            let calls = threads.entry(number).or_default();
            calls.looks += sum.amount;
            calls.keys.push(*key);
        }
        let mut together = Calls { counted: self.losses.calls_of_ended, ..Calls::default() };
        for (number, calls) in threads {
            // Of a thread that has ended only what all of them did together is known.
            if calls.looks >= MANY_LOOKS && self.threads.contains_key(&number) {
                self.scale(&calls);
            } else {
                together.add(calls);
            }
        }
        self.scale(&together);
    }

    /// What was counted and could be given to nobody is lost.
    fn scale(&mut self, calls: &Calls) {
        let weights: Vec<u64> = calls.keys.iter().map(|key| self.sums[key].count).collect();
        if weights.is_empty() {
            self.losses.calls += calls.counted;
            return;
        }
        for (key, part) in calls.keys.iter().zip(split(calls.counted, &weights)) {
            self.sums.entry(*key).or_default().count = part;
        }
    }

    /// Adds the time of those that were off their processors when the last spell ended, of so long a time
    /// that was looked at in all.
    pub(super) fn add_sleepers(&mut self, looked: Nanos) {
        let ended = &self.ended;
        let alive = |number: &u32| !ended.contains_key(number);
        for (number, thread) in self.threads.iter().filter(|(number, _)| alive(number)) {
            let site = thread.site;
            let (from, kind) = match thread.off_since {
                Some(off) if off < looked => (off, thread.kind),
                // Nothing was seen of it: it slept all the time, or it ran all the time.
                None if !thread.seen && slept(*number, thread) => (0, Kind::Voluntary),
                // It ran when the last spell ended.
                Some(_) | None => continue,
            };
            let key = Key { doer: Actor::Thread(*number), kind, site };
            self.sums.entry(key).or_default().amount += looked - from;
        }
    }

    /// The process of a thread; none if it was never seen to do anything.
    pub(super) fn process(&self, thread: u32) -> Option<u32> {
        let alive = self.threads.get(&thread).and_then(|thread| thread.process);
        alive.or_else(|| self.ended.get(&thread).map(|ended| ended.process))
    }
}

/// A thread with so many looks has a scale of its own.
const MANY_LOOKS: u64 = 1000;

/// The system calls of a thread, or of several.
#[derive(Clone, Debug, Default)]
struct Calls {
    /// All, exactly.
    counted: u64,
    /// How many of them were looked at.
    looks: u64,
    /// Under what those stand.
    keys: Vec<Key>,
}

impl Calls {
    fn add(&mut self, other: Calls) {
        self.counted += other.counted;
        self.looks += other.looks;
        self.keys.extend(other.keys);
    }
}

fn slept(number: u32, thread: &ThreadState) -> bool {
    let process = thread.process;
    process.is_some_and(|process| process_tree::sleeps(process, number))
}

fn each<K: Pod + Ord, V: Pod>(
    programs: &mut Programs,
    name: &str,
    mut take: impl FnMut(K, V),
) -> Result<(), String> {
    let failed = |error: MapError| unreadable(name, &error);
    let map: HashMap<_, K, V> = HashMap::try_from(programs.map(name)?).map_err(failed)?;
    for entry in &map {
        match entry {
            Ok((key, value)) => take(key, value),
            // It was the oldest of a map that holds the newest, and went.
            Err(MapError::KeyNotFound) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(())
}

fn numbers(programs: &mut Programs, name: &str, places: u32) -> Result<Vec<u64>, String> {
    let failed = |error: MapError| unreadable(name, &error);
    let array: Array<_, u64> = Array::try_from(programs.map(name)?).map_err(failed)?;
    let places = 0..places.min(array.len());
    places.map(|place| array.get(&place, 0).map_err(failed)).collect()
}

/// The sums of an array of which each processor has its own.
fn numbers_of_all(programs: &mut Programs, name: &str, places: u32) -> Result<Vec<u64>, String> {
    let failed = |error: MapError| unreadable(name, &error);
    let array: PerCpuArray<_, u64> = PerCpuArray::try_from(programs.map(name)?).map_err(failed)?;
    let places = 0..places.min(array.len());
    places.map(|place| Ok(array.get(&place, 0).map_err(failed)?.iter().sum())).collect()
}

#[cfg(test)]
mod tests {
    use super::Counts;
    use crate::bpf::map_types::{Actor, Key, Kind, Slot, Sum, ThreadState};

    fn key(thread: u32, call: u16) -> Key {
        Key { doer: Actor::Thread(thread), kind: Kind::Call(call), site: Some(7) }
    }

    fn counts(threads: &[(u32, u64)], sums: &[(Key, u64, u64)]) -> Counts {
        let mut counts = Counts::default();
        for (number, calls) in threads {
            let mut thread = ThreadState::of(&ThreadState::fresh(*number, 1, true));
            thread.calls = *calls;
            counts.threads.insert(*number, thread);
        }
        for (key, count, amount) in sums {
            let (count, amount) = (*count, *amount);
            counts.sums.insert(*key, Sum { count, amount });
        }
        counts
    }

    #[test]
    fn looks_stand_for_as_many_calls_as_there_were() {
        let (busy, small, gone) = (1, 2, 3);
        let syncs = Key { kind: Kind::Sync, ..key(busy, 0) };
        let sums = [
            (key(busy, 0), 30_000, 2_000),
            (key(busy, 1), 10_000, 700),
            (syncs, 500, 500),
            (key(small, 0), 40, 40),
            (key(gone, 1), 60, 60),
        ];
        let mut counts = counts(&[(busy, 44_000), (small, 50)], &sums);
        counts.losses.calls_of_ended = 150;
        counts.scale_calls();
        let of = |thread, call| counts.sums[&key(thread, call)].count;
        assert_eq!((of(busy, 0), of(busy, 1)), (33_000, 11_000));
        assert_eq!(counts.sums[&syncs].count, 500, "syncs are counted apart");
        assert_eq!((of(small, 0), of(gone, 1)), (80, 120), "taken together");
        assert_eq!(counts.losses.calls, 0);
    }

    #[test]
    fn a_seat_replaces_what_was_counted_of_it_and_involuntary_switches_add_up() {
        let switched = |kind, site| Key { doer: Actor::Thread(1), kind, site };
        let (seat, off) = (switched(Kind::Voluntary, Some(7)), switched(Kind::Involuntary, None));
        let mut counts = counts(&[], &[(seat, 10, 1_000), (off, 2, 20)]);
        let sum = |count, amount| Sum { count, amount };
        counts.add_slot(Slot {
            number: 1,
            thread: ThreadState::of(&ThreadState::fresh(1, 1, true)),
            taken_off: (off, sum(3, 30)),
            seats: vec![(seat, sum(15, 1_500))],
        });
        assert_eq!(counts.sums[&seat], sum(15, 1_500));
        assert_eq!(counts.sums[&off], sum(5, 50));
        assert!(counts.threads.contains_key(&1));
    }

    #[test]
    fn calls_that_nothing_stands_for_are_lost() {
        let mut counts = counts(&[(1, 5)], &[]);
        counts.scale_calls();
        assert_eq!(counts.losses.calls, 5);
    }
}
