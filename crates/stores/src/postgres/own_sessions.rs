//! Sessions of this program on a database: those of runs in progress, and those that ended programs
//! have left.
//!
//! A server notices that a client has gone when it next reads from it. A session that waits for a
//! synchronous standby or for a lock does not read: it outlives its program and keeps its locks.
//!
//! 1. A session is ended only if its program is known to have ended ([`Opener::Ended`]) and it belongs
//!    to the role that cleans.
//! 2. All others are named in the error, with what to do, and the schemas that they may use are left
//!    alone.

use super::control::Control;
use crate::server::{FAREWELL_LOOKS, Opener, PROGRAM};
use syncline_contract::{Failure, FailureKind, TargetResult};

/// Checks before sessions are terminated: most end by themselves, and the server logs each termination.
const CHECKS_BEFORE: usize = 4;
/// Checks after the termination, while the server ends them.
const CHECKS_AFTER: usize = 40;
/// The most sessions that a refusal names.
const NAMED_MAX: usize = 5;

/// The SQL condition that selects sessions of this program, by their name.
pub(super) fn is_own() -> String {
    format!("split_part(application_name, ' ', 1) = '{PROGRAM}'")
}

/// A session of this program other than the one that asks.
#[derive(Debug)]
struct OwnSession {
    /// Its backend process.
    process: String,
    role: String,
    of_own_role: bool,
    opener: Opener,
    /// What it does, as the end of a sentence.
    doing: String,
}

impl OwnSession {
    fn is_abandoned(&self) -> bool {
        self.of_own_role && self.opener == Opener::Ended
    }

    /// Its description in an error.
    fn described(&self) -> String {
        let OwnSession { process, role, doing, .. } = self;
        let whose = match self.opener {
            Opener::Runs(program) => {
                format!("of process {program} on this machine, which is running: end that program")
            }
            Opener::Ended => format!(
                "of a program that has ended: as role {role}, run SELECT pg_terminate_backend({process})"
            ),
            Opener::Unknown => format!(
                "of a program that is not on this machine: if it has ended, run SELECT pg_terminate_backend({process})"
            ),
        };
        format!("session {process} of role {role}, {doing}, is {whose}")
    }
}

async fn others(control: &mut Control) -> TargetResult<Vec<OwnSession>> {
    let asked = format!(
        "SELECT pid, usename, usename = current_user, application_name, coalesce(state, ''), \
         coalesce(wait_event, '') FROM pg_stat_activity WHERE {} AND pid <> pg_backend_pid() AND datname = \
         current_database() ORDER BY pid",
        is_own()
    );
    let rows = control.rows(&asked).await?;
    let sessions = rows.into_iter().map(|row| {
        let mut cells = row.into_iter().map(Option::unwrap_or_default);
        let mut cell = || cells.next().unwrap_or_default();
        let (process, role, of_own_role, name) = (cell(), cell(), cell() == "t", cell());
        OwnSession {
            process,
            role,
            of_own_role,
            opener: Opener::of(&name),
            doing: doing(&cell(), &cell()),
        }
    });
    Ok(sessions.collect())
}

/// What a session in that state, with that wait event, does.
fn doing(state: &str, wait: &str) -> String {
    match (state, wait) {
        ("active", "SyncRep") => "which waits in SyncRep for a synchronous standby".to_owned(),
        ("active", "") => "which is active".to_owned(),
        ("active", wait) => format!("which waits in {wait}"),
        ("", _) => "whose state is hidden from this role".to_owned(),
        (state, _) => format!("which is {state}"),
    }
}

/// True if other sessions of this program stay open on this database even after those whose clients
/// have gone had time to end.
pub(super) async fn is_used(control: &mut Control) -> TargetResult<bool> {
    for _ in 0..FAREWELL_LOOKS {
        if others(control).await?.is_empty() {
            return Ok(false);
        }
        pause(control).await?;
    }
    Ok(true)
}

/// Refuses to remove a schema that a run in progress may use. Terminates the sessions of programs that
/// have ended and returns their descriptions.
pub(super) async fn refuse_use(control: &mut Control) -> TargetResult<Vec<String>> {
    let mut ended = Vec::new();
    let mut checks = 0..FAREWELL_LOOKS;
    let mut sessions = others(control).await?;
    while !sessions.is_empty() && checks.next().is_some() {
        if checks.start == CHECKS_BEFORE {
            for session in sessions.iter().filter(|session| session.is_abandoned()) {
                let OwnSession { process, doing, .. } = session;
                let end = format!("SELECT pg_terminate_backend({process})");
                control.rows(&end).await?;
                checks.end = FAREWELL_LOOKS + CHECKS_AFTER;
                ended.push(format!("session {process} of a program that has ended, {doing}"));
            }
        }
        pause(control).await?;
        sessions = others(control).await?;
    }
    if sessions.is_empty() {
        return Ok(ended);
    }
    let named: Vec<_> = sessions.iter().take(NAMED_MAX).map(OwnSession::described).collect();
    let more = sessions.len().saturating_sub(NAMED_MAX);
    let more = match more {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let what = format!(
        "a run of syncline is in progress on that database; end it first: {}{more}",
        named.join("; ")
    );
    Err(Failure::new(FailureKind::Limit, what))
}

async fn pause(control: &mut Control) -> TargetResult<()> {
    control.rows("SELECT pg_sleep(0.05)").await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::{Opener, OwnSession, doing};

    // B.F6
    #[test]
    fn a_refusal_names_each_sessions_wait_and_the_remedy() {
        let session = |opener, of_own_role| OwnSession {
            process: "77".to_owned(),
            role: "app".to_owned(),
            of_own_role,
            opener,
            doing: doing("active", "SyncRep"),
        };
        let runs = session(Opener::Runs(5), true);
        let (unknown, dead) = (session(Opener::Unknown, true), session(Opener::Ended, false));
        for (session, words) in [
            (&runs, "of process 5 on this machine, which is running: end that program"),
            (
                &unknown,
                "is not on this machine: if it has ended, run SELECT pg_terminate_backend(77)",
            ),
            (&dead, "as role app, run SELECT pg_terminate_backend(77)"),
        ] {
            let text = session.described();
            assert!(text.contains(words) && text.contains("SyncRep"), "{text}");
            assert!(!session.is_abandoned());
        }
        assert!(session(Opener::Ended, true).is_abandoned());
        assert_eq!(doing("idle in transaction", "ClientRead"), "which is idle in transaction");
    }
}
