//! How evenly clients were served.

use crate::result::Fairness;
use crate::worker::Report;
use syncline_contract::Workload;

/// A client that committed less than this share of the median starved.
const STARVED: f64 = 0.1;
/// A median below this says nothing about anybody.
const MEDIAN_MIN: u64 = 10;

/// Fairness over all clients of all workers.
pub(crate) fn fairness<W: Workload>(reports: &[Report<W>]) -> Fairness {
    let clients = reports.iter().flat_map(|report| &report.clients);
    let mut commits: Vec<(usize, u64)> = clients
        .map(|client| (client.number, client.commits))
        .collect();
    commits.sort_unstable();
    of_commits(&commits)
}

/// Of clients by number.
fn of_commits(commits: &[(usize, u64)]) -> Fairness {
    let mut counts: Vec<u64> = commits.iter().map(|(_, count)| *count).collect();
    counts.sort_unstable();
    let median = counts.get(counts.len() / 2).copied().unwrap_or_default();
    let starved = |count: u64| median >= MEDIAN_MIN && (count as f64) < median as f64 * STARVED;
    Fairness {
        least: counts.first().copied().unwrap_or_default(),
        median,
        most: counts.last().copied().unwrap_or_default(),
        starved: commits
            .iter()
            .filter(|(_, count)| starved(*count))
            .map(|(number, _)| *number)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::of_commits;

    #[test]
    fn the_starved_are_named() {
        let fairness = of_commits(&[(0, 100), (1, 9), (2, 110), (3, 0), (4, 100)]);
        assert_eq!(
            (fairness.least, fairness.median, fairness.most),
            (0, 100, 110)
        );
        assert_eq!(fairness.starved, [1, 3]);
    }

    #[test]
    fn a_run_too_short_to_serve_everyone_starves_nobody() {
        assert!(of_commits(&[(0, 0), (1, 3), (2, 4)]).starved.is_empty());
        assert_eq!(of_commits(&[]).median, 0);
    }
}
