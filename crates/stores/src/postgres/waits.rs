//! Sessions of a run that did not end: what they wait for, and their termination before a removal.
//!
//! A commit that waits for a synchronous standby waits for ever once the standby is gone, and keeps its
//! locks, so the removal of its schema would wait for it. Its client has left, so its answer has no
//! reader.
//!
//! Only backends that this run's own sessions got at log-in are terminated, and only if they still have
//! our session name, this role and this database: the number of an ended process may belong to another
//! one by now.

use super::control::Control;
use super::own_sessions::is_own;
use syncline_contract::TargetResult;

/// How often to check that the terminated sessions have ended.
const CHECKS: u32 = 40;

/// The SQL condition for this run's sessions among those processes.
fn own_condition(processes: &[u64]) -> String {
    let numbers: Vec<String> = processes.iter().map(u64::to_string).collect();
    format!(
        "pid IN ({}) AND pid <> pg_backend_pid() AND {} AND usename = current_user AND datname = \
         current_database()",
        numbers.join(", "),
        is_own()
    )
}

/// What this run's sessions wait for, as the server reports it; `None` if no session waits inside a
/// statement.
pub(super) async fn described(
    control: &mut Control,
    processes: &[u64],
) -> TargetResult<Option<String>> {
    if processes.is_empty() {
        return Ok(None);
    }
    let waiting = format!(
        "SELECT wait_event, count(*) FROM pg_stat_activity WHERE {} AND state = 'active' AND wait_event IS NOT \
         NULL GROUP BY wait_event ORDER BY 2 DESC",
        own_condition(processes)
    );
    let rows = control.rows(&waiting).await?;
    let mut parts = Vec::new();
    for row in rows {
        let mut cells = row.into_iter().map(Option::unwrap_or_default);
        let (event, count) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        let of = if count == "1" { "session waits" } else { "sessions wait" };
        parts.push(match event.as_str() {
            "SyncRep" => format!(
                "{count} {of} in SyncRep, for a synchronous standby that does not confirm the commit"
            ),
            _ => format!("{count} {of} in {event}"),
        });
    }
    Ok((!parts.is_empty()).then(|| parts.join(", ")))
}

/// Terminates this run's sessions whose clients have gone, and waits until they have ended.
pub(super) async fn end_abandoned(control: &mut Control, processes: &[u64]) -> TargetResult<()> {
    if processes.is_empty() {
        return Ok(());
    }
    let own_condition = own_condition(processes);
    // Most sessions end by themselves, and the server logs each termination.
    let waits =
        format!("SELECT count(*) FROM pg_stat_activity WHERE {own_condition} AND state <> 'idle'");
    let end = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {own_condition} AND state <> 'idle'"
    );
    for check in 0..CHECKS {
        if control.number(&waits).await? == Some(0) {
            return Ok(());
        }
        if check == 2 {
            control.rows(&end).await?;
        }
        control.rows("SELECT pg_sleep(0.05)").await?;
    }
    Ok(())
}
