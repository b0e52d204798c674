//! The way of a commit through the store: what a usual one, a slow one and the slowest waited for.

use super::grid::{Grid, Side};
use super::run_parts::drawn;
use syncline_record::RunRecord;
use syncline_record::units;

/// Nothing where the store does not time it.
pub(super) fn commit_path(run: &RunRecord) -> String {
    let Some(known) = &run.end.commit_path else {
        return String::new();
    };
    let title = format!("Commit latency breakdown (1 in {} sampled)", known.timed_one_in);
    let mut columns = vec![(title.as_str(), Side::Left)];
    columns.extend(known.steps.iter().map(|step| (step.as_str(), Side::Right)));
    columns.push(("total", Side::Right));
    let mut grid = Grid::new(&columns).spare(&["begin", "execute"]);
    for row in &known.rows {
        let mut cells = vec![format!("  {}", row.name)];
        cells.extend(row.step_ns.iter().map(|ns| units::span(*ns)));
        cells.push(units::span(row.total_ns));
        grid.row(cells);
    }
    drawn(&grid)
}
