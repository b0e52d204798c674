//! Maps Java's exceptions to stops: conflicts by cause, failures by kind.
//!
//! The SQLSTATE usually decides; products that use it differently, or have a more specific error
//! number, have their own table, which is searched first (`product/`).

use super::jvm::Thrown;
use super::product::Product;
use crate::transaction_phase::TransactionPhase;
use syncline_contract::{Cause, Failure, FailureKind, Stop};

/// A SQLSTATE, an error number if it matters, and the cause.
pub(super) type Conflict = (&'static str, Option<i32>, Cause);

/// Conflicts by the standard, and by the states of products without a table of their own.
const CONFLICTS: [Conflict; 9] = [
    ("40P01", None, Cause::Deadlock),
    ("40001", Some(1205), Cause::Deadlock),      // SQL Server
    ("40001", Some(-911), Cause::Deadlock),      // Db2, time-out or deadlock
    ("61000", Some(60), Cause::Deadlock),        // Oracle
    ("72000", Some(8177), Cause::Serialization), // Oracle
    ("55P03", None, Cause::Locked),              // PostgreSQL, by NOWAIT or lock_timeout
    ("HYT00", None, Cause::Locked),
    ("HYT01", None, Cause::Locked),
    ("40001", None, Cause::Serialization),
];

/// How an exception stops a transaction.
#[cold]
pub(super) fn stop(thrown: &Thrown, during: TransactionPhase<'_>, product: &Product) -> Stop {
    if let Some(cause) = conflict(thrown, product) {
        return Stop::Conflict(cause);
    }
    let failure = failure(thrown, during, product);
    let commits = matches!(
        during,
        TransactionPhase::Commit | TransactionPhase::WholeTransaction(..) | TransactionPhase::Load
    );
    let lost = matches!(
        failure.kind,
        FailureKind::Connection | FailureKind::Storage | FailureKind::DiskFull
    );
    // A commit whose answer was lost may have been executed.
    if commits && lost { Stop::Unknown(Box::new(failure)) } else { failure.into() }
}

/// A failure outside of transactions.
pub(super) fn outside(thrown: &Thrown, doing: &str, product: &Product) -> Failure {
    let what = format!("{} could not {doing}: {thrown}", product.name);
    Failure::new(kind(thrown), what)
}

/// True if a row with that key exists already.
pub(super) fn is_duplicate(thrown: &Thrown) -> bool {
    thrown.state.starts_with("23505") || (thrown.state == "23000" && thrown.code == 1062)
}

fn failure(thrown: &Thrown, during: TransactionPhase<'_>, product: &Product) -> Failure {
    let kind = kind(thrown);
    let name = product.name;
    let what = |doing: &str| match kind {
        FailureKind::DiskFull => format!("no space is left for {name} ({doing}: {thrown})"),
        FailureKind::Storage => format!("{name} could not read or write ({doing}: {thrown})"),
        FailureKind::Connection => {
            format!("the connection to {name} was lost ({doing}: {thrown})")
        }
        _ => format!("{name} refused {doing}: {thrown}"),
    };
    during.failure(kind, "begin", what)
}

fn conflict(thrown: &Thrown, product: &Product) -> Option<Cause> {
    let is = |(state, code, _): &&Conflict| {
        thrown.state == *state && code.is_none_or(|code| code == thrown.code)
    };
    let known = product.conflicts.iter().chain(&CONFLICTS);
    let known = known.clone().find(is).map(|(_, _, cause)| *cause);
    // Any other error that rolls a transaction back may be retried; with 40003 its outcome is unknown.
    let class = thrown.state.starts_with("40") && thrown.state != "40003";
    let derby_closed = thrown.state.starts_with("40XD") || thrown.state.starts_with("40XT");
    known.or((class && !derby_closed).then_some(Cause::Serialization))
}

fn kind(thrown: &Thrown) -> FailureKind {
    let state = thrown.state.as_str();
    let says = |words: &str| thrown.message.contains(words);
    if state == "53100" || says("No space left on device") {
        return FailureKind::DiskFull;
    }
    let starts = |with: &[&str]| with.iter().any(|class| state.starts_with(class));
    if starts(&["08", "57P0", "40003"]) || state == "XJ015" {
        FailureKind::Connection
    } else if starts(&["58", "XX0", "XSL", "XSD", "XSC", "XSR", "XB", "40XD", "40XT"]) {
        FailureKind::Storage
    } else if starts(&["53", "54"]) || says("OutOfMemoryError") {
        FailureKind::Limit
    } else {
        FailureKind::Statement
    }
}

#[cfg(test)]
mod tests {
    use super::{is_duplicate, stop};
    use crate::jdbc::jvm::Thrown;
    use crate::jdbc::product::{DERBY, H2, MARIADB, OTHER, POSTGRES, Product};
    use crate::transaction_phase::TransactionPhase;
    use syncline_contract::{Cause, FailureKind, Stop};

    fn thrown(state: &str, code: i32) -> Thrown {
        Thrown { state: state.to_owned(), code, message: "so it is".to_owned() }
    }

    fn of(product: &Product, state: &str, code: i32) -> Stop {
        stop(&thrown(state, code), TransactionPhase::Begin, product)
    }

    #[test]
    fn conflict_codes_map_to_their_cause() {
        for (product, state, code, expected) in [
            (&DERBY, "40001", 30_000, Cause::Deadlock),
            (&DERBY, "40XL1", 30_000, Cause::Locked),
            (&DERBY, "40XL2", 30_000, Cause::Locked),
            (&H2, "40001", 40_001, Cause::Deadlock),
            (&H2, "HYT00", 50_200, Cause::Locked),
            (&H2, "90131", 90_131, Cause::Serialization),
            (&POSTGRES, "40001", 0, Cause::Serialization),
            (&POSTGRES, "40P01", 0, Cause::Deadlock),
            (&MARIADB, "40001", 1213, Cause::Deadlock),
            (&MARIADB, "HY000", 1205, Cause::Locked),
            (&MARIADB, "HY000", 1020, Cause::Serialization),
            (&OTHER, "HYT00", 0, Cause::Locked),
            (&OTHER, "61000", 60, Cause::Deadlock),
            (&OTHER, "40002", 0, Cause::Serialization),
        ] {
            let got = of(product, state, code);
            let name = product.name;
            assert!(
                matches!(got, Stop::Conflict(cause) if cause == expected),
                "{name} {state} {code}: {got:?}"
            );
        }
    }

    #[test]
    fn failure_codes_map_to_their_kind() {
        for (state, expected) in [
            ("08006", FailureKind::Connection),
            ("57P01", FailureKind::Connection),
            ("53100", FailureKind::DiskFull),
            ("53300", FailureKind::Limit),
            ("58030", FailureKind::Storage),
            ("XSLA1", FailureKind::Storage),
            ("40XD0", FailureKind::Storage),
            ("23505", FailureKind::Statement),
            ("", FailureKind::Statement),
        ] {
            let Stop::Failed(failure) = of(&OTHER, state, 0) else {
                panic!("{state} fails");
            };
            assert_eq!(failure.kind, expected, "{state}");
        }
        assert!(is_duplicate(&thrown("23505", 0)) && is_duplicate(&thrown("23000", 1062)));
        assert!(!is_duplicate(&thrown("23503", 0)));
    }

    #[test]
    fn a_commit_whose_connection_is_lost_is_unknown() {
        let lost = stop(&thrown("08006", 0), TransactionPhase::Commit, &POSTGRES);
        assert!(matches!(lost, Stop::Unknown(failure) if failure.what.contains("was lost")));
        let refused = stop(&thrown("23505", 0), TransactionPhase::Commit, &POSTGRES);
        assert!(matches!(refused, Stop::Failed(_)));
    }
}
