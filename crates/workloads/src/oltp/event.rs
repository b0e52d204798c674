//! The contents of an event: kinds of statements in sysbench's order, with their counts.

use super::options::Options;
use super::sysbench_test::Test;

/// A kind of statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    Insert,
}

impl Statement {
    /// Every kind.
    pub(super) const ALL: [Statement; 9] = [
        Statement::PointSelect,
        Statement::SimpleRange,
        Statement::SumRange,
        Statement::OrderRange,
        Statement::DistinctRange,
        Statement::IndexUpdate,
        Statement::NonIndexUpdate,
        Statement::Delete,
        Statement::Insert,
    ];

    /// The names of the kinds, in order.
    pub(super) const NAMES: [&'static str; 9] = [
        "point select",
        "simple range",
        "sum range",
        "order range",
        "distinct range",
        "index update",
        "non-index update",
        "delete",
        "insert",
    ];

    /// True if it writes.
    pub(super) fn writes(self) -> bool {
        use Statement::{Delete, IndexUpdate, Insert, NonIndexUpdate};
        matches!(self, IndexUpdate | NonIndexUpdate | Delete | Insert)
    }
}

/// Queries as counted by sysbench.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queries {
    /// Selects.
    pub reads: u64,
    /// Inserts, updates and deletes.
    pub writes: u64,
    /// Begins and commits.
    pub other: u64,
}

impl Queries {
    /// All of them.
    pub fn all(&self) -> u64 {
        self.reads + self.writes + self.other
    }
}

/// The statements of an event: each kind with its count. A delete's count is also that of its insert; the two
/// alternate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub(super) groups: Vec<(Statement, u64)>,
    begins: bool,
}

impl Event {
    /// The event for these options; empty for `bulk_insert`, whose events are rows.
    pub fn of(options: &Options) -> Event {
        let mut groups = Vec::new();
        let mut add = |statement, times| {
            if times > 0 {
                groups.push((statement, times));
            }
        };
        match options.test {
            Test::PointSelect => add(Statement::PointSelect, 1),
            Test::Insert => add(Statement::Insert, 1),
            Test::Delete => add(Statement::Delete, 1),
            Test::UpdateIndex => add(Statement::IndexUpdate, options.index_updates),
            Test::UpdateNonIndex => add(Statement::NonIndexUpdate, options.non_index_updates),
            Test::ReadOnly | Test::ReadWrite => add(Statement::PointSelect, options.point_selects),
            Test::WriteOnly | Test::BulkInsert => {}
        }
        if options.test.has_ranges() && options.range_selects {
            add(Statement::SimpleRange, options.simple_ranges);
            add(Statement::SumRange, options.sum_ranges);
            add(Statement::OrderRange, options.order_ranges);
            add(Statement::DistinctRange, options.distinct_ranges);
        }
        if matches!(options.test, Test::WriteOnly | Test::ReadWrite) {
            add(Statement::IndexUpdate, options.index_updates);
            add(Statement::NonIndexUpdate, options.non_index_updates);
            add(Statement::Delete, options.delete_inserts);
        }
        Event { groups, begins: options.has_transactions() }
    }

    /// True if it holds nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// True if it contains such statements.
    pub(super) fn has(&self, statement: Statement) -> bool {
        self.groups.iter().any(|(of, _)| *of == statement)
    }

    /// Its queries as counted by sysbench.
    pub fn queries(&self, test: Test) -> Queries {
        let mut queries = Queries { other: if self.begins { 2 } else { 0 }, ..Queries::default() };
        for (statement, times) in &self.groups {
            match statement {
                // With its insert.
                Statement::Delete if test != Test::Delete => queries.writes += 2 * times,
                statement if statement.writes() => queries.writes += times,
                _ => queries.reads += times,
            }
        }
        queries
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, Queries};
    use crate::oltp::{Options, Test};

    fn queries(options: &Options) -> (u64, u64, u64) {
        let Queries { reads, writes, other } = Event::of(options).queries(options.test);
        (reads, writes, other)
    }

    #[test]
    fn an_event_has_sysbenchs_queries() {
        for (test, expected) in [
            (Test::PointSelect, (1, 0, 0)),
            (Test::ReadOnly, (14, 0, 2)),
            (Test::ReadWrite, (14, 4, 2)),
            (Test::WriteOnly, (0, 4, 2)),
            (Test::Insert, (0, 1, 0)),
            (Test::Delete, (0, 1, 0)),
            (Test::UpdateIndex, (0, 1, 0)),
            (Test::UpdateNonIndex, (0, 1, 0)),
        ] {
            let options = Options { test, ..Options::default() };
            assert_eq!(queries(&options), expected, "{test:?}");
        }
        let options = Options {
            skip_trx: true,
            range_selects: false,
            delete_inserts: 3,
            ..Options::default()
        };
        assert_eq!(queries(&options), (10, 8, 0));
    }
}
