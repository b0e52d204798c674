//! The reasons why a run has no result. What a store does during a run is a result, not an error.

use std::any::Any;
use syncline_contract::{Failure, FailureKind};

/// The reason why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The plan is invalid.
    #[error("{0}")]
    Plan(String),
    /// The store cannot do what the workload or the plan needs; nothing was touched.
    #[error("{target} cannot run {workload}: {why}")]
    Refused {
        /// The store.
        target: String,
        /// The workload.
        workload: String,
        /// What the store lacks.
        why: String,
    },
    /// The store failed before anything was measured.
    #[error("{target}{}: {source}", failed_while(source, doing))]
    Target {
        /// The store.
        target: String,
        /// The phase.
        doing: &'static str,
        /// The failure that the store reported.
        source: Failure,
    },
    /// The caller requested a stop before anything was measured.
    #[error("stopped while {doing}, before anything was measured{}", waiting(waits_for.as_deref()))]
    Stopped {
        /// The phase.
        doing: &'static str,
        /// What its sessions wait for in the store; `None` if they do not wait, or if the store does not
        /// report it.
        waits_for: Option<String>,
    },
    /// The run ended early, and the tables that it created are still in the store.
    #[error("{error}; the run's tables in the store were not removed: {why}; {REMOVE_BY_HAND}")]
    NotRemoved {
        /// Why the run ended.
        error: Box<Error>,
        /// Why the tables could not be removed.
        why: String,
    },
    /// The free space on a file system of the store fell below its reserve before anything was measured.
    #[error("{target} was stopped while {doing}, before anything was measured: {why}")]
    DiskSpace {
        /// The store.
        target: String,
        /// The phase.
        doing: &'static str,
        /// The free space and the reserve.
        why: String,
    },
    /// The operating system refused a thread or a processor.
    #[error("{what}: {source}")]
    System {
        /// The refused request.
        what: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A bug in a target, a workload or the runner.
    #[error("a worker panicked, which is a bug in a target, a workload or this program: {what}")]
    Panicked {
        /// The panic message.
        what: String,
    },
}

/// The advice for tables that a run has left in its store.
pub(crate) const REMOVE_BY_HAND: &str = "remove them by hand, or with syncline clean";

fn waiting(what: Option<&str>) -> String {
    what.map_or_else(String::new, |what| format!(": {what}"))
}

/// The phase in which a store failed. Omitted for a statement that the store refused, because the phase
/// does not matter there.
fn failed_while(source: &Failure, doing: &str) -> String {
    if source.kind == FailureKind::Statement {
        return String::new();
    }
    format!(" failed while {doing}")
}

impl Error {
    /// Converts the payload of a panicked thread.
    pub(crate) fn panicked(payload: &(dyn Any + Send)) -> Error {
        let what = payload
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| payload.downcast_ref::<&str>().map(|&text| text.to_owned()))
            .unwrap_or_else(|| "the panic has no message".to_owned());
        Error::Panicked { what }
    }
}

#[cfg(test)]
mod tests {
    use super::Error;
    use syncline_contract::{Failure, FailureKind};

    /// f25: a wrong statement is not a failure of the store.
    #[test]
    fn a_refused_statement_is_not_reported_as_a_store_failure() {
        let message = |kind| {
            let source = Failure::new(kind, "syntax error at \";\"");
            let (target, doing) = ("postgres".to_owned(), "its tables were created");
            Error::Target { target, doing, source }.to_string()
        };
        assert_eq!(message(FailureKind::Statement), "postgres: syntax error at \";\"");
        assert_eq!(
            message(FailureKind::Storage),
            "postgres failed while its tables were created: syntax error at \";\""
        );
    }
}
