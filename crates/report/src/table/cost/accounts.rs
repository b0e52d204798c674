//! The metrics that the collectors can measure on this machine, and what would make the rest available.

use super::super::prose;
use crate::cost::words;
use syncline_profile::{Account, Precision};

/// A paragraph per collector and method; those that work come first. A metric that one collector splits by
/// module is not listed for another that cannot.
pub fn accounts(accounts: &[Account]) -> String {
    let mut works: Vec<(String, Vec<&str>)> = Vec::new();
    let mut refused: Vec<(String, Vec<&str>)> = Vec::new();
    let by_module = |account: &Account| !matches!(account.how, Precision::NotAttributable(_));
    let works_here = |metric| accounts.iter().filter(|one| one.metric == metric).any(by_module);
    for account in accounts {
        if !by_module(account) && works_here(account.metric) {
            // A total, next to a collector that can split it.
            continue;
        }
        let collector = &account.collector;
        let (list, heading) = match &account.how {
            Precision::Exact => (&mut works, format!("{collector} (exact): ")),
            Precision::Sampled(distance) => (&mut works, format!("{collector} ({distance}): ")),
            Precision::NotAttributable(why) => (&mut refused, format!("{collector}: {why}: ")),
        };
        let metric = words(account.metric.name());
        match list.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, metrics)) => metrics.push(metric),
            None => list.push((heading, vec![metric])),
        }
    }
    let mut text = String::new();
    for (title, list) in [("by module, works here", works), ("not by module here", refused)] {
        text += &format!("{title}\n");
        if list.is_empty() {
            text += "  nothing\n";
        }
        for (heading, metrics) in list {
            text += &prose::wrap("  ", &(heading + &metrics.join(", ")));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::accounts;
    use syncline_profile::{Account, Metric, Precision};

    #[test]
    fn a_metric_that_one_collector_splits_is_not_listed_as_missing() {
        let account = |metric, collector: &str, how| Account {
            metric,
            collector: collector.to_owned(),
            how,
            lost: 0,
            total: None,
        };
        let no = || Precision::NotAttributable("whole processes".to_owned());
        let text = accounts(&[
            account(Metric::SystemCalls, "BPF", Precision::Exact),
            account(Metric::SystemCalls, "totals", no()),
            account(Metric::CpuKernel, "totals", no()),
        ]);
        let (works, missing) = text.split_once("not by module here").unwrap();
        assert!(works.contains("BPF (exact): system calls"), "{text}");
        assert!(missing.contains("kernel CPU"), "{text}");
        assert!(!missing.contains("system calls"), "{text}");
    }
}
