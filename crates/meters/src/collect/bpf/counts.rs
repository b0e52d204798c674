//! What the programs have counted, read when they are detached.

use super::load::{Programs, unreadable};
use super::shape::{
    Doer, Ended, Key, Kind, Losses, RawEnded, RawKey, RawSum, RawThread, Sum, ThreadState,
};
use super::tree;
use aya::Pod;
use aya::maps::{Array, HashMap, MapError};
use std::collections::{BTreeMap, BTreeSet};
use syncline_metering::Nanos;

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
        each(programs, "ended", |number, ended: RawEnded| {
            counts.ended.insert(number, Ended::of(&ended));
        })?;
        each(programs, "devices", |device, _requests: u64| {
            counts.devices.insert(device);
        })?;
        let mut losses = [0; Losses::PLACES as usize];
        losses.copy_from_slice(&numbers(programs, "losses", Losses::PLACES)?);
        counts.losses = Losses::of(losses);
        counts.lengths = numbers(programs, "lengths", 64)?;
        Ok(counts)
    }

    /// Adds the time of those that were off their processors when the window ended, cut to it.
    pub(super) fn add_sleepers(&mut self, since: Nanos, until: Nanos) {
        for (number, thread) in &self.threads {
            let stack = thread.stack;
            let (from, kind) = match thread.off_since {
                Some(off) if off < until => (off.max(since), thread.kind),
                // Nothing was seen of it: it slept all the time, or it ran all the time.
                None if !thread.seen && slept(*number, thread) => (since, Kind::Voluntary),
                // It ran when the window ended.
                Some(_) | None => continue,
            };
            let key = Key {
                doer: Doer::Thread(*number),
                stack,
                kind,
            };
            self.sums.entry(key).or_default().amount += until.saturating_sub(from);
        }
    }

    /// The process of a thread; none if it was never seen to do anything.
    pub(super) fn process(&self, thread: u32) -> Option<u32> {
        let alive = self.threads.get(&thread).and_then(|thread| thread.process);
        alive.or_else(|| self.ended.get(&thread).map(|ended| ended.process))
    }
}

fn slept(number: u32, thread: &ThreadState) -> bool {
    let process = thread.process;
    process.is_some_and(|process| tree::sleeps(process, number))
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
    places
        .map(|place| array.get(&place, 0).map_err(failed))
        .collect()
}
