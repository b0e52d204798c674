//! A transaction's time and other resources, by module of the store.
//!
//! 1. The cost is that of the repetition with the median throughput, as percentiles are, so that its figures
//!    belong together.
//! 2. Figures per transaction are divided by the commits that were acknowledged in the sampling window.
//! 3. A share is a part of the same metric's total in the same class of threads, so that the shares of a
//!    class add up to one. In wall clock time and off-CPU time, waiting for a request is excluded: it would
//!    dwarf all else, and has no share.
//! 4. If a metric could be split, the part of it that belongs to no module has a row without a module; a
//!    metric that could not be split has no rows and says why.

use super::figures::Range;
use super::profiler_overhead::OverheadCost;
use super::schema_macro::described;
use syncline_instrument::Module;
use syncline_profile::{ThreadClass, View};

described! {
    /// The resources that a transaction used, by module of the store.
    pub struct Cost {
        /// The map by which stacks were folded to modules; null if there is none for the product, or if its
        /// name would reveal a withheld product.
        pub map: Option<String>,
        /// The length of the sampling window.
        pub window_ns: u64,
        /// Acknowledged commits in that window, by which amounts are divided.
        pub commits: u64,
        /// Those commits compared with the store's own count.
        pub commits_by_store: StoreCommits,
        /// Its sync calls compared with another count of them, and with the disk's flushes.
        pub syncs: SyncEvidence,
        /// The profiler's own overhead; null in older records.
        #[serde(default)]
        pub looking: Option<OverheadCost>,
        /// Each metric, in a fixed order.
        pub metrics: Vec<MetricCost>,
        /// What is wrong with the map for the sampled code, and where the counts above do not agree.
        pub warnings: Vec<String>,
        /// The file next to the record that holds the stacks, to be folded again; null if there is none.
        pub stacks: Option<String>,
    }

    /// The clients' count of commits and the store's own, both over the whole time that clients were
    /// connected.
    pub struct StoreCommits {
        /// Commits acknowledged to the clients.
        pub acknowledged: u64,
        /// Commits that the store counted; null if it does not count or report them.
        pub counted: Option<u64>,
        /// The store's count divided by the clients'; null if one of them is not known or zero.
        pub ratio: Option<f64>,
        /// The counter's name, or why there is none.
        pub source: String,
    }

    /// Syncs of one commit, counted twice, and flushes of the disk; on a disk without other users there are
    /// no more flushes than syncs.
    pub struct SyncEvidence {
        /// Sync system calls by the profiler; null if it could not count them.
        pub metered_per_commit: Option<f64>,
        /// The same by the run's own count (`per_commit.syncs`); null if it was not taken.
        pub traced_per_commit: Option<f64>,
        /// How many more the profiler counted, as a part of the other count; null without both.
        pub difference: Option<f64>,
        /// Flush requests to the disk; null if they were not counted.
        pub flushes_per_commit: Option<f64>,
        /// True if the flushes are no more than sync calls and synchronous writes together; if the writes
        /// were not counted, true if they are no more than the calls; null if that is not known.
        pub flushes_within_syncs: Option<bool>,
    }

    /// One metric.
    pub struct MetricCost {
        /// Its name.
        pub metric: String,
        /// "ns", "count" or "bytes".
        pub unit: String,
        /// The collector that measured it.
        pub collector: String,
        /// "exact", "sampled" or "not attributable".
        pub how: String,
        /// The distance between samples, or why it could not be split by module and what would make that
        /// possible; null if it is exact.
        pub detail: Option<String>,
        /// Lost samples or events.
        pub lost: u64,
        /// The sum over the whole store by another count; null if there is none.
        pub total: Option<CostTotal>,
        /// How much of it was assigned by a guess: to functions without a name between two named ones that
        /// belong to different modules.
        pub guessed: u64,
        /// By module, each stack charged to the innermost module on it: the one that spent it.
        pub innermost: Vec<CostRow>,
        /// By module, each stack charged to the innermost module that does not work for its caller: the one
        /// on whose behalf it was spent.
        pub on_behalf_of: Vec<CostRow>,
        /// Histogram of the durations of single events, over the whole store: position `i` counts those that
        /// took at least 2^i and less than 2^(i+1) nanoseconds; null if events were not timed one by one.
        pub lengths: Option<Vec<u64>>,
    }

    /// The sum of a metric, counted independently of the stacks.
    pub struct CostTotal {
        /// In the metric's unit.
        pub amount: u64,
        /// The same per transaction; null without commits.
        pub per_transaction: Option<f64>,
        /// The source of the count.
        pub source: String,
    }

    /// One module's part of a metric in one class of threads.
    pub struct CostRow {
        /// "connection", "background", "runtime", "client" or "unknown".
        pub threads: String,
        /// The module's name; null for the part that belongs to none: unknown.
        pub module: Option<String>,
        /// In the metric's unit.
        pub amount: u64,
        /// The same per transaction; null without commits.
        pub per_transaction: Option<f64>,
        /// The part of this class's total; null for waiting for a request in metrics of elapsed time, and if
        /// the total is zero.
        pub share: Option<f64>,
        /// The number of samples or events.
        pub count: u64,
        /// The 95 % confidence interval of the share; null if the share is exact or null.
        pub share_range: Option<Range>,
    }
}

impl MetricCost {
    /// The rows of a view.
    pub fn rows(&self, view: View) -> &[CostRow] {
        match view {
            View::Innermost => &self.innermost,
            View::OnBehalfOf => &self.on_behalf_of,
        }
    }

    /// True if it was split by module.
    pub fn is_split(&self) -> bool {
        self.how != NOT_ATTRIBUTABLE
    }
}

impl Cost {
    /// A metric by its name; if it was measured several times, the first that could be split. `None` if it
    /// was not requested.
    pub fn metric(&self, name: &str) -> Option<&MetricCost> {
        let mut all = self.metrics.iter().filter(|one| one.metric == name);
        let first = all.next();
        let split = first.into_iter().chain(all).find(|one| one.is_split());
        split.or(first)
    }
}

impl CostRow {
    /// True for the row of a server thread that has nothing to do.
    pub fn waits_for_request(&self) -> bool {
        self.module.as_deref() == Some(Module::WaitingForRequest.name())
    }
}

/// The value of `how` for a metric that could not be split.
pub const NOT_ATTRIBUTABLE: &str = "not attributable";

/// The name of a class in records.
pub fn class_word(class: ThreadClass) -> &'static str {
    match class {
        ThreadClass::Connection => "connection",
        ThreadClass::Background => "background",
        ThreadClass::Runtime => "runtime",
        ThreadClass::Client => "client",
        ThreadClass::Unknown => "unknown",
    }
}
