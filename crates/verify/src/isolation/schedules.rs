//! Hermitage's schedules (Martin Kleppmann, github.com/ept/hermitage), as data: who does what in which
//! order, and what of it is the anomaly.
//!
//! Two rows stand before each: 1 holds 10, 2 holds 20. A predicate is a range of an index on the value.
//! An anomaly counts only if those who take part in it have committed.

use super::stage::Act::{self, Abort, Commit, Get, Insert, Scan, Set};
use super::stage::Played;

/// A schedule.
#[derive(Debug)]
pub(super) struct Schedule {
    /// Hermitage's column.
    pub(super) name: &'static str,
    /// What it would be.
    pub(super) what: &'static str,
    /// Sessions from 1 up, and what each does next.
    pub(super) steps: &'static [(usize, Act)],
    /// True if the anomaly is seen.
    pub(super) shows: fn(&Played) -> bool,
}

/// Every schedule, in Hermitage's order.
pub(super) const SCHEDULES: &[Schedule] = &[
    Schedule {
        name: "G0",
        what: "dirty write",
        steps: &[
            (1, Set(1, 11)),
            (2, Set(1, 12)),
            (1, Set(2, 21)),
            (1, Commit),
            (2, Set(2, 22)),
            (2, Commit),
        ],
        shows: |played| matches!(played.rows(), [(1, 11), (2, 22)] | [(1, 12), (2, 21)]),
    },
    Schedule {
        name: "G1a",
        what: "aborted read",
        steps: &[
            (1, Set(1, 101)),
            (2, Get(1)),
            (1, Abort),
            (2, Get(1)),
            (2, Commit),
        ],
        shows: |played| played.committed(2) && played.got(2).contains(&101),
    },
    Schedule {
        name: "G1b",
        what: "intermediate read",
        steps: &[
            (1, Set(1, 101)),
            (2, Get(1)),
            (1, Set(1, 11)),
            (1, Commit),
            (2, Get(1)),
            (2, Commit),
        ],
        shows: |played| played.committed(2) && played.got(2).contains(&101),
    },
    Schedule {
        name: "G1c",
        what: "circular information flow",
        steps: &[
            (1, Set(1, 11)),
            (2, Set(2, 22)),
            (1, Get(2)),
            (2, Get(1)),
            (1, Commit),
            (2, Commit),
        ],
        shows: |played| played.both_committed() && played.got(1) == [22] && played.got(2) == [11],
    },
    Schedule {
        name: "OTV",
        what: "observed transaction vanishes",
        steps: &[
            (1, Set(1, 11)),
            (1, Set(2, 19)),
            (2, Set(1, 12)),
            (1, Commit),
            (3, Get(1)),
            (2, Set(2, 18)),
            (3, Get(2)),
            (2, Commit),
            (3, Get(2)),
            (3, Get(1)),
            (3, Commit),
        ],
        // Having seen something of the second, it sees the first again where the second had written.
        shows: |played| {
            let got = played.got(3);
            let seen = got.iter().position(|value| matches!(value, 12 | 18));
            let vanished = |from: usize| got[from..].iter().any(|value| matches!(value, 11 | 19));
            played.committed(3) && seen.is_some_and(vanished)
        },
    },
    Schedule {
        name: "PMP",
        what: "predicate-many-preceders",
        steps: &[
            (1, Scan(30, 30)),
            (2, Insert(3, 30)),
            (2, Commit),
            (1, Scan(30, 30)),
            (1, Commit),
        ],
        shows: |played| played.both_committed() && played.got(1) == [30],
    },
    Schedule {
        name: "P4",
        what: "lost update",
        steps: &[
            (1, Get(1)),
            (2, Get(1)),
            (1, Set(1, 11)),
            (2, Set(1, 12)),
            (1, Commit),
            (2, Commit),
        ],
        // If they came one after the other, the later has seen the earlier.
        shows: |played| played.both_committed() && played.got(1) == played.got(2),
    },
    Schedule {
        name: "G-single",
        what: "read skew",
        steps: &[
            (1, Get(1)),
            (2, Set(1, 12)),
            (2, Set(2, 18)),
            (2, Commit),
            (1, Get(2)),
            (1, Commit),
        ],
        shows: |played| played.both_committed() && matches!(played.got(1), [10, 18] | [12, 20]),
    },
    Schedule {
        name: "G2-item",
        what: "write skew",
        steps: &[
            (1, Get(1)),
            (1, Get(2)),
            (2, Get(1)),
            (2, Get(2)),
            (1, Set(1, 11)),
            (2, Set(2, 21)),
            (1, Commit),
            (2, Commit),
        ],
        shows: |played| {
            played.both_committed() && played.got(1) == [10, 20] && played.got(2) == [10, 20]
        },
    },
    Schedule {
        name: "G2",
        what: "write skew over a predicate",
        steps: &[
            (1, Scan(30, 42)),
            (2, Scan(30, 42)),
            (1, Insert(3, 30)),
            (2, Insert(4, 42)),
            (1, Commit),
            (2, Commit),
        ],
        shows: |played| {
            played.both_committed() && played.got(1).is_empty() && played.got(2).is_empty()
        },
    },
];
