//! Why a run has no result. What a store does during a run is a result, not an error.

use std::any::Any;
use syncline_contract::{Failure, FailureKind};

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The plan makes no sense.
    #[error("{0}")]
    Plan(String),
    /// The store cannot do what the workload or the plan needs; nothing was touched.
    #[error("{target} cannot run {workload}: {why}")]
    Refused {
        /// The store.
        target: String,
        /// The workload.
        workload: String,
        /// What it lacks.
        why: String,
    },
    /// The store failed before anything was measured.
    #[error("{target}{}: {source}", failed_while(source, doing))]
    Target {
        /// The store.
        target: String,
        /// The phase.
        doing: &'static str,
        /// What the store said.
        source: Failure,
    },
    /// It was asked to stop before anything was measured.
    #[error("stopped while {doing}, before anything was measured{}", waiting(waits_for.as_deref()))]
    Stopped {
        /// The phase.
        doing: &'static str,
        /// What its sessions wait for in the store; none if they do not wait, or the store does not say.
        waits_for: Option<String>,
    },
    /// The run ended early, and what it made in the store is still there.
    #[error("{error}; what the run made in the store was not removed: {why}; {REMOVE_BY_HAND}")]
    NotRemoved {
        /// Why it ended.
        error: Box<Error>,
        /// Why it could not be removed.
        why: String,
    },
    /// A file system of the store came to its reserve before anything was measured.
    #[error("{target} was stopped while {doing}, before anything was measured: {why}")]
    DiskSpace {
        /// The store.
        target: String,
        /// The phase.
        doing: &'static str,
        /// What is free, and what the reserve is.
        why: String,
    },
    /// The operating system refused a thread or a processor.
    #[error("{what}: {source}")]
    System {
        /// What was asked of it.
        what: String,
        /// Its answer.
        source: std::io::Error,
    },
    /// A bug in a target, a workload or the runner.
    #[error("a worker panicked, which is a bug in a target, a workload or this program: {what}")]
    Panicked {
        /// What it said.
        what: String,
    },
}

/// What to do about what a run has left in its store.
pub(crate) const REMOVE_BY_HAND: &str = "remove it by hand, or with syncline clean";

fn waiting(what: Option<&str>) -> String {
    what.map_or_else(String::new, |what| format!(": {what}"))
}

/// What a store was doing when it failed; of a statement that it refused that is no matter.
fn failed_while(source: &Failure, doing: &str) -> String {
    if source.kind == FailureKind::Statement {
        return String::new();
    }
    format!(" failed while {doing}")
}

impl Error {
    /// From what a panicked thread left behind.
    pub(crate) fn panicked(payload: &(dyn Any + Send)) -> Error {
        let what = payload
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| payload.downcast_ref::<&str>().map(|&text| text.to_owned()))
            .unwrap_or_else(|| "it gave no message".to_owned());
        Error::Panicked { what }
    }
}

#[cfg(test)]
mod tests {
    use super::Error;
    use syncline_contract::{Failure, FailureKind};

    /// f25: a statement that is wrong is no failure of the store.
    #[test]
    fn only_what_the_store_does_wrong_is_its_failure() {
        let said = |kind| {
            let source = Failure::new(kind, "syntax error at \";\"");
            let (target, doing) = ("postgres".to_owned(), "its tables were made");
            Error::Target { target, doing, source }.to_string()
        };
        assert_eq!(said(FailureKind::Statement), "postgres: syntax error at \";\"");
        assert_eq!(
            said(FailureKind::Storage),
            "postgres failed while its tables were made: syntax error at \";\""
        );
    }
}
