//! What a user may choose: sysbench's own options, with its defaults.

use super::schema::Oltp;
use super::sysbench_test::Test;
use crate::distributions::{Gaussian, Pareto, Special, Stream, Zipf};
use crate::error::Error;
use syncline_contract::{OptionArgs, OptionListing};

/// By which distribution ids are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RandType {
    /// Each as likely.
    Uniform,
    /// A bell over all.
    Gaussian,
    /// A bell over all, and some in its middle hot.
    Special,
    /// A share of the ids gets most draws.
    Pareto,
    /// Zipf.
    Zipfian,
}

impl RandType {
    /// Every one.
    pub const ALL: [RandType; 5] = [
        RandType::Uniform,
        RandType::Gaussian,
        RandType::Special,
        RandType::Pareto,
        RandType::Zipfian,
    ];

    /// The word of the option.
    pub fn word(self) -> &'static str {
        match self {
            RandType::Uniform => "uniform",
            RandType::Gaussian => "gaussian",
            RandType::Special => "special",
            RandType::Pareto => "pareto",
            RandType::Zipfian => "zipfian",
        }
    }
}

/// What a user may choose.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "each stands alone, as sysbench has them")]
pub struct Options {
    /// Which test.
    pub test: Test,
    /// Tables; at least 1.
    pub tables: u64,
    /// Rows of a table; at least 1.
    pub table_size: u64,
    /// Rows of a range; at least 1.
    pub range_size: u64,
    /// Point selects of an event.
    pub point_selects: u64,
    /// Plain ranges of an event.
    pub simple_ranges: u64,
    /// Sums over ranges of an event.
    pub sum_ranges: u64,
    /// Sorted ranges of an event.
    pub order_ranges: u64,
    /// Sorted ranges without doubles of an event.
    pub distinct_ranges: u64,
    /// Whether there are any ranges.
    pub range_selects: bool,
    /// Updates of `k` of an event.
    pub index_updates: u64,
    /// Updates of `c` of an event.
    pub non_index_updates: u64,
    /// Deletes with their inserts of an event.
    pub delete_inserts: u64,
    /// Whether each statement is a transaction.
    pub skip_trx: bool,
    /// Whether the store counts up the ids of test `insert`.
    pub auto_inc: bool,
    /// Whether `k` has an index.
    pub create_secondary: bool,
    /// Whether rows are found by a secondary index on `id`.
    pub secondary: bool,
    /// Rows of a transaction of test `bulk_insert`; at least 1.
    pub bulk_rows: u64,
    /// By which distribution ids are drawn.
    pub rand_type: RandType,
    /// Draws of which a bell takes the mean; at least 1.
    pub rand_spec_iter: u64,
    /// Of a hundred ids, so many are hot.
    pub rand_spec_pct: u64,
    /// Of a hundred draws, so many are of hot ids.
    pub rand_spec_res: u64,
    /// Pareto's share, between 0 and 1.
    pub rand_pareto_h: f64,
    /// Zipf's exponent; above 0.
    pub rand_zipfian_exp: f64,
    /// Whether the tables may come from an earlier run, of whose additions nothing is known.
    pub kept: bool,
    /// Of the tables, those that are used, from the first on; 0 uses all.
    pub used_tables: u64,
    /// Of a table's rows, those whose ids are drawn, from the first on; 0 draws all.
    pub used_rows: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            test: Test::ReadWrite,
            tables: 1,
            table_size: 10_000,
            range_size: 100,
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            range_selects: true,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            skip_trx: false,
            auto_inc: true,
            create_secondary: true,
            secondary: false,
            bulk_rows: 1_000,
            rand_type: RandType::Special,
            rand_spec_iter: 12,
            rand_spec_pct: 1,
            rand_spec_res: 75,
            rand_pareto_h: 0.2,
            rand_zipfian_exp: 0.8,
            kept: false,
            used_tables: 0,
            used_rows: 0,
        }
    }
}

/// Tables that may be asked for, each with its prepared statements in every client.
const TABLES_MAX: u64 = 10_000;
/// Rows that may be asked for: sysbench's ids are 31 bits.
const ROWS_MAX: u64 = 2_147_483_647;
/// Statements of a kind in an event.
const COUNT_MAX: u64 = 10_000;

const ON_OR_OFF: &str = "on or off";
const COUNT: &str = "a whole number from 0 to 10000";
const PERCENT: &str = "a whole number from 0 to 100";

const fn listed(
    name: &'static str,
    takes: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> OptionListing {
    OptionListing { name, takes, default, meaning }
}

impl Options {
    /// The options for a listing.
    pub const LISTING: &'static [OptionListing] = &[
        listed(
            "test",
            "point_select, read_only, read_write, write_only, insert, delete, update_index, \
             update_non_index or bulk_insert",
            "read_write",
            "which of sysbench's tests",
        ),
        listed("tables", "a whole number from 1 to 10000", "1", "tables, of which one is drawn"),
        listed("table_size", "a whole number from 1 to 2147483647", "10000", "rows of a table"),
        listed("range_size", "a whole number from 1 to 1000000", "100", "rows of a range"),
        listed("point_selects", COUNT, "10", "rows read by id, an event"),
        listed("simple_ranges", COUNT, "1", "ranges read, an event"),
        listed("sum_ranges", COUNT, "1", "ranges summed up, an event"),
        listed("order_ranges", COUNT, "1", "ranges sorted, an event"),
        listed("distinct_ranges", COUNT, "1", "ranges sorted without doubles, an event"),
        listed("range_selects", ON_OR_OFF, "on", "whether there are ranges"),
        listed("index_updates", COUNT, "1", "updates of k, an event"),
        listed("non_index_updates", COUNT, "1", "updates of c, an event"),
        listed(
            "delete_inserts",
            COUNT,
            "1",
            "deletes, each with an insert of the same id, an event",
        ),
        listed("skip_trx", ON_OR_OFF, "off", "whether each statement is a transaction of its own"),
        listed(
            "auto_inc",
            ON_OR_OFF,
            "on",
            "test insert: whether the store counts up ids; off begins with empty tables",
        ),
        listed("create_secondary", ON_OR_OFF, "on", "whether k has an index"),
        listed(
            "secondary",
            ON_OR_OFF,
            "off",
            "whether rows are found by a secondary index on id instead of the primary key",
        ),
        listed(
            "bulk_rows",
            "a whole number from 1 to 1000000",
            "1000",
            "test bulk_insert: rows of a transaction",
        ),
        listed(
            "rand_type",
            "uniform, gaussian, special, pareto or zipfian",
            "special",
            "how ids are drawn",
        ),
        listed(
            "rand_spec_iter",
            "a whole number from 1 to 1000",
            "12",
            "gaussian, special: even draws of which a bell is the mean",
        ),
        listed("rand_spec_pct", PERCENT, "1", "special: percentage of ids that are hot"),
        listed("rand_spec_res", PERCENT, "75", "special: percentage of draws that take hot ids"),
        listed(
            "rand_pareto_h",
            "a number from 0.001 to 0.999",
            "0.2",
            "pareto: this share of the ids gets the rest of the draws",
        ),
        listed("rand_zipfian_exp", "a number from 0.001 to 100", "0.8", "zipfian: the exponent"),
        listed(
            "kept",
            ON_OR_OFF,
            "off",
            "whether tables may come from an earlier run (--reuse), whose additions are then summed up first",
        ),
        listed(
            "used_tables",
            "a whole number from 0 to 10000",
            "0",
            "number of tables used, from the first on; 0 uses all",
        ),
        listed(
            "used_rows",
            "a whole number from 0 to 2147483647",
            "0",
            "number of a table's rows that ids are drawn from, from the first on; 0 draws from all",
        ),
    ];

    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        let default = Options::default();
        let number = |option, range, default| -> Result<u64, Error> {
            Ok(given.number(option, range)?.unwrap_or(default))
        };
        let count = |option, default| number(option, 0..=COUNT_MAX, default);
        let percent = |option, default| number(option, 0..=100, default);
        let is_on = |option, default: bool| -> Result<bool, Error> {
            let word = |on| if on { "on" } else { "off" };
            let on = given.word(option, &[true, false], word)?;
            Ok(on.unwrap_or(default))
        };
        let fraction = |option, range, default| -> Result<f64, Error> {
            Ok(given.fraction(option, range)?.unwrap_or(default))
        };
        let test = given.word("test", &Test::ALL, Test::word)?;
        let rand_type = given.word("rand_type", &RandType::ALL, RandType::word)?;
        let options = Options {
            test: test.unwrap_or(default.test),
            tables: number("tables", 1..=TABLES_MAX, default.tables)?,
            table_size: number("table_size", 1..=ROWS_MAX, default.table_size)?,
            range_size: number("range_size", 1..=1_000_000, default.range_size)?,
            point_selects: count("point_selects", default.point_selects)?,
            simple_ranges: count("simple_ranges", default.simple_ranges)?,
            sum_ranges: count("sum_ranges", default.sum_ranges)?,
            order_ranges: count("order_ranges", default.order_ranges)?,
            distinct_ranges: count("distinct_ranges", default.distinct_ranges)?,
            range_selects: is_on("range_selects", default.range_selects)?,
            index_updates: count("index_updates", default.index_updates)?,
            non_index_updates: count("non_index_updates", default.non_index_updates)?,
            delete_inserts: count("delete_inserts", default.delete_inserts)?,
            skip_trx: is_on("skip_trx", default.skip_trx)?,
            auto_inc: is_on("auto_inc", default.auto_inc)?,
            create_secondary: is_on("create_secondary", default.create_secondary)?,
            secondary: is_on("secondary", default.secondary)?,
            bulk_rows: number("bulk_rows", 1..=1_000_000, default.bulk_rows)?,
            rand_type: rand_type.unwrap_or(default.rand_type),
            rand_spec_iter: number("rand_spec_iter", 1..=1_000, default.rand_spec_iter)?,
            rand_spec_pct: percent("rand_spec_pct", default.rand_spec_pct)?,
            rand_spec_res: percent("rand_spec_res", default.rand_spec_res)?,
            rand_pareto_h: fraction("rand_pareto_h", 0.001..=0.999, default.rand_pareto_h)?,
            rand_zipfian_exp: fraction(
                "rand_zipfian_exp",
                0.001..=100.0,
                default.rand_zipfian_exp,
            )?,
            kept: is_on("kept", default.kept)?,
            used_tables: number("used_tables", 0..=TABLES_MAX, default.used_tables)?,
            used_rows: number("used_rows", 0..=ROWS_MAX, default.used_rows)?,
        };
        options.refuse()?;
        Ok(options)
    }

    fn refuse(&self) -> Result<(), Error> {
        let excluded = |what| {
            let workload = Oltp::NAME;
            Err(Error::Excluded { workload, what })
        };
        if self.test != Test::BulkInsert && super::Event::of(self).is_empty() {
            return excluded(
                "counts of zero for every statement of its test, since nothing is left to do",
            );
        }
        if self.used_tables > self.tables || self.used_rows > self.table_size {
            return excluded("used_tables or used_rows above the tables and rows that there are");
        }
        if self.secondary && matches!(self.test, Test::Insert | Test::BulkInsert) {
            return excluded("secondary=on with a test that finds no row");
        }
        Ok(())
    }

    /// The options as pairs, in the order of the listing.
    pub(super) fn pairs(&self) -> Vec<(&'static str, String)> {
        let on = |on: bool| if on { "on" } else { "off" }.to_owned();
        vec![
            ("test", self.test.word().to_owned()),
            ("tables", self.tables.to_string()),
            ("table_size", self.table_size.to_string()),
            ("range_size", self.range_size.to_string()),
            ("point_selects", self.point_selects.to_string()),
            ("simple_ranges", self.simple_ranges.to_string()),
            ("sum_ranges", self.sum_ranges.to_string()),
            ("order_ranges", self.order_ranges.to_string()),
            ("distinct_ranges", self.distinct_ranges.to_string()),
            ("range_selects", on(self.range_selects)),
            ("index_updates", self.index_updates.to_string()),
            ("non_index_updates", self.non_index_updates.to_string()),
            ("delete_inserts", self.delete_inserts.to_string()),
            ("skip_trx", on(self.skip_trx)),
            ("auto_inc", on(self.auto_inc)),
            ("create_secondary", on(self.create_secondary)),
            ("secondary", on(self.secondary)),
            ("bulk_rows", self.bulk_rows.to_string()),
            ("rand_type", self.rand_type.word().to_owned()),
            ("rand_spec_iter", self.rand_spec_iter.to_string()),
            ("rand_spec_pct", self.rand_spec_pct.to_string()),
            ("rand_spec_res", self.rand_spec_res.to_string()),
            ("rand_pareto_h", self.rand_pareto_h.to_string()),
            ("rand_zipfian_exp", self.rand_zipfian_exp.to_string()),
            ("kept", on(self.kept)),
            ("used_tables", self.used_tables.to_string()),
            ("used_rows", self.used_rows.to_string()),
        ]
    }

    /// True if a transaction is an event; false if it is one statement of it.
    pub(super) fn has_transactions(&self) -> bool {
        self.test.begins() && !self.skip_trx
    }

    /// True if a row may be away for a moment, or for good.
    pub(super) fn rows_may_be_away(&self) -> bool {
        let parted = self.skip_trx && self.delete_inserts > 0;
        let writes = matches!(self.test, Test::WriteOnly | Test::ReadWrite);
        self.test == Test::Delete || (writes && parted)
    }

    /// True if rows are replaced or taken away, and with them what was added to their `k`.
    pub(super) fn drops_additions(&self) -> bool {
        let writes = matches!(self.test, Test::WriteOnly | Test::ReadWrite);
        self.test == Test::Delete || (writes && self.delete_inserts > 0)
    }

    /// True if the store counts up ids.
    pub(super) fn ids_by_store(&self) -> bool {
        self.test == Test::Insert && self.auto_inc
    }

    /// Rows of each table that are loaded.
    pub(super) fn loaded_rows(&self) -> u64 {
        match self.test {
            Test::BulkInsert => 0,
            Test::Insert if !self.auto_inc => 0,
            _ => self.table_size,
        }
    }

    /// How ids are drawn.
    pub(super) fn ids(&self) -> Ids {
        let rows = match self.used_rows {
            0 => self.table_size,
            some => some,
        };
        let draws = self.rand_spec_iter;
        match self.rand_type {
            RandType::Uniform => Ids::Uniform(rows),
            RandType::Gaussian => Ids::Gaussian(Gaussian::new(rows, draws)),
            RandType::Special => {
                let (pct, res) = (self.rand_spec_pct, self.rand_spec_res);
                Ids::Special(Special::new(rows, draws, pct, res))
            }
            RandType::Pareto => Ids::Pareto(Pareto::new(rows, self.rand_pareto_h)),
            RandType::Zipfian => Ids::Zipfian(Zipf::new(rows, self.rand_zipfian_exp)),
        }
    }
}

/// A distribution over the ids from 1 on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ids {
    Uniform(u64),
    Gaussian(Gaussian),
    Special(Special),
    Pareto(Pareto),
    Zipfian(Zipf),
}

impl Ids {
    #[inline]
    pub(super) fn draw(&self, stream: &mut Stream) -> u64 {
        1 + match self {
            Ids::Uniform(rows) => stream.below(*rows),
            Ids::Gaussian(gaussian) => gaussian.draw(stream),
            Ids::Special(special) => special.draw(stream),
            Ids::Pareto(pareto) => pareto.draw(stream),
            Ids::Zipfian(zipf) => zipf.draw(stream),
        }
    }
}
