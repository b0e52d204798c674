//! Loading: rows in the order of their keys, each generated from its position in that order.
//!
//! The order of hashed keys is unrelated to that of numbers, so the numbers are sorted by key once, at the
//! first row. Beyond [`SORTED_MAX`] rows the memory for that would be excessive: then rows come in the order
//! of their numbers, and the store has to sort.

use super::option_values::Lengths;
use super::options::Options;
use super::record_ranges::RecordRanges;
use super::schema::Ycsb;
use crate::distributions::mixed;
use std::sync::OnceLock;
use syncline_contract::{Rows, Value};

/// Precedes the list of existing parts, if not all exist.
const PART: &str = ", of which are there ";

/// The most rows that are sorted: the order takes 64 MB, and four times that during sorting.
const SORTED_MAX: u64 = 1 << 24;

/// The numbers of the loaded rows in the order of their keys, once computed.
#[derive(Debug, Default)]
pub(super) struct LoadOrder(OnceLock<Vec<u32>>);

impl Ycsb {
    /// Appends the loaded row at this position.
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

    /// A description of the loaded rows.
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

    /// The existing records according to a load's description ([`syncline_contract::Workload::loaded_as`]);
    /// none if the rows are not those of this workload.
    pub fn parts_of(&self, loaded_as: &str) -> Option<RecordRanges> {
        let complete = Ycsb::new(Options {
            insert_start: 0,
            insert_count: None,
            load_part: None,
            loaded_before: RecordRanges::default(),
            ..self.options.clone()
        });
        match loaded_as.strip_prefix(&complete.loaded_rows())? {
            "" => Some(RecordRanges::of(0..self.options.records)),
            part => RecordRanges::read(part.strip_prefix(PART)?),
        }
    }

    /// How field lengths vary; a histogram is hashed, because the description must be short.
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
