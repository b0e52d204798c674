//! The figures of commit paths in a record: how the times of a typical commit, of a slow one and of the
//! slowest ones divide into steps.
//!
//! Steps have no percentiles of their own: those would not belong to one commit, and would not add up. A row
//! is the mean of the paths whose total time is near the percentile.

use syncline_contract::{CommitPath, CommitPaths};
use syncline_record::{CommitPathFigures, PathFigures};

/// A row is the mean over this share of the sample around its percentile.
const AROUND: f64 = 0.01;

const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// The number of slowest paths that have a row each.
const SLOWEST: usize = 5;

/// The figures; `None` if no commit was timed.
pub(super) fn commit_path(paths: &CommitPaths) -> Option<CommitPathFigures> {
    let mut sorted: Vec<&CommitPath> = paths.sample.iter().collect();
    sorted.sort_by_key(|path| path.total_ns());
    if sorted.is_empty() {
        return None;
    }
    let mut rows = vec![mean("mean", &sorted)];
    for (name, share) in PERCENTILES {
        rows.extend(around(&sorted, share).map(|near| mean(name, near)));
    }
    let slowest = paths.slowest.iter().zip(1..).take(SLOWEST);
    rows.extend(slowest.map(|(path, rank)| mean(&format!("slowest {rank}"), &[path])));
    Some(CommitPathFigures {
        steps: paths.steps.iter().map(|step| (*step).to_owned()).collect(),
        timed: paths.timed,
        timed_one_in: paths.one_in,
        rows,
    })
}

/// The paths around a percentile; `None` if fewer than ten of the sample are beyond it.
fn around<'p, 's>(sorted: &'s [&'p CommitPath], share: f64) -> Option<&'s [&'p CommitPath]> {
    let count = sorted.len() as f64;
    if count * (1.0 - share) < 10.0 {
        return None;
    }
    let middle = (count * share) as usize;
    // Equally far to both sides, so that the mean stays at the percentile.
    let reach = (count * AROUND / 2.0) as usize;
    let reach = reach.min(sorted.len() - 1 - middle).min(middle);
    Some(&sorted[middle - reach..=middle + reach])
}

fn mean(name: &str, paths: &[&CommitPath]) -> PathFigures {
    let count = paths.len() as f64;
    let steps = paths.iter().map(|path| path.step_ns.len()).max();
    let of = |step: usize| -> f64 {
        let sum: u64 = paths.iter().filter_map(|path| path.step_ns.get(step)).sum();
        sum as f64 / count
    };
    let step_ns: Vec<f64> = (0..steps.unwrap_or(0)).map(of).collect();
    PathFigures {
        name: name.to_owned(),
        total_ns: step_ns.iter().sum(),
        step_ns,
        mean_of: paths.len() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::commit_path;
    use syncline_contract::{CommitPath, CommitPaths};

    fn paths(count: u64) -> CommitPaths {
        // Slow commits are slow because they wait for the sync, the second last step.
        let path = |number: u64| CommitPath { step_ns: vec![10, number, 5] };
        CommitPaths {
            steps: vec!["begin", "sync", "wake"],
            one_in: 64,
            timed: count,
            sample: (1..=count).rev().map(path).collect(),
            slowest: vec![path(count), path(count - 1)],
        }
    }

    #[test]
    fn rows_are_means_around_their_percentile_and_their_steps_add_up() {
        let kept = commit_path(&paths(1_000)).unwrap();
        let names: Vec<&str> = kept.rows.iter().map(|row| row.name.as_str()).collect();
        let expected = ["mean", "p50", "p90", "p99", "slowest 1", "slowest 2"];
        assert_eq!(names, expected, "a sample of 1,000 has no p99.9");
        let p90 = &kept.rows[2];
        assert_eq!(p90.step_ns, [10.0, 901.0, 5.0]);
        assert!((p90.total_ns - 916.0).abs() < 1e-9);
        assert_eq!(p90.mean_of, 11);
        assert_eq!(kept.rows[4].step_ns, [10.0, 1_000.0, 5.0]);
    }

    #[test]
    fn without_timed_commits_there_are_no_figures() {
        assert_eq!(commit_path(&CommitPaths::default()), None);
    }
}
