//! Tables and indexes made, changed and dropped, and the effects of each such commit.

use super::concurrent_steps;
use super::episode::{Episode, EpisodeEnd, broken};
use super::oracle::{Effect, Oracle};
use super::rows::{self, NAMES};
use crate::access::schema::{Kind, Schema, Value};
use crate::catalog::{CATALOG_TREE, TableEntry};
use crate::error::{Error, Result};
use crate::step;
use std::ops::Bound;
use std::sync::Arc;

/// Columns that a table may have.
const COLUMNS_MAX: usize = 6;

/// Makes, changes or drops something at random.
pub(super) fn define(episode: &mut Episode<'_>) -> std::result::Result<(), EpisodeEnd> {
    let name = NAMES[episode.harness.random.usize(0..NAMES.len())];
    let before = episode.engine.core.log.published().0;
    episode.harness.oracle.take(before);
    if episode.harness.random.bool() {
        return define_one(episode, name);
    }
    let (pace, seed) = (episode.harness.pace, episode.harness.random.u64(..));
    let beside = concurrent_steps::work(&episode.engine, pace, seed);
    step::with(beside, || define_one(episode, name))
}

fn define_one(episode: &mut Episode<'_>, name: &str) -> std::result::Result<(), EpisodeEnd> {
    let Some(entry) = episode.engine.catalog().table(name).cloned() else {
        return make(episode, name);
    };
    let schema = &entry.schema;
    let more = schema.columns().iter().rev().find(|column| column.since() > 1);
    match episode.harness.random.u8(0..20) {
        0..4 => {
            let dropped = episode.engine.drop_table(name);
            record_change(episode, name, dropped, false, &[])
        }
        4..15 => index(episode, &entry),
        // Not often: it leaves little for compactions to move.
        15 if episode.harness.random.u8(0..3) == 0 => {
            let truncated = episode.engine.truncate_table(name).map(drop);
            record_change(episode, name, truncated, false, &[])
        }
        column @ 16..18 if let Some(more) = more => {
            let next = match column {
                16 => schema.without_column(more.name()),
                _ => schema.with_column_renamed(more.name(), &format!("n{}", entry.generation)),
            };
            let changed = episode.engine.change_table(&next.expect("it is in no key")).map(drop);
            record_change(episode, name, changed, false, &[])
        }
        _ if schema.columns().len() < COLUMNS_MAX => {
            let column = format!("more{}", schema.version());
            let next = schema.with_column(&column, Kind::Int, Value::Int(7));
            let next = next.expect("a column of a new name");
            let added = episode.engine.change_table(&next).map(drop);
            record_change(episode, name, added, false, &[])
        }
        _ => Ok(()),
    }
}

fn make(episode: &mut Episode<'_>, name: &str) -> std::result::Result<(), EpisodeEnd> {
    let (is_heavy, random) = (episode.harness.is_heavy, &mut episode.harness.random);
    let schema = rows::schema(name, random);
    if random.u8(0..3) > 0 {
        let made = episode.engine.create_table(schema).map(drop);
        return record_change(episode, name, made, false, &[]);
    }
    let count = random.u32(0..episode.harness.ids.min(40));
    let loaded: Vec<_> =
        (0..count).map(|id| rows::row(&schema, id * 3, is_heavy, random)).collect();
    let made = episode.engine.load_table(schema, loaded.clone().into_iter().map(Ok));
    let made = made.map(drop);
    // Through the log, in several commits.
    let is_logged = episode.harness.options.log.archive.is_some();
    record_change(episode, name, made, is_logged, &loaded)
}

/// Adds an index to a table, or drops it if the table has one of that name.
fn index(episode: &mut Episode<'_>, entry: &TableEntry) -> std::result::Result<(), EpisodeEnd> {
    let name = entry.schema.name();
    let (index, columns, is_unique) = match episode.harness.random.u8(0..3) {
        0 => ("alone", vec!["number"], true),
        1 => ("once", vec!["number", "id"], true),
        _ => ("by_number", vec!["number"], false),
    };
    if entry.schema.index(index).is_some() {
        let dropped = episode.engine.drop_index(name, index);
        return record_change(episode, name, dropped, false, &[]);
    }
    let schema = entry.schema.with_index(index, columns, is_unique);
    let schema: Schema = schema.expect("an index of a new name");
    let made = episode.engine.create_index(&schema).map(drop);
    record_change(episode, name, made, true, &[])
}

/// Records the effects of a change, whether it succeeded or not: it is one commit or none, except for the
/// build of an index, or of a table through the log.
fn record_change(
    episode: &mut Episode<'_>,
    name: &str,
    answer: Result<()>,
    is_build: bool,
    loaded: &[(Vec<u8>, Vec<u8>)],
) -> std::result::Result<(), EpisodeEnd> {
    let oracle = &mut episode.harness.oracle;
    let catalog = episode.engine.catalog();
    let (before, after) = (oracle.last, episode.engine.core.log.published().0);
    let (entry, known) = (catalog.table(name), oracle.table(name, before).cloned());
    let is_changed = entry != known.as_ref();
    // A build takes other commits, which are invisible before the last one.
    let is_right = match after - before {
        0 => answer.is_err(),
        1 => is_changed || is_build,
        _ => is_build,
    };
    if !is_right {
        let took = after - before;
        return Err(broken(format!("a change of tables took {took} commits")));
    }
    if after > before && !is_changed {
        oracle.take(after);
    } else if after > before {
        let effects = entry.map(|entry| effects(oracle, entry, known.as_deref(), loaded, before));
        oracle.commit(after, effects.unwrap_or_default());
        oracle.define(after, name, entry.cloned());
        episode.harness.tally.defined += 1;
    } else if is_changed {
        return Err(broken(format!("table {name} changed without a commit")));
    }
    let named = catalog.trees();
    let is_named = |id| named.contains(&id) || id == CATALOG_TREE;
    let trees = episode.engine.tree_directory.trees();
    if trees.len() != named.len() + 1 || !trees.iter().all(|tree| is_named(tree.id)) {
        return Err(broken("the trees are not those that the catalogue names"));
    }
    match answer {
        Ok(()) | Err(Error::DuplicateBuilt { .. }) => Ok(()),
        Err(error) => {
            episode.harness.tally.full += 1;
            episode.harness.tally.failed_builds += u64::from(after == before);
            EpisodeEnd::of(error)
        }
    }
}

/// The rows of trees that were bulk loaded.
fn effects(
    oracle: &Oracle,
    entry: &Arc<TableEntry>,
    known: Option<&TableEntry>,
    loaded: &[(Vec<u8>, Vec<u8>)],
    csn: u64,
) -> Vec<Effect> {
    let mut effects = Vec::new();
    for (key, row) in loaded {
        effects.push((entry.tree, key.clone(), Some(row.as_slice().into())));
    }
    let all = (Bound::Unbounded, Bound::Unbounded);
    let rows = oracle.range(entry.tree, all, csn);
    let rows: Vec<_> = rows.map(|(key, row)| (key.to_vec(), row.to_vec())).collect();
    // A loaded table had no rows before.
    let rows = rows.iter().chain(loaded);
    for (at, index) in entry.indexes.iter().enumerate() {
        let is_known = known.is_some_and(|known| known.indexes.contains(index));
        if is_known {
            continue;
        }
        for (key, row) in rows.clone() {
            let (entry_key, value) = rows::entry(&entry.schema, at, key, row);
            effects.push((index.tree, entry_key, Some(value.into())));
        }
    }
    effects
}
