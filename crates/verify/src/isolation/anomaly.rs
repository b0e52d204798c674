//! The anomalies, by Adya's names, and which levels forbid them.

use syncline_contract::Isolation;

/// A kind of anomaly.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Writes of two transactions interleave.
    G0,
    /// A value was read that nobody had appended.
    Unasked,
    /// A value stands in a list more often than it was appended.
    Repeated,
    /// A value of a transaction that failed was read.
    G1a,
    /// A value that its transaction had itself superseded was read.
    G1b,
    /// Transactions depend on each other by what they wrote and read.
    G1c,
    /// Lists of one key that no single order of appends explains.
    IncompatibleOrder,
    /// A transaction does not see what it did or read itself.
    Internal,
    /// Two transactions read the same version of a key and both replaced it.
    LostUpdate,
    /// A cycle with one read of something that was overwritten: read skew.
    GSingle,
    /// A cycle with several such reads, none right after another.
    GNonadjacent,
    /// A cycle with several such reads: write skew.
    G2Item,
}

/// What a cycle needs beyond what transactions wrote and read.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Nothing.
    Plain,
    /// The order of one client's transactions.
    Session,
    /// That one transaction had ended before another was asked for.
    RealTime,
}

impl Kind {
    /// The plain name and the code.
    pub fn words(self) -> &'static str {
        match self {
            Kind::G0 => "dirty write (G0)",
            Kind::Unasked => "a value that nobody appended",
            Kind::Repeated => "a value that was appended once and is there twice",
            Kind::G1a => "aborted read (G1a)",
            Kind::G1b => "intermediate read (G1b)",
            Kind::G1c => "circular information flow (G1c)",
            Kind::IncompatibleOrder => "incompatible order",
            Kind::Internal => "internal inconsistency",
            Kind::LostUpdate => "lost update (P4)",
            Kind::GSingle => "read skew (G-single)",
            Kind::GNonadjacent => "long fork (G-nonadjacent)",
            Kind::G2Item => "write skew (G2-item)",
        }
    }

    /// True if read committed forbids it, and with it every level above.
    fn is_of_read_committed(self) -> bool {
        matches!(
            self,
            Kind::G0 | Kind::Unasked | Kind::Repeated | Kind::G1a | Kind::G1b | Kind::G1c
        )
    }

    /// True if a store of that isolation must not show it.
    pub fn is_forbidden(self, isolation: Isolation, order: Order) -> bool {
        match isolation {
            Isolation::NoneClaimed => false,
            // Neither level promises an order beyond what transactions see of each other.
            _ if order != Order::Plain => false,
            Isolation::ReadCommitted => self.is_of_read_committed(),
            Isolation::RepeatableRead => self.is_of_read_committed() || self == Kind::Internal,
            Isolation::Snapshot => self != Kind::G2Item,
            Isolation::Serializable => true,
        }
    }
}

impl Order {
    /// The words behind an anomaly's name.
    pub fn words(self) -> &'static str {
        match self {
            Order::Plain => "",
            Order::Session => ", by the order of a session",
            Order::RealTime => ", by real time",
        }
    }
}

/// An anomaly that was found, in words.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Anomaly {
    /// Which.
    pub kind: Kind,
    /// What its cycle needs; plain for those that are no cycles.
    pub order: Order,
    /// How often it was found; of cycles, in how many strongly connected components of transactions.
    pub count: usize,
    /// Of these, cycles that go through the window of a commit; see `concurrency_window.rs`.
    #[serde(default)]
    pub in_window: usize,
    /// The smallest example, a sentence each.
    pub example: Vec<String>,
}
