//! How evenly clients were served.
//!
//! 1. An even share is the mean over all clients, or the median if that is more: where most clients starve
//!    the median is what the starved got.
//! 2. A client starved if it committed less than a tenth of an even share, nothing always among it.
//! 3. Nobody is said to starve where even shares are too small to tell, unless one client shows that there
//!    was much to have.

use crate::account::worker_report::WorkerReport;
use syncline_contract::Workload;
use syncline_record::Fairness;

/// A client that committed less than this part of an even share starved.
const STARVED: f64 = 0.1;
/// An even share below this says nothing about anybody,
const SHARE_MIN: f64 = 10.0;
/// unless some client committed this much.
const MOST_MIN: u64 = 100;

/// Fairness over all clients of all workers.
pub(crate) fn fairness<W: Workload>(reports: &[WorkerReport<W>]) -> Fairness {
    let clients = reports.iter().flat_map(|report| &report.clients);
    let mut commits: Vec<(usize, u64)> =
        clients.map(|client| (client.number, client.commits)).collect();
    commits.sort_unstable();
    of_commits(&commits)
}

/// Of clients by number.
fn of_commits(commits: &[(usize, u64)]) -> Fairness {
    let mut counts: Vec<u64> = commits.iter().map(|(_, count)| *count).collect();
    counts.sort_unstable();
    let median = counts.get(counts.len() / 2).copied().unwrap_or_default();
    let most = counts.last().copied().unwrap_or_default();
    let mean = counts.iter().sum::<u64>() as f64 / counts.len().max(1) as f64;
    let even = mean.max(median as f64);
    let tells = even >= SHARE_MIN || most >= MOST_MIN;
    let starved = |count: u64| tells && (count == 0 || (count as f64) < even * STARVED);
    Fairness {
        least: counts.first().copied().unwrap_or_default(),
        median,
        most,
        starved: commits
            .iter()
            .filter(|(_, count)| starved(*count))
            .map(|(number, _)| *number as u64)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::of_commits;

    #[test]
    fn the_starved_are_named() {
        let fairness = of_commits(&[(0, 100), (1, 9), (2, 110), (3, 0), (4, 100)]);
        assert_eq!((fairness.least, fairness.median, fairness.most), (0, 100, 110));
        assert_eq!(fairness.starved, [1, 3]);
    }

    /// D1: 64 clients of SQLite, most of whom waited through the whole run.
    #[test]
    fn the_starved_are_named_also_where_most_clients_starve() {
        let commits: Vec<(usize, u64)> =
            (0..64).map(|number| (number, if number % 4 == 0 { 1_600 } else { 0 })).collect();
        let fairness = of_commits(&commits);
        assert_eq!((fairness.least, fairness.median), (0, 0));
        assert_eq!(fairness.starved.len(), 48);
        // One client alone has all, and even shares are small.
        let mut alone = vec![(0, 600)];
        alone.extend((1..64).map(|number| (number, 0)));
        assert_eq!(of_commits(&alone).starved.len(), 63);
        // Nearly nothing is little, too.
        let little = [(0, 3), (1, 2), (2, 1_682), (3, 1)];
        assert_eq!(of_commits(&little).starved, [0, 1, 3]);
    }

    #[test]
    fn a_run_too_short_to_serve_everyone_starves_nobody() {
        assert!(of_commits(&[(0, 0), (1, 3), (2, 4)]).starved.is_empty());
        assert_eq!(of_commits(&[]).median, 0);
    }
}
