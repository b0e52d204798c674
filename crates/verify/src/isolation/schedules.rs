//! Hermitage's schedules (Martin Kleppmann, github.com/ept/hermitage) as data: the steps of each session, and
//! the outcome that shows the anomaly.
//!
//! Two rows exist before each: 1 holds 10, 2 holds 20. A predicate is a range of an index on the value. An
//! anomaly counts only if the sessions involved have committed.
//!
//! A schedule may have several variants. One whose session writes to what it had read detects a store whose
//! reads come from a snapshot but whose writes do not; Hermitage's table marks that `R/O`: safe for sessions
//! that only read.

use super::interleaving::ScheduleResult;
use super::interleaving::ScheduleStep::{self, Abort, Add, Commit, Get, Insert, Scan, Set};

/// A schedule.
#[derive(Debug)]
pub(super) struct Schedule {
    /// Hermitage's column.
    pub(super) name: &'static str,
    /// The anomaly's plain name.
    pub(super) what: &'static str,
    /// The variants; the first that shows the anomaly decides.
    pub(super) plays: &'static [Play],
}

/// A variant of a schedule.
#[derive(Debug)]
pub(super) struct Play {
    /// Which kind of session sees the anomaly.
    pub(super) seen_by: SeenBy,
    /// Sessions, counted from 1, and their steps.
    pub(super) steps: &'static [(usize, ScheduleStep)],
    /// True if the anomaly was seen.
    pub(super) shows: fn(&ScheduleResult) -> bool,
}

/// Which kind of session sees an anomaly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SeenBy {
    /// Any session.
    Anybody,
    /// Only a session that also writes to what it had read.
    Writer,
}

impl Schedule {
    /// True if one of its steps needs an index.
    pub(super) fn scans(&self) -> bool {
        let mut steps = self.plays.iter().flat_map(|play| play.steps);
        steps.any(|(_, act)| matches!(act, Scan(..)))
    }
}

/// All schedules, in Hermitage's order.
pub(super) const SCHEDULES: &[Schedule] = &[
    Schedule {
        name: "G0",
        what: "dirty write",
        plays: &[Play {
            seen_by: SeenBy::Anybody,
            steps: &[
                (1, Set(1, 11)),
                (2, Set(1, 12)),
                (1, Set(2, 21)),
                (1, Commit),
                (2, Set(2, 22)),
                (2, Commit),
            ],
            shows: |played| matches!(played.rows(), [(1, 11), (2, 22)] | [(1, 12), (2, 21)]),
        }],
    },
    Schedule {
        name: "G1a",
        what: "aborted read",
        plays: &[Play {
            seen_by: SeenBy::Anybody,
            steps: &[(1, Set(1, 101)), (2, Get(1)), (1, Abort), (2, Get(1)), (2, Commit)],
            shows: |played| played.committed(2) && played.got(2).contains(&101),
        }],
    },
    Schedule {
        name: "G1b",
        what: "intermediate read",
        plays: &[Play {
            seen_by: SeenBy::Anybody,
            steps: &[
                (1, Set(1, 101)),
                (2, Get(1)),
                (1, Set(1, 11)),
                (1, Commit),
                (2, Get(1)),
                (2, Commit),
            ],
            shows: |played| played.committed(2) && played.got(2).contains(&101),
        }],
    },
    Schedule {
        name: "G1c",
        what: "circular information flow",
        plays: &[Play {
            seen_by: SeenBy::Anybody,
            steps: &[
                (1, Set(1, 11)),
                (2, Set(2, 22)),
                (1, Get(2)),
                (2, Get(1)),
                (1, Commit),
                (2, Commit),
            ],
            shows: |played| {
                played.both_committed() && played.got(1) == [22] && played.got(2) == [11]
            },
        }],
    },
    Schedule {
        name: "OTV",
        what: "observed transaction vanishes",
        plays: &[Play {
            seen_by: SeenBy::Anybody,
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
            // After seeing a write of the second, it sees the first's value where the second had written.
            shows: |played| {
                let got = played.got(3);
                let seen = got.iter().position(|value| matches!(value, 12 | 18));
                let vanished =
                    |from: usize| got[from..].iter().any(|value| matches!(value, 11 | 19));
                played.committed(3) && seen.is_some_and(vanished)
            },
        }],
    },
    Schedule {
        name: "PMP",
        what: "predicate-many-preceders",
        plays: &[
            Play {
                seen_by: SeenBy::Anybody,
                steps: &[
                    (1, Scan(30, 30)),
                    (2, Insert(3, 30)),
                    (2, Commit),
                    (1, Scan(30, 30)),
                    (1, Commit),
                ],
                shows: |played| played.both_committed() && played.got(1) == [30],
            },
            Play {
                seen_by: SeenBy::Writer,
                steps: &[
                    (1, Scan(30, 42)),
                    (2, Insert(3, 30)),
                    (2, Commit),
                    (1, Add(3, 1)),
                    (1, Scan(30, 42)),
                    (1, Commit),
                ],
                shows: |played| played.both_committed() && played.got(1) == [31],
            },
        ],
    },
    Schedule {
        name: "P4",
        what: "lost update",
        plays: &[
            Play {
                seen_by: SeenBy::Anybody,
                steps: &[
                    (1, Get(1)),
                    (2, Get(1)),
                    (1, Set(1, 11)),
                    (2, Set(1, 12)),
                    (1, Commit),
                    (2, Commit),
                ],
                // If they ran serially, the later one has seen the earlier.
                shows: |played| played.both_committed() && played.got(1) == played.got(2),
            },
            Play {
                // The same for stores that check only at commit.
                seen_by: SeenBy::Anybody,
                steps: &[
                    (1, Get(1)),
                    (2, Get(1)),
                    (1, Set(1, 11)),
                    (1, Commit),
                    (2, Set(1, 12)),
                    (2, Commit),
                ],
                shows: |played| played.both_committed() && played.got(1) == played.got(2),
            },
        ],
    },
    Schedule {
        name: "G-single",
        what: "read skew",
        plays: &[
            Play {
                seen_by: SeenBy::Anybody,
                steps: &[
                    (1, Get(1)),
                    (2, Set(1, 12)),
                    (2, Set(2, 18)),
                    (2, Commit),
                    (1, Get(2)),
                    (1, Commit),
                ],
                shows: |played| {
                    played.both_committed() && matches!(played.got(1), [10, 18] | [12, 20])
                },
            },
            Play {
                seen_by: SeenBy::Writer,
                steps: &[
                    (1, Get(1)),
                    (2, Set(1, 12)),
                    (2, Set(2, 18)),
                    (2, Commit),
                    (1, Add(2, 1)),
                    (1, Get(2)),
                    (1, Commit),
                ],
                shows: |played| played.both_committed() && played.got(1) == [10, 19],
            },
        ],
    },
    Schedule {
        name: "G2-item",
        what: "write skew",
        plays: &[Play {
            seen_by: SeenBy::Anybody,
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
        }],
    },
    Schedule {
        name: "G2",
        what: "write skew over a predicate",
        plays: &[Play {
            seen_by: SeenBy::Anybody,
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
        }],
    },
];
