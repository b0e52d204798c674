//! Detects a pooler between this program and the server, and whether a session keeps its server
//! connection.
//!
//! A pooler in transaction mode (`PgBouncer`, Odyssey, pgcat, RDS Proxy) hands a server connection to
//! another client after each transaction. A `SET` or a prepared statement of this program would stay on
//! a connection that the application gets next: its search path would name the managed schema, and its
//! commits might not be durable. So this check runs before anything is set, and such a pooler is
//! refused.
//!
//! 1. A server names its session's process at log-in (`BackendKeyData`), and `pg_backend_pid()` returns
//!    the same number. A pooler makes up the first, so the numbers differ.
//! 2. Behind a pooler, two simultaneous sessions reveal its mode: in session mode each keeps a process
//!    of its own; in transaction mode an idle session's process serves the other one, or the session
//!    returns to another process. In statement mode the pooler refuses a transaction.
//! 3. The check sets nothing, and its transactions only read.

use super::control::Control;
use super::protocol::ServerLocation;
use syncline_contract::{Failure, FailureKind, TargetResult};

/// How often the two sessions are compared: a large pool may by chance look like session mode once.
const ROUNDS: usize = 3;

const PROCESS: &str = "SELECT pg_catalog.pg_backend_pid()";

/// Refuses a pooler whose sessions do not keep their server connection.
pub(super) async fn refuse(place: &ServerLocation, first: &mut Control) -> TargetResult<()> {
    let (Some(named), Some(mut own)) = (first.process_at_login(), first.number(PROCESS).await?)
    else {
        return Ok(());
    };
    if named == own {
        return Ok(());
    }
    for _ in 0..ROUNDS {
        let mut second = Control::open(place).await?;
        if second.try_rows("BEGIN").await?.is_err() {
            return Err(refusal(place));
        }
        let other = second.number(PROCESS).await?;
        let again = first.number(PROCESS).await?;
        if !keeps_its_process(own, again, other) {
            return Err(refusal(place));
        }
        own = again.unwrap_or(own);
    }
    Ok(())
}

/// True if a session that `own` served is served by it `again`, while another session has a process
/// `other`.
fn keeps_its_process(own: u64, again: Option<u64>, other: Option<u64>) -> bool {
    again == Some(own) && other.is_some_and(|other| other != own)
}

fn refusal(place: &ServerLocation) -> Failure {
    let what = format!(
        "{} is a pooler in transaction mode, such as PgBouncer with pool_mode=transaction: settings and \
         prepared statements of a run would stay on connections that the application gets next; name the \
         server's own port, or a pool with pool_mode=session",
        place.address
    );
    Failure::new(FailureKind::Limit, what)
}

#[cfg(test)]
mod tests {
    use super::keeps_its_process;

    // B.F1
    #[test]
    fn a_session_without_a_process_of_its_own_is_behind_a_transaction_pooler() {
        assert!(keeps_its_process(10, Some(10), Some(11)));
        assert!(!keeps_its_process(10, Some(11), Some(10)), "exchanged");
        assert!(!keeps_its_process(10, Some(11), Some(12)), "another one");
        assert!(!keeps_its_process(10, Some(10), Some(10)), "shared");
        assert!(!keeps_its_process(10, None, Some(11)), "not known");
    }
}
