//! Random histories under a small cap on old versions: readers of all ages, while short and long rows are
//! inserted, changed and deleted. A reader sees its moment, in limited scans in both directions, or is ended;
//! old versions never exceed their cap by more than one commit; and a scan reads a leaf only a few times.
//!
//! The memory of versions is not taken from their own account: it is that of the extents which exist
//! and which no row needs.

use super::fixture::{Store, StoreConfig, TestSession, scan};
use crate::Error;
use crate::conflict::Conflict;
use crate::seeds::finds;
use crate::txn::scan::{Direction, LEAVES_READ, Scan};
use crate::txn::{Begin, TxnOptions};
use std::collections::BTreeMap;
use std::ops::Bound;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

const CAP: u64 = 64 << 10;

/// A frame with a full extent, and the bytes of a value in it.
const FRAME_BYTES: u64 = 512 + 40 + 128;
const PIECE_BYTES: usize = 512;

/// Longer values are in extents.
const IN_LEAF: usize = 128;

/// The longest value, and how far the accounts of the shards may lag.
const LONG: usize = 30_000;
const BEHIND: u64 = 9 * (16 << 10);

struct Episode {
    random: fastrand::Rng,
    store: Store,
    writer: TestSession,
    rows: Map,
    readers: Vec<(TestSession, Map)>,
    keys: u32,
}

impl Episode {
    fn new(seed: u64) -> Episode {
        let mut random = fastrand::Rng::with_seed(seed);
        let store = Store::new(StoreConfig {
            options: TxnOptions { version_bytes_max: CAP, ..TxnOptions::default() },
            ..StoreConfig::default()
        });
        Episode {
            writer: store.session(),
            rows: Map::new(),
            readers: Vec::new(),
            keys: random.u32(20..400),
            random,
            store,
        }
    }

    fn key(&mut self) -> u32 {
        self.random.u32(..self.keys)
    }

    /// Puts or deletes a few neighbouring rows, or one long row.
    fn write(&mut self) {
        let from = self.key();
        let mut rows = self.rows.clone();
        self.writer.begin(Begin::Serializable).unwrap();
        if self.random.bool() {
            let bytes = self.random.usize(IN_LEAF..LONG);
            // Few of them, so that most replace a long one.
            let key = (from % 6).to_be_bytes();
            let value = vec![self.random.u8(..); bytes];
            self.writer.put(&self.store.tree, &key, &value).unwrap();
            rows.insert(key.to_vec(), value);
        } else {
            let deletes = self.random.bool();
            for number in from..from + self.random.u32(1..80) {
                let key = number.to_be_bytes();
                if deletes && rows.remove(&key[..]).is_some() {
                    self.writer.delete(&self.store.tree, &key).unwrap();
                } else if !deletes {
                    let value = vec![self.random.u8(..); self.random.usize(..30)];
                    self.writer.put(&self.store.tree, &key, &value).unwrap();
                    rows.insert(key.to_vec(), value);
                }
            }
        }
        let ticket = self.writer.commit().unwrap();
        self.writer.wait(ticket).unwrap();
        self.rows = rows;
    }

    fn begin(&mut self) {
        let begin = [Begin::ReadOnly, Begin::Snapshot][self.random.usize(..2)];
        let mut reader = self.store.session();
        reader.begin(begin).unwrap();
        self.readers.push((reader, self.rows.clone()));
    }

    /// A scan by some reader. Fails if its result is wrong.
    fn read(&mut self) -> Result<(), String> {
        if self.readers.is_empty() {
            return Ok(());
        }
        let leaves = self.pages().0;
        let (lower, at) = (self.key(), self.random.usize(..self.readers.len()));
        let upper = lower + self.random.u32(..self.keys);
        let (lower, upper) = (lower.to_be_bytes(), upper.to_be_bytes());
        let limit = self.random.usize(1..6);
        let direction = [Direction::Ascending, Direction::Descending][self.random.usize(..2)];
        let (reader, rows) = &mut self.readers[at];
        let range = Scan {
            lower: Bound::Included(&lower),
            upper: Bound::Excluded(&upper),
            direction,
            limit,
        };
        let before = LEAVES_READ.get();
        let scanned = match scan(reader, &self.store.tree, range) {
            Ok(rows) => rows,
            Err(Error::Conflict(Conflict::SnapshotTooOld)) => {
                self.readers.swap_remove(at);
                return Ok(());
            }
            Err(error) => return Err(error.to_string()),
        };
        let reads = LEAVES_READ.get() - before;
        let inside = rows.range(lower.to_vec()..upper.to_vec());
        let inside = inside.map(|(key, value)| (key.clone(), value.clone()));
        let expected: Vec<_> = match direction {
            Direction::Ascending => inside.take(limit).collect(),
            Direction::Descending => inside.rev().take(limit).collect(),
        };
        if scanned != expected {
            return Err(format!("{direction:?} {limit}: a reader does not see its moment"));
        }
        if reads > leaves + 12 {
            return Err(format!("{reads} reads of {leaves} leaves for {limit} rows"));
        }
        Ok(())
    }

    /// The numbers of leaves and extents.
    fn pages(&self) -> (u64, u64) {
        let (buffer, guard) = (&self.store.core.buffer, crate::buffer::pin());
        let pages = buffer.pages_of(self.store.tree.id).into_iter();
        let mut count = (0, 0);
        for frame in pages.filter_map(|page| buffer.frame(page, &guard)) {
            count.0 += u64::from(frame.leaf().is_some());
            count.1 += u64::from(frame.extent().is_some());
        }
        count
    }

    fn check(&self) -> Result<(), String> {
        let long = self.rows.values().filter(|value| value.len() > IN_LEAF);
        let needed: usize = long.map(|value| value.len().div_ceil(PIECE_BYTES)).sum();
        let held = (self.pages().1 - needed as u64) * FRAME_BYTES;
        let one_commit = LONG.div_ceil(PIECE_BYTES) as u64 * FRAME_BYTES;
        if held > CAP + one_commit + BEHIND {
            return Err(format!("old versions hold {held} bytes of pages, over {CAP}"));
        }
        Ok(())
    }
}

fn search(seed: u64) -> Result<(), String> {
    let mut episode = Episode::new(seed);
    for _ in 0..120 {
        match episode.random.u8(..10) {
            0..=4 => {
                episode.write();
                episode.check()?;
            }
            5 if episode.readers.len() < 3 => episode.begin(),
            6 if episode.random.u8(..3) == 0 && !episode.readers.is_empty() => {
                episode.readers.swap_remove(0);
            }
            _ => episode.read()?,
        }
    }
    episode.readers.clear();
    let rows: Map = episode.store.rows(&episode.store.tree).into_iter().collect();
    if rows != episode.rows {
        return Err("rows are not what was committed".to_owned());
    }
    let Episode { store, writer, .. } = episode;
    drop(writer);
    store.assert_clean();
    Ok(())
}

#[test]
fn caps_hold_and_readers_see_their_moments() {
    for seed in 0..40 {
        assert_eq!(search(seed), Ok(()), "seed {seed}");
    }
}

finds! {
    search;
    versions_that_are_charged_without_their_pages_are_found: VersionsEscapeCap within 20,
    ghosts_that_count_against_a_limit_are_found: GhostCountsAgainstLimit within 40,
}
