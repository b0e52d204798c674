//! The check: integrity between the tables, the loaded rows, and the number of call forwardings.

use super::population::{access_types, facility_types, forwardings, sub_nbr, text};
use super::schema::Tatp;
use super::transactions::Tally;
use crate::check_reader::CheckReader;
use crate::violations::Violations;
use syncline_contract::{Check, Session, Stop};

const BELONGS: &str = "every call forwarding belongs to a special facility of its subscriber";
const LOADED: &str =
    "subscribers, their access and their special facilities are those that were loaded";
const COUNTED: &str = "call forwardings are as many as loaded, inserted and deleted";

/// Subscribers per page of the check.
const PAGE_SUBSCRIBERS: u64 = 200;

/// The names of the checks.
pub(super) fn names() -> [&'static str; 3] {
    [BELONGS, LOADED, COUNTED]
}

#[derive(Default)]
struct CheckState {
    belongs: Violations,
    loaded: Violations,
    /// Number of loaded call forwardings.
    forwardings_loaded: u64,
    /// Number of rows read in each table.
    rows: [u64; 4],
}

/// Runs all checks.
pub(super) async fn check<S: Session>(
    of: &Tatp,
    tallies: &[Tally],
    session: &mut S,
) -> Result<Vec<Check>, Stop> {
    let mut reader = CheckReader::new(session);
    let mut found = CheckState::default();
    for first in (1..=of.options.subscribers).step_by(PAGE_SUBSCRIBERS as usize) {
        let last = (first + PAGE_SUBSCRIBERS - 1).min(of.options.subscribers);
        page(of, (first as i64, last as i64), &mut reader, &mut found).await?;
    }
    let mut all = [0; 4];
    for (rows, count) in all.iter_mut().zip(&of.check_queries.counts) {
        *rows = reader.one(count, (), |(rows,)| rows as u64).await?;
    }
    found.loaded.unless(all[..3] == found.rows[..3], || {
        format!("{:?} rows, but only {:?} belong to subscribers", &all[..3], &found.rows[..3])
    });
    found.belongs.unless(all[3] == found.rows[3], || {
        format!("{} belong to no subscriber", all[3] - found.rows[3])
    });
    Ok(vec![
        found.belongs.check(BELONGS),
        found.loaded.check(LOADED),
        counted(found.forwardings_loaded, tallies, all[3]).check(COUNTED),
    ])
}

/// Checks all rows of a range of subscribers.
async fn page<S: Session>(
    of: &Tatp,
    between: (i64, i64),
    reader: &mut CheckReader<'_, S>,
    found: &mut CheckState,
) -> Result<(), Stop> {
    let subscribers = || between.0..=between.1;
    let mut rows = Vec::new();
    found.rows[0] += reader
        .each(&of.check_queries.subscribers, between, |(s_id, number)| {
            let is_right = number == text(&sub_nbr(s_id));
            found.loaded.unless(is_right, || format!("subscriber {s_id} has the number {number}"));
            rows.push((s_id, 0));
        })
        .await?;
    let expected: Vec<_> = subscribers().map(|s_id| (s_id, 0)).collect();
    let as_loaded = |what: &str, rows: &[(i64, i64)], expected: &[(i64, i64)]| {
        (rows != expected).then(|| {
            let (first, last) = between;
            format!("{what} of subscribers {first} to {last} differ from the loaded ones")
        })
    };
    let mut wrong = as_loaded("rows", &rows, &expected);
    let pairs = |of: fn(i64) -> Vec<i64>| -> Vec<(i64, i64)> {
        let types = subscribers().flat_map(|s_id| of(s_id).into_iter().map(move |one| (s_id, one)));
        types.collect()
    };
    rows.clear();
    found.rows[1] += reader.each(&of.check_queries.access, between, |row| rows.push(row)).await?;
    wrong = wrong.or_else(|| as_loaded("access", &rows, &pairs(access_types)));
    rows.clear();
    found.rows[2] +=
        reader.each(&of.check_queries.facilities, between, |row| rows.push(row)).await?;
    wrong = wrong.or_else(|| as_loaded("special facilities", &rows, &pairs(facility_types)));
    if let Some(wrong) = wrong {
        found.loaded.add(|| wrong);
    }
    found.rows[3] += reader
        .each(&of.check_queries.forwardings, between, |(s_id, sf_type, start)| {
            // Rows of facilities are in the order of their keys.
            let belongs = rows.binary_search(&(s_id, sf_type)).is_ok();
            found.belongs.unless(belongs, || {
                format!("that of subscriber {s_id}, facility {sf_type}, starting at {start} hours")
            });
        })
        .await?;
    found.forwardings_loaded +=
        subscribers().map(|s_id| forwardings(s_id).len() as u64).sum::<u64>();
    Ok(())
}

fn counted(loaded: u64, tallies: &[Tally], rows: u64) -> Violations {
    let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
    let (inserted, deleted) = (sum(|tally| tally.inserted), sum(|tally| tally.deleted));
    let most = loaded + inserted + sum(|tally| tally.unknown_inserts);
    let least = loaded + inserted;
    let unknown_deletes = sum(|tally| tally.unknown_deletes);
    // Compare sums, because a difference may be negative if inserts are unknown.
    let is_right = rows + deleted <= most && rows + deleted + unknown_deletes >= least;
    let mut wrong = Violations::default();
    wrong.unless(is_right, || {
        format!(
            "{rows} rows for {loaded} loaded, {inserted} inserted and {deleted} deleted; {} with \
             unknown outcomes",
            most - least + unknown_deletes
        )
    });
    wrong
}

#[cfg(test)]
mod tests {
    use super::{COUNTED, Tally, counted};
    use syncline_contract::CheckOutcome;

    #[test]
    fn the_unknown_may_have_happened_or_not() {
        let tally = Tally { inserted: 5, deleted: 3, unknown_inserts: 2, unknown_deletes: 1 };
        let held = |rows| counted(10, &[tally], rows).check(COUNTED).outcome == CheckOutcome::Held;
        assert_eq!((10..=15).filter(|rows| held(*rows)).collect::<Vec<_>>(), [11, 12, 13, 14]);
    }
}
