//! Options: what is listed, and what a choice of workload or profile means for the others.
//!
//! What is given counts first, then what the workload's letter sets, then the profile, then the
//! defaults of YCSB's code.

use super::histogram::FieldHistogram;
use super::keys::KEY_BYTES_MAX;
use super::mix::KINDS;
use super::option_values::{Distribution, InsertOrder, Lengths, Profile, StandardWorkload, Verify};
use super::record_ranges::RecordRanges;
use super::schema::Ycsb;
use crate::error::Error;
use std::ops::Range;
use syncline_contract::{OptionArgs, OptionListing};

/// What a user may choose.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "each choice stands alone; none excludes another")]
pub struct Options {
    /// Which of YCSB's workloads set the mix.
    pub workload: StandardWorkload,
    /// Whose table.
    pub profile: Profile,
    /// Loaded rows; at least 1.
    pub records: u64,
    /// The first record that distributions ask for which keep to loaded ones.
    pub insert_start: u64,
    /// How many they ask for; none takes all from the first on.
    pub insert_count: Option<u64>,
    /// The records that a load loads; none loads all.
    pub load_part: Option<Range<u64>>,
    /// The records that earlier loads have left.
    pub loaded_before: RecordRanges,
    /// Fields, in profile `k2` with the key.
    pub fields: u64,
    /// The most bytes of a field.
    pub field_bytes: u64,
    /// The least, where lengths vary.
    pub field_bytes_min: u64,
    /// How field lengths vary.
    pub field_lengths: Lengths,
    /// The lengths of fields, where they come from a histogram.
    pub field_histogram: Option<FieldHistogram>,
    /// Weights of read, update, insert, scan, read-modify-write and delete.
    pub weights: [f64; KINDS],
    /// Which keys are asked for.
    pub distribution: Distribution,
    /// The exponent of Zipf and its kin.
    pub theta: f64,
    /// The share of the keys that is hot.
    pub hotspot_data: f64,
    /// The share of the draws that falls on it.
    pub hotspot_draws: f64,
    /// Of a hundred draws of the exponential distribution, so many...
    pub exponential_percentile: f64,
    /// ...fall on that share of the keys.
    pub exponential_data: f64,
    /// Keys beyond the loaded ones that the distribution covers; none follows from the mix.
    pub new_keys: Option<u64>,
    /// The least rows of a scan.
    pub scan_rows_min: u64,
    /// The most.
    pub scan_rows_max: u64,
    /// How scan lengths vary.
    pub scan_lengths: Lengths,
    /// Operations in a transaction.
    pub ops_per_txn: u64,
    /// Whether a read asks for all fields, or one.
    pub read_all_fields: bool,
    /// Whether an update sets all fields, or one.
    pub write_all_fields: bool,
    /// What keys say of their rows' numbers.
    pub insert_order: InsertOrder,
    /// The least digits of a key.
    pub zero_padding: u64,
    /// The table's name.
    pub table: String,
    /// What the fields' names begin with.
    pub field_prefix: String,
    /// How much of a read row is verified in the run.
    pub verify: Verify,
}

/// The most bytes of the words for parts, which the mark of kept rows holds.
const PARTS_WORDS_MAX: usize = 200;

/// The most bytes of a field.
const FIELD_BYTES_MAX: u64 = 60_000;

const SHARE: &str = "a number from 0 to 1";
const WEIGHT: &str = "a number from 0 to 1000000";
const YES_OR_NO: &str = "yes or no";
const NAME: &str = "lower case letters, digits and underscores, a letter first, at most 60";

/// The weights of the kinds by option, in the order of the kinds' numbers.
const WEIGHTS: [&str; KINDS] = ["read", "update", "insert", "scan", "read_modify_write", "delete"];

macro_rules! listing {
    ($($name:literal, $takes:expr, $default:literal, $meaning:literal;)*) => {
        &[$(OptionListing { name: $name, takes: $takes, default: $default, meaning: $meaning },)*]
    };
}

impl Options {
    /// The options for a listing.
    pub const LISTING: &'static [OptionListing] = listing! {
        "workload", "core, a, b, c, d, e or f", "core",
            "weights and distribution of one of YCSB's workloads, where nothing else is given";
        "profile", "ycsb or k2", "ycsb",
            "YCSB's defaults, or K2's: 5000 rows of 10 fields of 10 bytes of which one is the key, read 70 \
             update 10 scan 20, scrambled, scans of at most 10";
        "records", "a whole number from 1 to 4000000000", "100000",
            "loaded rows (YCSB's files say 1000)";
        "insert_start", "a whole number from 0 to 4000000000", "0",
            "the first record that is asked for, where a distribution keeps to the loaded ones";
        "insert_count", "all or a whole number from 1 to 4000000000", "all",
            "how many are asked for; all are those from insert_start on";
        "load_part", "all or FIRST+COUNT", "all", "the records that a load loads";
        "loaded_before", "none or FIRST+COUNT,...", "none",
            "the records that earlier loads have left, beside which load_part is loaded";
        "fields", "a whole number from 1 to 200, in profile k2 from 2", "10",
            "fields of a row, in profile k2 with the key";
        "field_bytes", "a whole number from 1 to 60000", "100", "the most bytes of a field";
        "field_bytes_min", "a whole number from 1 to 60000", "1", "the least, where lengths vary";
        "field_lengths", "constant, uniform, zipfian or histogram", "constant", "how field lengths vary";
        "field_histogram", "none or BLOCK:COUNT,COUNT,... of at least two buckets", "none",
            "with field_lengths=histogram: the bytes of a block and how often fields have one block, two, and so \
             on; field_bytes follows from it. YCSB's oddity holds: the last bucket's are as long as those before";
        "read", WEIGHT, "0.95", "weight of reads";
        "update", WEIGHT, "0.05", "weight of updates";
        "insert", WEIGHT, "0", "weight of inserts";
        "scan", WEIGHT, "0", "weight of scans";
        "read_modify_write", WEIGHT, "0", "weight of read-modify-writes";
        "delete", WEIGHT, "0", "weight of deletes (K2's; YCSB has none)";
        "distribution",
            "uniform, zipfian, scrambled, latest, hotspot, sequential or exponential", "uniform",
            "which keys are asked for; scrambled is what YCSB calls zipfian";
        "theta", "a number from 0.01 to 0.99, with zipfian to 10", "0.99",
            "the exponent of zipfian, scrambled and latest";
        "hotspot_data", SHARE, "0.2", "the share of the keys that is hot";
        "hotspot_draws", SHARE, "0.8", "the share of the draws that falls on the hot keys";
        "exponential_percentile", "a number from 1 to 99.999", "95",
            "percentage of exponential draws that fall on exponential_data of the keys";
        "exponential_data", "a number from 0.000001 to 1000", "0.8571428571",
            "the share of the keys that they fall on, the newest";
        "new_keys", "auto or a whole number from 0 to 4000000000", "auto",
            "keys beyond the loaded ones that zipfian and scrambled cover, drawn once they are inserted; \
             auto is a tenth of records where the mix inserts";
        "scan_rows_min", "a whole number from 1 to 100000", "1", "the least rows of a scan";
        "scan_rows_max", "a whole number from 1 to 100000", "1000", "the most rows of a scan";
        "scan_lengths", "constant, uniform or zipfian", "uniform", "how scan lengths vary";
        "ops_per_txn", "a whole number from 1 to 1000", "1", "operations in a transaction";
        "read_all_fields", YES_OR_NO, "yes", "reads ask for all fields, or for one";
        "write_all_fields", YES_OR_NO, "no", "updates set all fields, or one";
        "insert_order", "hashed or ordered", "hashed", "what keys say of their rows' numbers";
        "zero_padding", "a whole number from 1 to 100", "1", "the least digits of a key";
        "table", NAME, "usertable", "the table's name";
        "field_prefix", NAME, "field", "what the fields' names begin with";
        "verify", "presence, field or row", "field",
            "how much of a read row is verified in the run: that it is there, one field in turn, all that \
             was read; every row is verified afterwards";
    };

    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        let workload = given.word("workload", &StandardWorkload::ALL, StandardWorkload::word)?;
        let workload = workload.unwrap_or(StandardWorkload::Core);
        let profile = given.word("profile", &Profile::ALL, Profile::word)?;
        let profile = profile.unwrap_or(Profile::Ycsb);
        let is_k2 = profile == Profile::K2;
        let number = |option, range, default| -> Result<u64, Error> {
            Ok(given.number(option, range)?.unwrap_or(default))
        };
        let fraction = |option, range, default| -> Result<f64, Error> {
            Ok(given.fraction(option, range)?.unwrap_or(default))
        };
        let lengths = |option, all: &[Lengths], default| -> Result<Lengths, Error> {
            Ok(given.word(option, all, Lengths::word)?.unwrap_or(default))
        };
        let yes = |option, default: bool| -> Result<bool, Error> {
            let word = |yes: bool| if yes { "yes" } else { "no" };
            Ok(given.word(option, &[true, false], word)?.unwrap_or(default))
        };
        let name = |option, default: &str| -> Result<String, Error> {
            let named = given.parsed(option, |value| is_name(value).then(|| value.to_owned()))?;
            Ok(named.unwrap_or_else(|| default.to_owned()))
        };
        let (weights, distribution, scan_rows) = implied(workload, profile);
        let mut chosen = weights;
        for (weight, option) in chosen.iter_mut().zip(WEIGHTS) {
            *weight = fraction(option, 0.0..=1e6, *weight)?;
        }
        let drawn = given.word("distribution", &Distribution::ALL, Distribution::word)?;
        let order = given.word("insert_order", &InsertOrder::ALL, InsertOrder::word)?;
        let field_lengths = lengths("field_lengths", &Lengths::ALL, Lengths::Constant)?;
        let field_histogram = given
            .parsed("field_histogram", |value| match value {
                "none" => Some(None),
                word => FieldHistogram::of_word(word)
                    .filter(|one| one.most() <= FIELD_BYTES_MAX)
                    .map(Some),
            })?
            .flatten();
        let mut field_bytes =
            number("field_bytes", 1..=FIELD_BYTES_MAX, if is_k2 { 10 } else { 100 })?;
        if field_lengths == Lengths::Histogram {
            field_bytes = FieldHistogram::asked(field_histogram.clone())?.most();
        }
        let options = Options {
            workload,
            profile,
            records: number("records", 1..=ROWS_MAX, if is_k2 { 5_000 } else { 100_000 })?,
            insert_start: number("insert_start", 0..=ROWS_MAX, 0)?,
            insert_count: given
                .parsed("insert_count", |value| match value {
                    "all" => Some(None),
                    count => {
                        let count = count.parse().ok();
                        count.filter(|count| (1..=ROWS_MAX).contains(count)).map(Some)
                    }
                })?
                .flatten(),
            load_part: given
                .parsed("load_part", |value| match value {
                    "all" => Some(None),
                    words => RecordRanges::read(words)?.only().map(Some),
                })?
                .flatten(),
            loaded_before: given
                .parsed("loaded_before", |value| match value {
                    "none" => Some(RecordRanges::default()),
                    words => RecordRanges::read(words),
                })?
                .unwrap_or_default(),
            fields: number("fields", 1 + u64::from(is_k2)..=200, 10)?,
            field_bytes,
            field_bytes_min: number("field_bytes_min", 1..=60_000, 1)?,
            field_lengths,
            field_histogram,
            weights: chosen,
            distribution: drawn.unwrap_or(distribution),
            theta: fraction("theta", 0.01..=10.0, 0.99)?,
            hotspot_data: fraction("hotspot_data", 0.0..=1.0, 0.2)?,
            hotspot_draws: fraction("hotspot_draws", 0.0..=1.0, 0.8)?,
            exponential_percentile: fraction("exponential_percentile", 1.0..=99.999, 95.0)?,
            exponential_data: fraction("exponential_data", 1e-6..=1e3, 0.857_142_857_1)?,
            new_keys: given
                .parsed("new_keys", |value| match value {
                    "auto" => Some(None),
                    count => count.parse().ok().filter(|count| *count <= ROWS_MAX).map(Some),
                })?
                .flatten(),
            scan_rows_min: number("scan_rows_min", 1..=100_000, 1)?,
            scan_rows_max: number("scan_rows_max", 1..=100_000, scan_rows)?,
            scan_lengths: lengths("scan_lengths", &Lengths::PLAIN, Lengths::Uniform)?,
            ops_per_txn: number("ops_per_txn", 1..=1_000, 1)?,
            read_all_fields: yes("read_all_fields", true)?,
            write_all_fields: yes("write_all_fields", false)?,
            insert_order: order.unwrap_or(InsertOrder::Hashed),
            zero_padding: number("zero_padding", 1..=100, 1)?,
            table: name("table", "usertable")?,
            field_prefix: name("field_prefix", "field")?,
            verify: given.word("verify", &Verify::ALL, Verify::word)?.unwrap_or(Verify::Field),
        };
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
        let (asked, loads) = (self.asked(), self.loads());
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
        } else if self.weights.iter().sum::<f64>() <= 0.0 {
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
    pub(super) fn asked(&self) -> Range<u64> {
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
        let inserts = self.weights[super::mix::INSERT] > 0.0;
        let auto = if inserts { self.records.div_ceil(10) } else { 0 };
        let asked = self.asked();
        asked.end - asked.start + self.new_keys.unwrap_or(auto)
    }

    /// The options as pairs of name and value, in the order of the listing.
    pub(super) fn pairs(&self) -> Vec<(&'static str, String)> {
        let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
        let auto = || "auto".to_owned();
        let mut pairs = vec![
            ("workload", self.workload.word().to_owned()),
            ("profile", self.profile.word().to_owned()),
            ("records", self.records.to_string()),
            ("insert_start", self.insert_start.to_string()),
            (
                "insert_count",
                self.insert_count.map_or_else(|| "all".to_owned(), |count| count.to_string()),
            ),
            (
                "load_part",
                self.load_part
                    .clone()
                    .map_or_else(|| "all".to_owned(), |part| RecordRanges::of(part).words()),
            ),
            ("loaded_before", self.loaded_before.words()),
            ("fields", self.fields.to_string()),
            ("field_bytes", self.field_bytes.to_string()),
            ("field_bytes_min", self.field_bytes_min.to_string()),
            ("field_lengths", self.field_lengths.word().to_owned()),
            (
                "field_histogram",
                self.field_histogram
                    .as_ref()
                    .map_or_else(|| "none".to_owned(), FieldHistogram::word),
            ),
        ];
        let weights = WEIGHTS.iter().zip(self.weights);
        pairs.extend(weights.map(|(option, weight)| (*option, weight.to_string())));
        pairs.extend([
            ("distribution", self.distribution.word().to_owned()),
            ("theta", self.theta.to_string()),
            ("hotspot_data", self.hotspot_data.to_string()),
            ("hotspot_draws", self.hotspot_draws.to_string()),
            ("exponential_percentile", self.exponential_percentile.to_string()),
            ("exponential_data", self.exponential_data.to_string()),
            ("new_keys", self.new_keys.map_or_else(auto, |keys| keys.to_string())),
            ("scan_rows_min", self.scan_rows_min.to_string()),
            ("scan_rows_max", self.scan_rows_max.to_string()),
            ("scan_lengths", self.scan_lengths.word().to_owned()),
            ("ops_per_txn", self.ops_per_txn.to_string()),
            ("read_all_fields", yes(self.read_all_fields)),
            ("write_all_fields", yes(self.write_all_fields)),
            ("insert_order", self.insert_order.word().to_owned()),
            ("zero_padding", self.zero_padding.to_string()),
            ("table", self.table.clone()),
            ("field_prefix", self.field_prefix.clone()),
            ("verify", self.verify.word().to_owned()),
        ]);
        pairs
    }
}

/// The most rows, so that a row's number fits four bytes.
const ROWS_MAX: u64 = 4_000_000_000;

/// Weights, distribution and the longest scan of a letter, or of a profile's own mix.
fn implied(workload: StandardWorkload, profile: Profile) -> ([f64; KINDS], Distribution, u64) {
    let scan_rows = if profile == Profile::K2 { 10 } else { 1_000 };
    let scrambled = Distribution::Scrambled;
    match (workload, profile) {
        (StandardWorkload::A, _) => ([0.5, 0.5, 0.0, 0.0, 0.0, 0.0], scrambled, scan_rows),
        (StandardWorkload::B, _) => ([0.95, 0.05, 0.0, 0.0, 0.0, 0.0], scrambled, scan_rows),
        (StandardWorkload::C, _) => ([1.0, 0.0, 0.0, 0.0, 0.0, 0.0], scrambled, scan_rows),
        (StandardWorkload::D, _) => {
            ([0.95, 0.0, 0.05, 0.0, 0.0, 0.0], Distribution::Latest, scan_rows)
        }
        (StandardWorkload::E, _) => {
            ([0.0, 0.0, 0.05, 0.95, 0.0, 0.0], scrambled, scan_rows.min(100))
        }
        (StandardWorkload::F, _) => ([0.5, 0.0, 0.0, 0.0, 0.5, 0.0], scrambled, scan_rows),
        (StandardWorkload::Core, Profile::K2) => {
            ([70.0, 10.0, 0.0, 20.0, 0.0, 0.0], scrambled, scan_rows)
        }
        (StandardWorkload::Core, Profile::Ycsb) => {
            ([0.95, 0.05, 0.0, 0.0, 0.0, 0.0], Distribution::Uniform, scan_rows)
        }
    }
}

fn is_name(value: &str) -> bool {
    let sign = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    value.len() <= 60
        && value.starts_with(|c: char| c.is_ascii_lowercase())
        && value.chars().all(sign)
        && value != "syncline_mark"
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
