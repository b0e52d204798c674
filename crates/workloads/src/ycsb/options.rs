//! Options: what is listed, and what a choice of workload or profile means for the others.
//!
//! What is given counts first, then what the workload's letter sets, then the profile, then the
//! defaults of YCSB's code.

use super::histogram::FieldHistogram;
use super::keys::KEY_BYTES_MAX;
use super::operation_kind::KINDS;
use super::option_forms::{
    AllOrCount, AllOrPart, AutoOrCount, Name, NoneOrHistogram, Parts, PlainLengths,
};
use super::option_values::{Distribution, InsertOrder, Lengths, Profile, StandardWorkload, Verify};
use super::record_ranges::RecordRanges;
use super::schema::Ycsb;
use super::standard_workload::implied;
use crate::error::Error;
use std::ops::Range;
use syncline_contract::{OptionArgs, YesOrNo, options};

options! {
    /// What a user may choose.
    #[derive(Clone, Debug, PartialEq)]
    #[allow(clippy::struct_excessive_bools, reason = "the choices are independent of each other")]
    pub struct Options {
        pub workload: StandardWorkload = "core",
            "weights and distribution of one of YCSB's workloads, where nothing else is given";
        pub profile: Profile = "ycsb",
            "YCSB's defaults, or K2's: 5000 rows of 10 fields of 10 bytes of which one is the key, read 70 \
             update 10 scan 20, scrambled, scans of at most 10";
        pub records: u64 = 100_000 in 1..=4_000_000_000, "loaded rows (YCSB's files say 1000)";
        pub insert_start: u64 = 0 in 0..=4_000_000_000,
            "the first record that is asked for, where a distribution keeps to the loaded ones";
        pub insert_count: Option<u64> as AllOrCount = "all",
            "how many are asked for; all are those from insert_start on";
        pub load_part: Option<Range<u64>> as AllOrPart = "all", "the records that a load loads";
        pub loaded_before: RecordRanges as Parts = "none",
            "the records that earlier loads have left, beside which load_part is loaded";
        pub fields: u64 as "a whole number from 1 to 200, in profile k2 from 2" = 10 in 1..=200,
            "fields of a row, in profile k2 with the key";
        pub field_bytes: u64 = 100 in 1..=60_000, "the most bytes of a field";
        pub field_bytes_min: u64 = 1 in 1..=60_000, "the least, where lengths vary";
        pub field_lengths: Lengths = "constant", "how field lengths vary";
        pub field_histogram: Option<FieldHistogram> as NoneOrHistogram = "none",
            "with field_lengths=histogram: the bytes of a block and how often fields have one block, two, \
             and so on; field_bytes follows from it. YCSB's oddity holds: the last bucket's are as long as \
             those before";
        pub read: f64 = 0.95 in 0..=1_000_000, "weight of reads";
        pub update: f64 = 0.05 in 0..=1_000_000, "weight of updates";
        pub insert: f64 = 0 in 0..=1_000_000, "weight of inserts";
        pub scan: f64 = 0 in 0..=1_000_000, "weight of scans";
        pub read_modify_write: f64 = 0 in 0..=1_000_000, "weight of read-modify-writes";
        pub delete: f64 = 0 in 0..=1_000_000, "weight of deletes (K2's; YCSB has none)";
        pub distribution: Distribution = "uniform",
            "which keys are asked for; scrambled is what YCSB calls zipfian";
        pub theta: f64 as "a number from 0.01 to 0.99, with zipfian to 10" = 0.99 in 0.01..=10,
            "the exponent of zipfian, scrambled and latest";
        pub hotspot_data: f64 = 0.2 in 0..=1, "the share of the keys that is hot";
        pub hotspot_draws: f64 = 0.8 in 0..=1, "the share of the draws that falls on the hot keys";
        pub exponential_percentile: f64 = 95 in 1..=99.999,
            "percentage of exponential draws that fall on exponential_data of the keys";
        pub exponential_data: f64 as "a number from 0.000001 to 1000" = 0.8571428571 in 1e-6..=1_000,
            "the share of the keys that they fall on, the newest";
        pub new_keys: Option<u64> as AutoOrCount = "auto",
            "keys beyond the loaded ones that zipfian and scrambled cover, drawn once they are inserted; \
             auto is a tenth of records where the mix inserts";
        pub scan_rows_min: u64 = 1 in 1..=100_000, "the least rows of a scan";
        pub scan_rows_max: u64 = 1_000 in 1..=100_000, "the most rows of a scan";
        pub scan_lengths: Lengths as PlainLengths = "uniform", "how scan lengths vary";
        pub ops_per_txn: u64 = 1 in 1..=1_000, "operations in a transaction";
        pub read_all_fields: bool as YesOrNo = "yes", "reads ask for all fields, or for one";
        pub write_all_fields: bool as YesOrNo = "no", "updates set all fields, or one";
        pub insert_order: InsertOrder = "hashed", "what keys say of their rows' numbers";
        pub zero_padding: u64 = 1 in 1..=100, "the least digits of a key";
        pub table: String as Name = "usertable", "the table's name";
        pub field_prefix: String as Name = "field", "what the fields' names begin with";
        pub verify: Verify = "field",
            "how much of a read row is verified in the run: that it is there, one field in turn, all that \
             was read; every row is verified afterwards";
    }
}

/// The most bytes of the words for parts, which the mark of kept rows holds.
const PARTS_WORDS_MAX: usize = 200;

impl Options {
    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        let workload = given.form::<StandardWorkload, StandardWorkload>("workload")?;
        let profile = given.form::<Profile, Profile>("profile")?;
        let given = given.with_defaults(&implied(workload, profile));
        let mut options = Options::read(&given)?;
        if profile == Profile::K2 && options.fields < 2 {
            return Err(given.refuse("fields").into());
        }
        if options.field_lengths == Lengths::Histogram {
            options.field_bytes = FieldHistogram::required(options.field_histogram.clone())?.most();
        }
        match options.excluded() {
            None => Ok(options),
            Some(what) => Err(Error::Excluded { workload: Ycsb::NAME, what }),
        }
    }

    /// What does not go together, and why.
    fn excluded(&self) -> Option<&'static str> {
        let between = [Lengths::Uniform, Lengths::Zipfian];
        let fields_vary = between.contains(&self.field_lengths);
        let by_formula =
            matches!(self.distribution, Distribution::Scrambled | Distribution::Latest);
        let (asked, loads) = (self.requested_records(), self.loads());
        if asked.is_empty() || asked.end > self.records {
            Some("insert_start and insert_count beyond the records")
        } else if loads.end > self.records || !self.loaded_before.within(self.records) {
            Some("a load_part or loaded_before beyond the records")
        } else if self.loaded_before.touches(&loads) && !self.loaded_before.has(&loads) {
            Some("a load_part of which some records were loaded before, and some were not")
        } else if self.loaded().words().len() > PARTS_WORDS_MAX {
            Some(
                "more parts apart than a mark of kept rows can name: load those between them first",
            )
        } else if !self.loaded().has(&asked) {
            Some("an insert_start and insert_count of which not all records are loaded")
        } else if self.weights().iter().sum::<f64>() <= 0.0 {
            Some("weights that are all zero, since then there is nothing to draw")
        } else if self.scan_rows_min > self.scan_rows_max {
            Some("scan_rows_min above scan_rows_max")
        } else if fields_vary && self.field_bytes_min > self.field_bytes {
            Some("field_bytes_min above field_bytes")
        } else if by_formula && self.theta > 0.999 {
            Some("a theta of 1 and more with scrambled or latest, whose formula ends there")
        } else if self.profile == Profile::K2 && self.field_bytes > KEY_BYTES_MAX as u64 {
            Some("profile=k2 with fields of more than 128 bytes, since the key is one")
        } else if self.profile == Profile::K2 && !self.keys_suffice() {
            Some("profile=k2 with fields too short for a key in base 93 of each record")
        } else {
            None
        }
    }

    /// True if K2's keys are different for ten times the records and more.
    fn keys_suffice(&self) -> bool {
        93_u64.saturating_pow(self.field_bytes as u32) / 10 >= self.records
    }

    /// The records that distributions ask for which keep to loaded ones.
    pub(super) fn requested_records(&self) -> Range<u64> {
        let all = self.records.saturating_sub(self.insert_start);
        let end = self.insert_start.saturating_add(self.insert_count.unwrap_or(all));
        self.insert_start..end
    }

    /// The records that a load loads.
    pub fn loads(&self) -> Range<u64> {
        self.load_part.clone().unwrap_or(0..self.records)
    }

    /// Every record that is there after a load.
    pub(super) fn loaded(&self) -> RecordRanges {
        let loads = self.loads();
        if self.loaded_before.has(&loads) {
            self.loaded_before.clone()
        } else {
            self.loaded_before.with(&RecordRanges::of(loads))
        }
    }

    /// Keys that the distribution covers.
    pub(super) fn drawn_keys(&self) -> u64 {
        let inserts = self.insert > 0.0;
        let auto = if inserts { self.records.div_ceil(10) } else { 0 };
        let asked = self.requested_records();
        asked.end - asked.start + self.new_keys.unwrap_or(auto)
    }

    /// The weights of the kinds, in the order of their numbers.
    pub(super) fn weights(&self) -> [f64; KINDS] {
        [self.read, self.update, self.insert, self.scan, self.read_modify_write, self.delete]
    }
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
