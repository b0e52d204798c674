//! The counts of the programs, read after they are detached.

use super::map_types::{
    Actor, EndedThread, Key, Kind, Losses, RawEnded, RawKey, RawSum, RawThread, SLOTS, Slot, Sum,
    ThreadState,
};
use super::process_tree;
use super::programs::{Programs, unreadable};
use super::weight_distribution::split;
use aya::Pod;
use aya::maps::{Array, HashMap, MapError, PerCpuArray};
use std::collections::{BTreeMap, BTreeSet};
use syncline_instrument::Nanos;

/// All counts.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub sums: BTreeMap<Key, Sum>,
    /// Threads of the process tree that have not ended.
    pub threads: BTreeMap<u32, ThreadState>,
    /// Threads that have ended, as many as the map holds.
    pub ended: BTreeMap<u32, EndedThread>,
    /// Devices to which the process tree wrote.
    pub devices: BTreeSet<u32>,
    pub losses: Losses,
    /// False if only some system calls were sampled and represent the others.
    pub all_calls: bool,
    /// Times off the processor that ended in the window, by powers of two.
    pub lengths: Vec<u64>,
}

impl Counts {
    /// Reads all maps of the detached programs.
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
            counts.ended.insert(number, EndedThread::of(&ended));
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

    /// Adds the threads that have a slot, and their unfinished events.
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

    /// Scales the sampled system calls to the exact number of calls, thread by thread. Threads with few
    /// samples and those that have ended are scaled together.
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
            calls.sampled += sum.amount;
            calls.keys.push(*key);
        }
        let mut together = Calls { counted: self.losses.calls_of_ended, ..Calls::default() };
        for (number, calls) in threads {
            // Ended threads only have a common total.
            if calls.sampled >= MANY_SAMPLES && self.threads.contains_key(&number) {
                self.scale(&calls);
            } else {
                together.add(calls);
            }
        }
        self.scale(&together);
    }

    /// Calls that were counted but have no sample to represent them are lost.
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

    /// Adds the time of threads that were off their processors when the last sampling window ended, after a
    /// total sampled time.
    pub(super) fn add_sleepers(&mut self, sampled_ns: Nanos) {
        let ended = &self.ended;
        let alive = |number: &u32| !ended.contains_key(number);
        for (number, thread) in self.threads.iter().filter(|(number, _)| alive(number)) {
            let site = thread.site;
            let (from, kind) = match thread.off_since {
                Some(off) if off < sampled_ns => (off, thread.kind),
                // No event was seen: the thread slept all the time, or ran all the time.
                None if !thread.seen && slept(*number, thread) => (0, Kind::Voluntary),
                // It was running when the last sampling window ended.
                Some(_) | None => continue,
            };
            let key = Key { doer: Actor::Thread(*number), kind, site };
            self.sums.entry(key).or_default().amount += sampled_ns - from;
        }
    }

    /// The process of a thread; none if no event of it was seen.
    pub(super) fn process(&self, thread: u32) -> Option<u32> {
        let alive = self.threads.get(&thread).and_then(|thread| thread.process);
        alive.or_else(|| self.ended.get(&thread).map(|ended| ended.process))
    }
}

/// A thread with this many samples has its own scale.
const MANY_SAMPLES: u64 = 1000;

/// The system calls of one or more threads.
#[derive(Clone, Debug, Default)]
struct Calls {
    /// The exact number of calls.
    counted: u64,
    /// The number of sampled calls.
    sampled: u64,
    /// The keys of the sampled calls.
    keys: Vec<Key>,
}

impl Calls {
    fn add(&mut self, other: Calls) {
        self.counted += other.counted;
        self.sampled += other.sampled;
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
            // The oldest entry of a map that keeps the newest; it was evicted while reading.
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

/// The sums of a per-processor array over all processors.
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
    fn samples_are_scaled_to_the_number_of_calls() {
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
        assert_eq!((of(small, 0), of(gone, 1)), (80, 120), "scaled together");
        assert_eq!(counts.losses.calls, 0);
    }

    #[test]
    fn a_slot_replaces_the_counts_of_its_sites_and_involuntary_switches_add_up() {
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
    fn calls_without_a_sample_are_lost() {
        let mut counts = counts(&[(1, 5)], &[]);
        counts.scale_calls();
        assert_eq!(counts.losses.calls, 5);
    }
}
