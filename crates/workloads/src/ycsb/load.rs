//! Loading: rows in the order of their keys, each made from its place in that order alone.
//!
//! Hashed keys have nothing to do with the order of numbers, so the numbers are sorted by their keys
//! once, when the first row is asked for. Beyond [`SORTED_MAX`] rows that would cost more memory than
//! it is worth: then rows come in the order of their numbers, and the store has to sort.

use super::option_values::Lengths;
use super::options::Options;
use super::record_ranges::RecordRanges;
use super::schema::Ycsb;
use crate::distributions::mixed;
use std::sync::OnceLock;
use syncline_contract::{Rows, Value};

/// What stands before the parts that are there, where not all are.
const PART: &str = ", of which are there ";

/// Up to so many rows are sorted: 64 MB for the order, four times that while it is made.
const SORTED_MAX: u64 = 1 << 24;

/// The numbers of the loaded rows in the order of their keys, once it is known.
#[derive(Debug, Default)]
pub(super) struct LoadOrder(OnceLock<Vec<u32>>);

impl Ycsb {
    /// Appends the loaded row of that place.
    pub(super) fn load(&self, place: u64, batch: &mut Rows) {
        let identity = self.keys.identity(self.loaded_at(place));
        batch.push(Value::Text(&self.keys.text(identity)));
        let mut value = String::with_capacity(self.options.field_bytes as usize);
        for field in 0..self.value_fields {
            value.clear();
            self.content.write(identity, field, 0, &mut value);
            batch.push(Value::Text(&value));
        }
    }

    /// What the loaded rows are made from, in words.
    pub(super) fn loaded_rows(&self) -> String {
        let options = &self.options;
        let all = format!(
            "{} rows of profile {}, {} fields {}* of {} bytes ({}, at least {}) in {}, keys {} and {} digits",
            options.records,
            options.profile.word(),
            options.fields,
            options.field_prefix,
            options.field_bytes,
            self.lengths_in_words(),
            options.field_bytes_min,
            options.table,
            options.insert_order.word(),
            options.zero_padding,
        );
        let loaded = options.loaded();
        if loaded.has(&(0..options.records)) {
            all
        } else {
            format!("{all}{PART}{}", loaded.words())
        }
    }

    /// Which records are there, by what a load has said of them ([`syncline_contract::Workload::loaded_as`]);
    /// none if those are other rows than this workload's.
    pub fn parts_of(&self, loaded_as: &str) -> Option<RecordRanges> {
        let whole = Ycsb::new(Options {
            insert_start: 0,
            insert_count: None,
            load_part: None,
            loaded_before: RecordRanges::default(),
            ..self.options.clone()
        });
        match loaded_as.strip_prefix(&whole.loaded_rows())? {
            "" => Some(RecordRanges::of(0..self.options.records)),
            part => RecordRanges::read(part.strip_prefix(PART)?),
        }
    }

    /// How field lengths vary; of a histogram a digest, since a mark has little room.
    fn lengths_in_words(&self) -> String {
        let word = self.options.field_lengths.word();
        match &self.options.field_histogram {
            Some(histogram) if self.options.field_lengths == Lengths::Histogram => {
                let bytes = histogram.word().into_bytes();
                let digest = bytes.iter().fold(0, |sum, byte| mixed(sum ^ u64::from(*byte)));
                format!("{word} {digest:016x}")
            }
            _ => word.to_owned(),
        }
    }

    fn loaded_at(&self, place: u64) -> u64 {
        let loads = self.options.loads();
        if loads.end - loads.start > SORTED_MAX {
            return loads.start + place;
        }
        let order = self.load_order.0.get_or_init(|| self.sorted());
        u64::from(order[place as usize])
    }

    fn sorted(&self) -> Vec<u32> {
        let keyed = self.options.loads().map(|number| {
            let (order, digits) = self.keys.order(self.keys.identity(number));
            (order, digits as u8, number as u32)
        });
        let mut keyed: Vec<_> = keyed.collect();
        keyed.sort_unstable();
        keyed.into_iter().map(|(_, _, number)| number).collect()
    }
}
