//! The path of a commit through the store: the steps of a mean commit, of percentiles and of the slowest.

use super::grid::{Grid, Side};
use super::run_parts::block;
use syncline_record::RunRecord;
use syncline_record::units;

/// The table; empty if the store does not time its commits.
pub(super) fn commit_path(run: &RunRecord) -> String {
    let Some(path) = &run.end.commit_path else {
        return String::new();
    };
    let title = format!("Commit latency breakdown (1 in {} sampled)", path.timed_one_in);
    let mut columns = vec![(title.as_str(), Side::Left)];
    columns.extend(path.steps.iter().map(|step| (step.as_str(), Side::Right)));
    columns.push(("total", Side::Right));
    let mut grid = Grid::new(&columns).optional_columns(&["begin", "execute"]);
    for row in &path.rows {
        let mut cells = vec![format!("  {}", row.name)];
        cells.extend(row.step_ns.iter().map(|ns| units::span(*ns)));
        cells.push(units::span(row.total_ns));
        grid.row(cells);
    }
    block(&grid)
}
