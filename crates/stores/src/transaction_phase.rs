//! The phase of a transaction in which a store reported an error.

use syncline_contract::{Failure, FailureKind, Name, OperationId};

/// The phase of a transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TransactionPhase<'a> {
    /// An operation of the plan, by its name.
    Operation(OperationId, &'a Name),
    /// An operation that is its whole transaction, so that its end is a commit.
    WholeTransaction(OperationId, &'a Name),
    /// The start of a transaction, or a setting.
    Begin,
    /// A commit.
    Commit,
    /// A bulk load of a table.
    Load,
}

impl TransactionPhase<'_> {
    /// A failure in this phase: `what` makes a sentence from the name of the phase. Stores name the
    /// start of a transaction differently.
    pub(crate) fn failure(
        self,
        kind: FailureKind,
        begin: &str,
        what: impl Fn(&str) -> String,
    ) -> Failure {
        match self {
            TransactionPhase::Operation(id, name)
            | TransactionPhase::WholeTransaction(id, name) => {
                Failure::new(kind, what(&format!("operation \"{name}\""))).in_operation(id)
            }
            TransactionPhase::Begin => Failure::new(kind, what(begin)),
            TransactionPhase::Commit => Failure::new(kind, what("commit")),
            TransactionPhase::Load => Failure::new(kind, what("load")),
        }
    }
}
