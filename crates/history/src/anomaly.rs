//! The anomalies, under Adya's names, and the levels that forbid them.

use syncline_contract::Isolation;

/// A kind of anomaly.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Writes of two transactions interleave.
    G0,
    /// A value was read that no transaction had appended.
    Unasked,
    /// A value appears in a list more often than it was appended.
    Repeated,
    /// A value of a failed transaction was read.
    G1a,
    /// A value was read that its own transaction had superseded.
    G1b,
    /// Transactions depend on each other through their writes and reads.
    G1c,
    /// No single order of appends explains the lists read of a key.
    IncompatibleOrder,
    /// A transaction does not see its own writes or earlier reads.
    Internal,
    /// Two transactions read the same version of a key and both replaced it.
    LostUpdate,
    /// A cycle with one read of an overwritten value: read skew.
    GSingle,
    /// A cycle with several such reads, no two adjacent.
    GNonadjacent,
    /// A cycle with several such reads: write skew.
    G2Item,
}

/// The order that a cycle needs in addition to the dependencies through writes and reads.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// None.
    Plain,
    /// The order of one client's transactions.
    Session,
    /// A transaction had ended before another was requested.
    RealTime,
}

impl Kind {
    /// The plain name and the code.
    pub fn words(self) -> &'static str {
        match self {
            Kind::G0 => "dirty write (G0)",
            Kind::Unasked => "a value that was never appended",
            Kind::Repeated => "a value that was appended once and appears twice",
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

    /// True if read committed, and so every higher level, forbids it.
    fn is_of_read_committed(self) -> bool {
        matches!(
            self,
            Kind::G0 | Kind::Unasked | Kind::Repeated | Kind::G1a | Kind::G1b | Kind::G1c
        )
    }

    /// True if a store with this isolation must not show the anomaly.
    pub fn is_forbidden(self, isolation: Isolation, order: Order) -> bool {
        match isolation {
            Isolation::NoneClaimed => false,
            // No level promises an order beyond what transactions see of each other.
            _ if order != Order::Plain => false,
            Isolation::ReadCommitted => self.is_of_read_committed(),
            Isolation::RepeatableRead => self.is_of_read_committed() || self == Kind::Internal,
            Isolation::Snapshot => self != Kind::G2Item,
            Isolation::Serializable => true,
        }
    }
}

impl Order {
    /// The suffix for an anomaly's name.
    pub fn words(self) -> &'static str {
        match self {
            Order::Plain => "",
            Order::Session => ", by the order of a session",
            Order::RealTime => ", by real time",
        }
    }
}

/// An anomaly found in a history.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Anomaly {
    /// The kind.
    pub kind: Kind,
    /// The order that its cycle needs; plain for anomalies that are not cycles.
    pub order: Order,
    /// How often it was found; for cycles, the number of strongly connected components of transactions.
    pub count: usize,
    /// Of these, cycles that go through the commit window; see `concurrency_window.rs`.
    #[serde(default)]
    pub in_window: usize,
    /// The smallest example, one sentence per line.
    pub example: Vec<String>,
}
