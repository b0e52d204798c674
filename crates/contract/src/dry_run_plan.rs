//! What a target would do for a plan, said before it is done: `--dry-run`, and what a record keeps of
//! the statements.
//!
//! Texts are in the store's own language, as it would be sent; a target of calls says its calls in
//! words, or nothing. No text holds a password.

use crate::schema::Name;

/// What a target would do for a plan and a number of clients. Nothing is touched to find it out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DryRunPlan {
    /// What makes the tables, in order.
    pub makes: Vec<String>,
    /// What each operation of the plan sends.
    pub operations: Vec<PlannedOperation>,
    /// What begins and ends a transaction: "BEGIN ISOLATION LEVEL SERIALIZABLE", "COMMIT".
    pub transactions: Vec<String>,
    /// What it would set on its own sessions; never anything of the server's.
    pub settings: Vec<String>,
    /// Connections at the same time, those beside the clients' included; none for a store in this
    /// process.
    pub connections: Option<usize>,
    /// What removes everything again.
    pub removes: Vec<String>,
}

/// What one operation sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedOperation {
    /// Its name in the plan.
    pub name: Name,
    /// One statement, or a few that follow one another.
    pub statements: Vec<String>,
}
