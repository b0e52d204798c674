//! The check: every acknowledged task is present and whole, every unknown one is whole or absent, and
//! no other rows exist.

use super::schema::GroupCommit;
use super::transactions::{Tally, value};
use crate::check_reader::CheckReader;
use crate::violations::Violations;
use syncline_contract::{Check, Session, Stop};

const WHOLE: &str = "every acknowledged task is there, and every task that is there is whole";
const NOTHING_ELSE: &str = "no row is there that no task inserted";

/// Approximate number of rows per page of the check.
const PAGE_ROWS: u64 = 1_000;

/// The names of the checks.
pub(super) fn names() -> [&'static str; 2] {
    [WHOLE, NOTHING_ELSE]
}

/// Runs both checks.
pub(super) async fn check<S: Session>(
    of: &GroupCommit,
    tallies: &[Tally],
    session: &mut S,
) -> Result<Vec<Check>, Stop> {
    let mut reader = CheckReader::new(session);
    let outcomes = TaskOutcomes::of(tallies);
    let ninsert = of.options.ninsert;
    let page_tasks = (PAGE_ROWS / ninsert).max(1);
    let (mut torn, mut strange) = (Violations::default(), Violations::default());
    let (mut rows, mut seen) = (Vec::new(), 0);
    for first in (0..outcomes.tasks).step_by(page_tasks as usize) {
        let last = (first + page_tasks).min(outcomes.tasks) - 1;
        rows.clear();
        let given = (first as i64, last as i64);
        seen += reader.each(&of.of_tasks, given, |row| rows.push(row)).await?;
        let mut rest = rows.as_slice();
        for task in first..=last {
            let end = rest.partition_point(|row| row.0 <= task as i64);
            let (own, others) = rest.split_at(end);
            rest = others;
            let state = outcomes.state(task);
            strange.unless(own.is_empty() || state != State::Absent, || {
                format!(
                    "task {task} has {} rows, but was rolled back or never performed",
                    own.len()
                )
            });
            let is_right = match state {
                State::Absent => true,
                State::Unknown => own.is_empty() || is_whole(own, task as i64, ninsert),
                State::Acknowledged => is_whole(own, task as i64, ninsert),
            };
            torn.unless(is_right, || {
                format!("task {task} has {} rows, not the {ninsert} of a task", own.len())
            });
        }
    }
    let all = reader.one(&of.count, (), |(rows,)| rows).await?;
    strange
        .unless(all == seen as i64, || format!("{all} rows, but only {seen} have keys of tasks"));
    Ok(vec![torn.check(WHOLE), strange.check(NOTHING_ELSE)])
}

fn is_whole(rows: &[(i64, i64, i64)], task: i64, ninsert: u64) -> bool {
    let mut expected = (0..ninsert as i64).map(|item| (task, item, value(task, item)));
    rows.len() as u64 == ninsert && rows.iter().all(|row| Some(*row) == expected.next())
}

/// The outcomes of all tasks, as reported to clients.
struct TaskOutcomes<'a> {
    /// By client.
    tallies: Vec<Option<&'a Tally>>,
    /// Upper bound of the numbers of tasks.
    tasks: u64,
}

/// The outcome of a task, as reported to its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Acknowledged,
    Unknown,
    Absent,
}

impl<'a> TaskOutcomes<'a> {
    fn of(tallies: &'a [Tally]) -> TaskOutcomes<'a> {
        let clients = tallies.first().map_or(0, |tally| tally.clients);
        let mut by_client = vec![None; clients as usize];
        for tally in tallies {
            by_client[tally.client as usize] = Some(tally);
        }
        let most = tallies.iter().map(|tally| tally.tasks).max().unwrap_or(0);
        TaskOutcomes { tallies: by_client, tasks: most * clients }
    }

    fn state(&self, task: u64) -> State {
        let clients = self.tallies.len() as u64;
        let (client, number) = (task % clients, task / clients);
        match self.tallies[client as usize] {
            Some(tally) if tally.unknown.binary_search(&number).is_ok() => State::Unknown,
            Some(tally) if number < tally.tasks => State::Acknowledged,
            _ => State::Absent,
        }
    }
}
