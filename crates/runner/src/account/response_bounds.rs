//! Response bounds of a workload, judged like its checks. A bound requires that a share of the committed
//! transactions have a response time within a limit.

use crate::account::worker_stats::WorkerStats;
use syncline_contract::{Check, CheckOutcome, ResponseBound, Workload};
use syncline_instrument::clock;

/// Judges each bound of the workload as a check.
pub(crate) fn judge<W: Workload>(workload: &W, stats: &WorkerStats) -> Vec<Check> {
    let bounds = workload.response_bounds();
    bounds
        .iter()
        .map(|bound| Check { name: name(workload, bound), outcome: outcome(bound, stats) })
        .collect()
}

fn name<W: Workload>(workload: &W, bound: &ResponseBound) -> String {
    let transaction = workload.transactions()[bound.transaction];
    let seconds = bound.within_ns as f64 / clock::SECOND as f64;
    format!("{} % of {transaction} responses within {seconds} s", bound.percent)
}

fn outcome(bound: &ResponseBound, stats: &WorkerStats) -> CheckOutcome {
    let responses = &stats.kinds[bound.transaction].response;
    if responses.is_empty() {
        return CheckOutcome::NotApplicable("none committed".to_owned());
    }
    let within = responses.count_between(0, bound.within_ns);
    let all = responses.len();
    // In integers, so that rounding cannot fail a bound that is reached exactly.
    if u128::from(within) * 100 >= u128::from(all) * u128::from(bound.percent) {
        CheckOutcome::Held
    } else {
        let share = within as f64 * 100.0 / all as f64;
        CheckOutcome::Violated(format!("only {share:.2} % of {all} were"))
    }
}

#[cfg(test)]
mod tests {
    use super::outcome;
    use crate::account::live_counters::LiveCounters;
    use crate::account::measured_span::When;
    use crate::account::worker_stats::{End, Span, WorkerStats};
    use syncline_contract::{CheckOutcome, ResponseBound};

    fn with(slow: u64, quick: u64) -> CheckOutcome {
        let (live, mut stats) = (LiveCounters::new(false), WorkerStats::new(1, 0));
        let times = (0..slow).map(|_| 5_000).chain((0..quick).map(|_| 100));
        for ended in times {
            stats.started(0);
            let span = Span { due: 0, started: 0, ended };
            stats.ended(0, true, When::Inside, End::Committed, 1, span, &live);
        }
        let bound = ResponseBound { transaction: 0, percent: 90, within_ns: 1_000 };
        outcome(&bound, &stats)
    }

    #[test]
    fn a_bound_reached_exactly_holds_and_one_response_less_violates_it() {
        assert_eq!(with(10, 90), CheckOutcome::Held);
        let CheckOutcome::Violated(what) = with(11, 89) else {
            panic!("89 of 100 are not 90 %");
        };
        assert!(what.starts_with("only 89.00 % of 100"), "{what}");
        assert!(matches!(with(0, 0), CheckOutcome::NotApplicable(_)));
    }
}
