//! Sessions of a run that did not end: what they wait for, and their end before a removal.
//!
//! A commit that waits for a synchronous standby waits for ever once the standby is gone, and keeps its
//! locks:
//! the removal of its schema would wait for it. Its client has left, so nobody reads its answer.
//!
//! Only processes that this run's own sessions were given at log-in are ended, and only those that still bear
//! our name as this role on this database: the number of one that has ended may belong to another by now.

use super::control::Control;
use super::own_sessions::is_own;
use syncline_contract::TargetResult;

/// How often the end of the ended sessions is looked for.
const LOOKS: u32 = 40;

/// The condition of a session of ours among those processes.
fn ours(processes: &[u64]) -> String {
    let numbers: Vec<String> = processes.iter().map(u64::to_string).collect();
    format!(
        "pid IN ({}) AND pid <> pg_backend_pid() AND {} AND usename = current_user AND datname = \
         current_database()",
        numbers.join(", "),
        is_own()
    )
}

/// What sessions of ours wait for, by the server's word; none if no session waits inside a statement.
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
        ours(processes)
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

/// Ends the sessions of this run that their clients have left behind, and waits until they are gone.
pub(super) async fn end_abandoned(control: &mut Control, processes: &[u64]) -> TargetResult<()> {
    if processes.is_empty() {
        return Ok(());
    }
    let ours = ours(processes);
    // What goes by itself needs no end: the server logs one that it was told to make.
    let waits = format!("SELECT count(*) FROM pg_stat_activity WHERE {ours} AND state <> 'idle'");
    let end = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {ours} AND state <> 'idle'"
    );
    for look in 0..LOOKS {
        if control.number(&waits).await? == Some(0) {
            return Ok(());
        }
        if look == 2 {
            control.rows(&end).await?;
        }
        control.rows("SELECT pg_sleep(0.05)").await?;
    }
    Ok(())
}
