//! The actions of a target for a plan, known before they are performed: for `--dry-run`, and for the
//! statements in a record.
//!
//! Texts are in the store's own language, as they would be sent. A target with an API describes its calls in
//! words, or lists none. No text contains a password.

use crate::schema::Name;

/// The actions of a target for a plan and a number of clients. Computing it touches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DryRunPlan {
    /// The statements that create the tables, in order.
    pub makes: Vec<String>,
    /// The statements of each operation in the plan.
    pub operations: Vec<PlannedOperation>,
    /// The statements that begin and end a transaction: "BEGIN ISOLATION LEVEL SERIALIZABLE", "COMMIT".
    pub transactions: Vec<String>,
    /// The settings for its own sessions; never settings of the server.
    pub settings: Vec<String>,
    /// The number of concurrent connections, including those not used by clients; none for an embedded store.
    pub connections: Option<usize>,
    /// The statements that remove everything again.
    pub removes: Vec<String>,
}

/// The statements of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedOperation {
    /// Its name in the plan.
    pub name: Name,
    /// One statement, or several in sequence.
    pub statements: Vec<String>,
}
