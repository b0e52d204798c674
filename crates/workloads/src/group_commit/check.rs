//! The check: every acknowledged task is present and whole, every unknown one is whole or absent, and
//! no other rows exist.

use super::schema::GroupCommit;
use super::transactions::{Tally, value};
use crate::check_reader::CheckReader;
use crate::outcomes::Outcome;
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
            let outcome = outcomes.of_task(task);
            strange.unless(own.is_empty() || outcome != Outcome::Absent, || {
                format!(
                    "task {task} has {} rows, but was rolled back or never performed",
                    own.len()
                )
            });
            let is_right = match outcome {
                Outcome::Absent => true,
                Outcome::Unknown => own.is_empty() || is_whole(own, task as i64, ninsert),
                Outcome::Acknowledged => is_whole(own, task as i64, ninsert),
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

impl<'a> TaskOutcomes<'a> {
    fn of(tallies: &'a [Tally]) -> TaskOutcomes<'a> {
        let clients = tallies.first().map_or(0, |tally| tally.clients);
        let mut by_client = vec![None; clients as usize];
        for tally in tallies {
            by_client[tally.client as usize] = Some(tally);
        }
        let most = tallies.iter().map(|tally| tally.tasks.count()).max().unwrap_or(0);
        TaskOutcomes { tallies: by_client, tasks: most * clients }
    }

    fn of_task(&self, task: u64) -> Outcome {
        let clients = self.tallies.len() as u64;
        let (client, number) = (task % clients, task / clients);
        let tally = self.tallies[client as usize];
        tally.map_or(Outcome::Absent, |tally| tally.tasks.of(number))
    }
}
