//! Hermitage's table: the schedules that show their anomaly, for each level of a target.

use super::interleaving::Interleaver;
use super::schedules::{SCHEDULES, Schedule, SeenBy};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use syncline_contract::{Isolation, Target};

/// The result of one schedule at one level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Hermitage's column.
    pub schedule: String,
    /// The anomaly's plain name.
    pub what: String,
    /// True if it was seen; none if the store cannot play the schedule.
    pub seen: Option<bool>,
    /// True if only a session that also wrote to what it had read saw it: Hermitage's `R/O`.
    #[serde(default)]
    pub seen_by_writer: bool,
    /// Why sessions stopped, in words; empty if none did.
    pub stops: Vec<String>,
}

/// The results for one level of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The target's URL.
    pub target: String,
    /// The isolation that it reports.
    pub claimed: String,
    /// The schedules in Hermitage's order.
    pub cells: Vec<Cell>,
    /// Forbidden anomalies that were seen, in words.
    pub forbidden: Vec<String>,
}

/// Plays every schedule on a target. `open` is called for each schedule, because each needs its own store.
pub fn hermitage<T: Target>(
    url: &str,
    open: impl Fn() -> Result<T>,
    progress: &dyn Fn(&str),
) -> Result<Row> {
    let target = open()?;
    let can = target.capabilities();
    let has_indexes = can.indexes && can.scans;
    let interleaver = Interleaver::new(has_indexes);
    if let Some(why) = interleaver.plan.refusal(&can) {
        return Err(Error::cannot(format!("{url}: {why}")));
    }
    if can.workers_max.is_some_and(|workers| workers < 3) {
        let why = "its clients share one connection, so no two transactions overlap";
        return Err(Error::cannot(format!("{url}: {why}")));
    }
    let claimed = claimed(&target, &interleaver).map_err(outside)?;
    let mut row = Row {
        target: url.to_owned(),
        claimed: claimed.words().to_owned(),
        cells: Vec::new(),
        forbidden: Vec::new(),
    };
    for schedule in SCHEDULES {
        progress(&format!("{url}: {}", schedule.name));
        let mut cell = Cell {
            schedule: schedule.name.to_owned(),
            what: schedule.what.to_owned(),
            seen: None,
            seen_by_writer: false,
            stops: Vec::new(),
        };
        if has_indexes || !schedule.scans() {
            cell.play(&interleaver, schedule, &open)?;
            let seen = cell.seen == Some(true) || cell.seen_by_writer;
            if seen && is_forbidden(claimed, schedule.name) {
                row.forbidden.push(format!("{} ({})", schedule.what, schedule.name));
            }
        }
        row.cells.push(cell);
    }
    Ok(row)
}

impl Cell {
    fn sign(&self) -> &'static str {
        match self.seen {
            Some(true) => "-",
            Some(false) if self.seen_by_writer => "R/O",
            Some(false) => "ok",
            None => "n/a",
        }
    }

    /// Plays the variants of the schedule until one shows the anomaly.
    fn play<T: Target>(
        &mut self,
        interleaver: &Interleaver,
        schedule: &Schedule,
        open: impl Fn() -> Result<T>,
    ) -> Result<()> {
        self.seen = Some(false);
        for play in schedule.plays {
            let played = interleaver.play(&open()?, play).map_err(outside)?;
            let shows = (play.shows)(&played);
            self.stops.extend(played.stops);
            match play.seen_by {
                SeenBy::Anybody => self.seen = Some(shows),
                SeenBy::Writer => self.seen_by_writer = shows,
            }
            if shows {
                break;
            }
        }
        Ok(())
    }
}

fn outside(failure: syncline_contract::Failure) -> Error {
    Error::cannot(failure.what)
}

/// The legend of the table.
pub(super) const LEGEND: &str = "ok: not seen; -: the anomaly was seen; R/O: seen only by a session that also \
     writes; n/a: the store cannot play the schedule";

/// The table as Hermitage prints it. If there are several rows, each begins with the value of its URL's last
/// option; the caller prints what all targets have in common.
pub fn table(rows: &[Row]) -> String {
    let label = |row: &Row| match row.target.rfind(['?', '&', '=']) {
        Some(at) if rows.len() > 1 => format!("{}  ", &row.target[at + 1..]),
        _ => String::new(),
    };
    let width = rows.iter().map(|row| label(row).len()).max().unwrap_or(0);
    let names = SCHEDULES.iter().map(|schedule| schedule.name);
    let mut text = line("", width, "", names);
    for row in rows {
        text.push('\n');
        let signs = row.cells.iter().map(Cell::sign);
        text.push_str(&line(&label(row), width, &row.claimed, signs));
    }
    text
}

/// A line of the table, with its cells below the schedules' names.
fn line<'c>(
    label: &str,
    width: usize,
    level: &str,
    cells: impl Iterator<Item = &'c str>,
) -> String {
    let mut line = format!("{label:width$}{level:<15}");
    for (schedule, cell) in SCHEDULES.iter().zip(cells) {
        let width = schedule.name.len().max("R/O".len());
        line.push_str(&format!("  {cell:<width$}"));
    }
    line.truncate(line.trim_end().len());
    line
}

fn claimed<T: Target>(
    target: &T,
    interleaver: &Interleaver,
) -> syncline_contract::TargetResult<Isolation> {
    use syncline_contract::conformance::block_on;
    block_on(&(), target.create(&interleaver.plan))?;
    let claimed = block_on(&(), target.reported_settings());
    block_on(&(), target.remove())?;
    Ok(claimed?.isolation)
}

/// True if a level must not show the schedule's anomaly. For repeatable read, only what all stores forbid at
/// it.
fn is_forbidden(level: Isolation, schedule: &str) -> bool {
    match level {
        Isolation::NoneClaimed => false,
        Isolation::ReadCommitted | Isolation::RepeatableRead => {
            matches!(schedule, "G0" | "G1a" | "G1b" | "G1c")
        }
        Isolation::Snapshot => !matches!(schedule, "G2-item" | "G2"),
        Isolation::Serializable => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Row, table};

    fn row(target: &str, claimed: &str) -> Row {
        let cell = |seen| Cell {
            schedule: String::new(),
            what: String::new(),
            seen,
            seen_by_writer: false,
            stops: Vec::new(),
        };
        Row {
            target: target.to_owned(),
            claimed: claimed.to_owned(),
            cells: vec![
                cell(Some(false)),
                cell(Some(true)),
                cell(None),
                Cell { seen_by_writer: true, ..cell(Some(false)) },
            ],
            forbidden: Vec::new(),
        }
    }

    #[test]
    fn a_row_begins_with_its_distinguishing_option() {
        let rows = [
            row("engine?cap=1g&isolation=serializable", "serializable"),
            row("engine?cap=1g&isolation=snapshot", "snapshot"),
        ];
        let text = table(&rows);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        let expected = [
            "serializable  serializable     ok   -    n/a  R/O",
            "snapshot      snapshot         ok   -    n/a  R/O",
        ];
        assert_eq!(lines, expected);
        let alone = table(&rows[..1]);
        assert!(alone.contains("\nserializable     ok"), "{alone}");
        let widest = Row {
            claimed: "repeatable read".to_owned(),
            ..row("mariadb:private?isolation=repeatable-read", "")
        };
        let text = table(&[widest.clone(), widest]);
        assert!(text.lines().all(|line| line.len() <= 92), "{text}");
    }
}
