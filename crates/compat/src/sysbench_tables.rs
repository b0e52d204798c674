//! The tables that sysbench's tests find, who made them, and how many rows were prepared.

use syncline_benchmark::Benchmark;
use syncline_console::CannotRun;
use syncline_contract::UserView;
use syncline_stores::server::redacted_url;
use syncline_workloads::AnyWorkload;
use syncline_workloads::oltp::{Oltp, Options};

/// The note if the user's own settings do not wait for commits.
pub(super) const DOES_NOT_WAIT: &str =
    "synchronous_commit is off for this session, so that commits are not durable (durability=none)";

/// Numbers of tables to try if the prepared number differs from the requested one.
const USUAL: [u64; 12] = [40, 48, 50, 64, 80, 100, 128, 200, 250, 256, 500, 1_000];

/// All numbers up to this are tried.
const SMALL: u64 = 32;

/// The prepared tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) tables: u64,
    /// The rows of each table.
    pub(super) rows: u64,
}

/// The names of sysbench's tables.
pub(super) fn names(tables: u64) -> Vec<String> {
    (1..=tables).map(|number| format!("sbtest{number}")).collect()
}

/// Refuses tables that the real `sysbench prepare` made.
pub(super) fn refuse_others(view: &UserView, url: &str) -> Result<(), CannotRun> {
    let Some(table) = view.tables.first() else {
        return Ok(());
    };
    Err(CannotRun(format!(
        "{table} is at {} already, and Syncline did not create it: its tests check every row that they read, \
         so they run only on tables of their own; remove the others (sysbench cleanup), or name another \
         database",
        redacted_url(url)
    )))
}

/// A server's URL without its schema option; none if it has none.
pub(super) fn without_schema(url: &str) -> Option<String> {
    let (place, options) = url.split_once('?')?;
    let kept: Vec<_> = options.split('&').filter(|one| !one.starts_with("schema=")).collect();
    if !place.contains("://") || kept.len() == options.split('&').count() {
        return None;
    }
    let ask = if kept.is_empty() { "" } else { "?" };
    Some(format!("{place}{ask}{}", kept.join("&")))
}

/// The tables prepared at the target's place; none if there are none. A run may use a part of them, never
/// more.
pub(super) fn prepared<T: Benchmark>(
    target: &T,
    requested: &Options,
    with_tables: impl Fn(u64) -> Result<AnyWorkload, CannotRun>,
) -> Result<Option<Layout>, CannotRun> {
    let there = |tables: u64| -> Result<Option<Layout>, CannotRun> {
        let workload = with_tables(tables)?;
        let loaded = target.loaded_as(&workload)?;
        let Some((tables, rows)) = loaded.as_deref().and_then(Oltp::layout_of) else {
            return Ok(None);
        };
        Ok(Some(Layout { tables, rows }))
    };
    let layout = match there(requested.tables) {
        Ok(layout) => layout,
        Err(why) if !why.0.contains("other tables") => return Err(why),
        Err(why) => {
            // Only a plan with the prepared number of tables finds them.
            let others = (1..=SMALL).chain(USUAL).filter(|tables| *tables != requested.tables);
            let mut found = others.filter_map(|tables| there(tables).ok().flatten());
            Some(found.next().ok_or(why)?)
        }
    };
    let Some(layout) = layout else {
        return Ok(None);
    };
    if requested.tables > layout.tables || requested.table_size > layout.rows {
        return Err(CannotRun(format!(
            "{} tables of {} rows were prepared there, but the run uses {} of {}: use no more than prepared, or \
             run cleanup and prepare again",
            layout.tables, layout.rows, requested.tables, requested.table_size
        )));
    }
    Ok(Some(layout))
}

#[cfg(test)]
mod tests {
    use super::{refuse_others, without_schema};
    use syncline_contract::UserView;

    #[test]
    fn the_schema_is_removed_from_a_server_s_url() {
        for (url, expected) in [
            ("mysql://u@h:1/d?schema=sysbench", Some("mysql://u@h:1/d")),
            ("postgres://h/d?a=b&schema=x&c=d", Some("postgres://h/d?a=b&c=d")),
            ("postgres://h/d?a=b", None),
            ("engine:./s?schema=x", None),
            ("sqlite:s.db", None),
        ] {
            assert_eq!(without_schema(url).as_deref(), expected, "{url}");
        }
    }

    /// f02.
    #[test]
    fn tables_of_another_program_are_refused_by_name() {
        let view = UserView { tables: vec!["sbtest.sbtest1".to_owned()], waits_for_log: None };
        let why = refuse_others(&view, "mysql://u:pw@h/sbtest").unwrap_err().0;
        assert!(why.starts_with("sbtest.sbtest1 is at mysql://u@h/sbtest"), "{why}");
        assert!(refuse_others(&UserView::default(), "mysql://h").is_ok());
    }
}
