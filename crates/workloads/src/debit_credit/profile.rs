//! The profiles as data: the differences between the sources' variants of debit-credit.

use std::ops::RangeInclusive;
use syncline_contract::words;

words! {
    /// The source of the variant.
    pub enum Profile {
        /// Derived from TPC-B: a batch, without terminals.
        Tpcb = "tpcb",
        /// Derived from TPC-A: terminals that think, or arrivals at a rate.
        Tpca = "tpca",
        /// pgbench's built-in `tpcb-like`.
        Pgbench = "pgbench",
        /// pgbench's built-in `simple-update`.
        PgbenchSimpleUpdate = "pgbench-simple-update",
        /// pgbench's built-in `select-only`.
        PgbenchSelectOnly = "pgbench-select-only",
        /// Derby's bank load.
        Derby = "derby",
        /// Berkeley DB's `ex_tpcb`.
        Berkeley = "berkeley",
    }
}

/// The steps of a transaction, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Steps {
    /// Account, history, teller, branch; then the account's balance is read.
    Standard,
    /// Account, its balance, teller, branch, history.
    Pgbench,
    /// Account, its balance, history.
    SimpleUpdate,
    /// An account's balance.
    SelectOnly,
    /// Account, branch, teller, history.
    Berkeley,
}

impl Steps {
    /// True if each statement waits for the answer to the previous one, as in pgbench.
    pub(super) fn wait_for_each(self) -> bool {
        match self {
            Steps::Pgbench | Steps::SimpleUpdate | Steps::SelectOnly => true,
            Steps::Standard | Steps::Berkeley => false,
        }
    }
}

/// The filler of a loaded row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filler {
    /// Random letters, which stores cannot compress.
    Letters,
    /// Blanks in accounts, null in other tables.
    Blanks,
}

/// The rules of a profile; see the table of `mod.rs`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) steps: Steps,
    /// True if the branch is the teller's and 85 % of the accounts belong to it.
    pub(super) at_home: bool,
    pub(super) deltas: RangeInclusive<i64>,
    pub(super) filler: Filler,
    pub(super) first_id: i64,
    pub(super) opening_balance: i64,
    /// Size of a history row's filler.
    pub(super) history_filler_bytes: usize,
    /// True if a history row has a time.
    pub(super) timed: bool,
    /// True if the standards' rules for scale and response time apply.
    pub(super) judged: bool,
    /// Mean think time in a closed loop, in seconds.
    pub(super) think_s: u64,
}

/// The rules that most profiles share.
const STANDARD: Rules = Rules {
    steps: Steps::Standard,
    at_home: true,
    deltas: -999_999..=999_999,
    filler: Filler::Letters,
    first_id: 1,
    opening_balance: 0,
    history_filler_bytes: 22,
    timed: true,
    judged: true,
    think_s: 0,
};

const PGBENCH: Rules = Rules {
    steps: Steps::Pgbench,
    at_home: false,
    deltas: -5_000..=5_000,
    filler: Filler::Blanks,
    judged: false,
    ..STANDARD
};

static TPCB: Rules = STANDARD;

static TPCA: Rules = Rules { think_s: 10, ..STANDARD };

static PGBENCH_TPCB_LIKE: Rules = PGBENCH;

static PGBENCH_SIMPLE_UPDATE: Rules = Rules { steps: Steps::SimpleUpdate, ..PGBENCH };

static PGBENCH_SELECT_ONLY: Rules = Rules { steps: Steps::SelectOnly, ..PGBENCH };

static DERBY: Rules = Rules { deltas: -99_999..=99_999, first_id: 0, judged: false, ..STANDARD };

static BERKELEY: Rules = Rules {
    steps: Steps::Berkeley,
    at_home: false,
    deltas: 10..=10,
    opening_balance: 500_000,
    history_filler_bytes: 84,
    timed: false,
    judged: false,
    ..STANDARD
};

impl Profile {
    /// Its rules.
    pub(super) fn rules(self) -> &'static Rules {
        match self {
            Profile::Tpcb => &TPCB,
            Profile::Tpca => &TPCA,
            Profile::Pgbench => &PGBENCH_TPCB_LIKE,
            Profile::PgbenchSimpleUpdate => &PGBENCH_SIMPLE_UPDATE,
            Profile::PgbenchSelectOnly => &PGBENCH_SELECT_ONLY,
            Profile::Derby => &DERBY,
            Profile::Berkeley => &BERKELEY,
        }
    }
}

impl Steps {
    /// True if a teller and a branch are changed too.
    pub(super) fn reach_branch(self) -> bool {
        self.parts() == 3
    }

    /// How many of accounts, tellers and branch are changed.
    pub(super) fn parts(self) -> usize {
        match self {
            Steps::Standard | Steps::Pgbench | Steps::Berkeley => 3,
            Steps::SimpleUpdate => 1,
            Steps::SelectOnly => 0,
        }
    }

    /// True if anything is changed.
    pub(super) fn write(self) -> bool {
        self.parts() > 0
    }
}
