//! What a user may choose: sysbench's own options, with its defaults.

use super::schema::Oltp;
use super::sysbench_test::Test;
use crate::distributions::{Gaussian, Pareto, Special, Stream, Zipf};
use crate::error::Error;
use syncline_contract::{OnOrOff, OptionArgs, options, words};

words! {
    /// By which distribution ids are drawn.
    pub enum RandType {
        /// Each as likely.
        Uniform = "uniform",
        /// A bell over all.
        Gaussian = "gaussian",
        /// A bell over all, and some in its middle hot.
        Special = "special",
        /// A share of the ids gets most draws.
        Pareto = "pareto",
        /// Zipf.
        Zipfian = "zipfian",
    }
}

options! {
    /// What a user may choose.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[allow(clippy::struct_excessive_bools, reason = "each is independent, as in sysbench")]
    pub struct Options {
        pub test: Test = "read_write", "which of sysbench's tests";
        pub tables: u64 = 1 in 1..=10_000, "tables, of which one is drawn";
        pub table_size: u64 = 10_000 in 1..=2_147_483_647, "rows of a table";
        pub range_size: u64 = 100 in 1..=1_000_000, "rows of a range";
        pub point_selects: u64 = 10 in 0..=10_000, "rows read by id, an event";
        pub simple_ranges: u64 = 1 in 0..=10_000, "ranges read, an event";
        pub sum_ranges: u64 = 1 in 0..=10_000, "ranges summed up, an event";
        pub order_ranges: u64 = 1 in 0..=10_000, "ranges sorted, an event";
        pub distinct_ranges: u64 = 1 in 0..=10_000, "ranges sorted without doubles, an event";
        pub range_selects: bool as OnOrOff = "on", "whether there are ranges";
        pub index_updates: u64 = 1 in 0..=10_000, "updates of k, an event";
        pub non_index_updates: u64 = 1 in 0..=10_000, "updates of c, an event";
        pub delete_inserts: u64 = 1 in 0..=10_000,
            "deletes, each with an insert of the same id, an event";
        pub skip_trx: bool as OnOrOff = "off", "whether each statement is a transaction of its own";
        pub auto_inc: bool as OnOrOff = "on",
            "test insert: whether the store counts up ids; off begins with empty tables";
        pub create_secondary: bool as OnOrOff = "on", "whether k has an index";
        pub secondary: bool as OnOrOff = "off",
            "whether rows are found by a secondary index on id instead of the primary key";
        pub bulk_rows: u64 = 1_000 in 1..=1_000_000, "test bulk_insert: rows of a transaction";
        pub rand_type: RandType = "special", "how ids are drawn";
        pub rand_spec_iter: u64 = 12 in 1..=1_000,
            "gaussian, special: even draws of which a bell is the mean";
        pub rand_spec_pct: u64 = 1 in 0..=100, "special: percentage of ids that are hot";
        pub rand_spec_res: u64 = 75 in 0..=100, "special: percentage of draws that take hot ids";
        pub rand_pareto_h: f64 = 0.2 in 0.001..=0.999,
            "pareto: this share of the ids gets the rest of the draws";
        pub rand_zipfian_exp: f64 = 0.8 in 0.001..=100, "zipfian: the exponent";
        pub kept: bool as OnOrOff = "off",
            "whether tables may come from an earlier run (--reuse), whose additions are then summed up first";
        pub used_tables: u64 = 0 in 0..=10_000,
            "number of tables used, from the first on; 0 uses all";
        pub used_rows: u64 = 0 in 0..=2_147_483_647,
            "number of a table's rows that ids are drawn from, from the first on; 0 draws from all";
    }
}

impl Options {
    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        let options = Options::read(given)?;
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
