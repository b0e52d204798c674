//! Accounts of how the metrics of a JVM were measured.

use super::cpu_usage::CpuUsage;
use crate::account::{all_missing, measured, missing};
use syncline_instrument::Nanos;
use syncline_profile::{Account, Metric, Precision, ProfileBuilder, Thread, Total};

/// The metrics of a JVM: processor time and [`OWN`].
pub(super) const ALL: [Metric; 9] = [
    Metric::CpuUser,
    Metric::CpuKernel,
    Metric::Wall,
    Metric::AllocatedBytes,
    Metric::AllocatedObjects,
    Metric::Contentions,
    Metric::ContentionWait,
    Metric::Sleeps,
    Metric::GarbageCollection,
];

/// The metrics of a JVM besides processor time.
pub(super) const OWN: &[Metric] = ALL.split_at(2).1;

/// The processor time of a process in the window.
#[derive(Clone, Debug, Default)]
pub(super) struct JvmCpuTime {
    before: Option<CpuUsage>,
    after: Option<CpuUsage>,
}

impl JvmCpuTime {
    pub(super) fn begins(&mut self, pid: u32) {
        self.before = CpuUsage::by(pid);
    }

    pub(super) fn ends(&mut self, pid: u32) {
        self.after = CpuUsage::by(pid);
    }

    /// User and kernel time; none if the process could not be read.
    pub(super) fn times(&self) -> Option<(Nanos, Nanos)> {
        Some(self.after.as_ref()?.since(self.before.as_ref()?))
    }

    /// The times as totals of the two metrics.
    pub(super) fn total(&self, metric: Metric) -> Option<Total> {
        let (user, kernel) = self.times()?;
        let amount = match metric {
            Metric::CpuUser => user,
            Metric::CpuKernel => kernel,
            _ => return None,
        };
        Some(Total { amount, source: "/proc/PID/stat".to_owned() })
    }

    /// Charges garbage collection to its threads, and returns the account.
    pub(super) fn collection(&self, profile: &mut ProfileBuilder) -> Account {
        let metric = Metric::GarbageCollection;
        let collector = "/proc of the collector's threads";
        let (Some(before), Some(after)) = (&self.before, &self.after) else {
            return missing(metric, collector, "the process could not be read");
        };
        if !after.has_collectors() {
            let why = "the JVM collects garbage in its VM thread, which also does other work: start it with \
                       -XX:+UseParallelGC or -XX:+UseG1GC";
            return missing(metric, collector, why);
        }
        for (name, ns) in after.collecting_since(before) {
            let thread = profile.thread(Thread { name, title: None });
            let nowhere = profile.stack([]);
            profile.add(metric, thread, nowhere, ns, 1);
        }
        measured(metric, collector, Precision::Exact)
    }

    /// Hands over the accounts of a collector, and that of garbage collection.
    pub(super) fn hand_over(&self, accounts: Vec<Account>, profile: &mut ProfileBuilder) {
        let collection = self.collection(profile);
        for account in accounts.into_iter().chain([collection]) {
            profile.account(account);
        }
    }

    /// The accounts of a collector that failed in the window, with the totals of processor time.
    pub(super) fn failed(&self, metrics: &[Metric], collector: &str, why: &str) -> Vec<Account> {
        let mut accounts = all_missing(metrics, collector, why);
        for account in &mut accounts {
            account.total = self.total(account.metric);
        }
        accounts
    }
}

#[cfg(test)]
mod tests {
    use super::JvmCpuTime;
    use syncline_profile::{Metric, Precision, ProfileBuilder};

    #[test]
    fn a_process_without_collector_threads_has_no_figure_for_them() {
        let mut cpu_time = JvmCpuTime::default();
        let mut profile = ProfileBuilder::default();
        let unread = cpu_time.collection(&mut profile);
        assert!(matches!(unread.how, Precision::NotAttributable(_)));
        cpu_time.begins(std::process::id());
        cpu_time.ends(std::process::id());
        let account = cpu_time.collection(&mut profile);
        assert!(
            matches!(account.how, Precision::NotAttributable(why) if why.contains("VM thread"))
        );
        assert!(
            cpu_time.total(Metric::CpuUser).is_some() && cpu_time.total(Metric::Wall).is_none()
        );
        assert!(profile.finish(1).samples().is_empty());
    }
}
