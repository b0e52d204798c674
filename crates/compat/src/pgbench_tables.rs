//! The tables that pgbench's scripts find: the user's own, as in pgbench, or those that `syncline pgbench -i`
//! created in Syncline's own schema.
//!
//! 1. The user's own tables are used as they are; nothing is created next to them or dropped.
//! 2. If both exist, the run is refused, and so is -i if the user's own exist.
//! 3. Without -i nothing is left behind.

use syncline_console::CannotRun;
use syncline_contract::conformance::block_on;
use syncline_contract::{
    AccessPattern, Any, Many, Plan, Protocol, Read, RequestTracker, Session, Several, Stop, Target,
    Transaction, UserView, Value,
};
use syncline_stores::server::redacted_url;

/// pgbench's tables.
pub(super) const TABLES: [&str; 4] =
    ["pgbench_accounts", "pgbench_branches", "pgbench_history", "pgbench_tellers"];

/// Which of those tables the user's own session sees.
pub(super) fn view<T: Target>(target: &T, tables: &[&str]) -> Result<UserView, CannotRun> {
    let tables: Vec<_> = tables.iter().map(|name| (*name).to_owned()).collect();
    block_on(&(), target.user_view(&tables)).map_err(CannotRun::from)
}

/// Refuses to create tables if the user's own exist.
pub(super) fn refuse_if_present(view: &UserView, url: &str) -> Result<(), CannotRun> {
    let Some(table) = view.tables.first() else {
        return Ok(());
    };
    Err(CannotRun(format!(
        "-i would create new tables, but {table} is at {} already; Syncline did not create it and does not \
         drop it: omit -i to use it as it is, or drop it first (pgbench -i -I d)",
        redacted_url(url)
    )))
}

/// The error if both the user's own tables and Syncline's exist.
pub(super) fn refuse_both(view: &UserView, url: &str) -> CannotRun {
    let table = view.tables.first().map_or("", String::as_str);
    CannotRun(format!(
        "{table} is at {0}, and so are tables that `syncline pgbench -i` created: remove Syncline's with \
         `syncline clean --on {0}`, or drop the others",
        redacted_url(url)
    ))
}

/// The error if pgbench's tables do not exist.
pub(super) fn missing(url: &str) -> CannotRun {
    CannotRun(format!(
        "pgbench's tables do not exist at {}: create them with -i first, with the same options",
        redacted_url(url)
    ))
}

/// The scale of the user's own tables, as pgbench reads it: the number of branches.
pub(super) fn scale<T: Target>(target: &T) -> Result<u64, CannotRun> {
    let mut plan = Plan::new();
    plan.protocol = Protocol::Extended;
    if !target.capabilities().protocols {
        plan.protocol = Protocol::Prepared;
    }
    let text = "SELECT count(*) FROM pgbench_branches";
    let count: Read<Many<Any>, Many<Any>> = plan.statement(text, text.to_owned(), 0);
    let part = target.worker()?;
    let counted = async {
        let connected = target.connect(&plan, &part).await;
        let mut session = connected.map_err(|failure| Stop::Failed(Box::new(failure)))?;
        let mut asked = RequestTracker::new(false);
        session.begin(AccessPattern::AsWritten);
        let mut transaction = Transaction::new(&mut session, &mut asked);
        transaction.ask(&count, Several::Values(&[]))?;
        let mut rows = transaction.answers(&count).await?;
        let first = rows.next();
        let branches = match first {
            Some(row) => match row?.get(0) {
                Value::Int(branches) => u64::try_from(branches).ok(),
                _ => None,
            },
            None => None,
        };
        drop(rows);
        session.commit().await?;
        Ok(branches)
    };
    match block_on(&part, counted) {
        Ok(Some(branches)) if branches > 0 => Ok(branches),
        Ok(_) => Err(CannotRun::because(
            "pgbench_branches has no rows, so the scale is unknown: fill pgbench's tables first \
             (pgbench -i)",
        )),
        Err(Stop::Failed(failure) | Stop::Unknown(failure)) => Err(CannotRun::from(*failure)),
        Err(Stop::Abort | Stop::Conflict(_)) => Err(CannotRun::because(
            "the scale could not be read from pgbench_branches because of conflicts with other sessions",
        )),
    }
}
