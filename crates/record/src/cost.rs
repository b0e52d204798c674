//! Where a transaction's time went, and what else it used up, by module of the store.
//!
//! 1. It is of one repetition, the one in the middle, as percentiles are: its figures belong together.
//! 2. Everything per transaction is divided by the commits that were acknowledged in the window that
//!    was looked at.
//! 3. A share is a part of what the same class of threads had of the same metric, so that the shares of
//!    a class add up to one. Of wall clock and of time off the processor, waiting for a request is left
//!    out: it swamps everything, and has no share.
//! 4. What belongs to no module has a row without a module, always there where a metric could be split;
//!    what could not be split has no rows and says why.

use super::figures::Range;
use super::profiler_overhead::LookingCost;
use super::schema_macro::described;
use syncline_instrument::Module;
use syncline_profile::{ThreadClass, View};

described! {
    /// What a transaction used up, by module of the store.
    pub struct Cost {
        /// The map by which stacks were folded to modules; null where there is none for the product, or
        /// where its name would give the product away.
        pub map: Option<String>,
        /// How long was looked.
        pub window_ns: u64,
        /// Acknowledged commits in that window, by which amounts are divided.
        pub commits: u64,
        /// Those commits beside the store's own count of them.
        pub commits_by_store: StoreCommits,
        /// Its sync calls beside another count of them, and beside the disk's flushes.
        pub syncs: SyncEvidence,
        /// What looking itself cost; null in records of old.
        #[serde(default)]
        pub looking: Option<LookingCost>,
        /// Each metric, in a fixed order.
        pub metrics: Vec<MetricCost>,
        /// What is wrong with the map for what was seen, and what the counts above do not agree on.
        pub warnings: Vec<String>,
        /// The file beside the record that holds the stacks, to be folded again; null if there is none.
        pub stacks: Option<String>,
    }

    /// The clients' count of commits and the store's own, both over the clients' whole life.
    pub struct StoreCommits {
        /// What the clients were told.
        pub acknowledged: u64,
        /// What the store counted; null if it does not, or does not say.
        pub counted: Option<u64>,
        /// The store's over the clients'; null where one of them is not known or zero.
        pub ratio: Option<f64>,
        /// Which counter it was, or why there is none.
        pub source: String,
    }

    /// Syncs of one commit, counted twice, and flushes of the disk, of which there are no more than
    /// syncs on a disk that nobody else uses.
    pub struct SyncEvidence {
        /// Sync system calls by the meter; null if it could not count them.
        pub metered_per_commit: Option<f64>,
        /// The same by the count beside the run (`per_commit.syncs`); null where it was not taken.
        pub traced_per_commit: Option<f64>,
        /// How much more the meter saw, as a part of the other count; null without both.
        pub difference: Option<f64>,
        /// Flush requests to the disk; null if they were not counted.
        pub flushes_per_commit: Option<f64>,
        /// True if the flushes are no more than sync calls and synchronous writes together, which they
        /// are if they are no more than the calls; null where that is not known.
        pub flushes_within_syncs: Option<bool>,
    }

    /// One metric.
    pub struct MetricCost {
        /// Its name.
        pub metric: String,
        /// "ns", "count" or "bytes".
        pub unit: String,
        /// Who took it.
        pub collector: String,
        /// "exact", "sampled" or "not attributable".
        pub how: String,
        /// At which distance it was sampled, or why it could not be split by module and what opens the
        /// way; null if it is exact.
        pub detail: Option<String>,
        /// Looks or events that were lost.
        pub lost: u64,
        /// The sum over the whole store by another count; null if there is none.
        pub total: Option<CostTotal>,
        /// How much of it stands on a guess: on functions without a name, between two named ones that
        /// belong to different modules.
        pub guessed: u64,
        /// By module, each stack charged to the innermost module on it: who spent it.
        pub innermost: Vec<CostRow>,
        /// By module, each stack charged to the innermost module that does not work for its caller: on
        /// whose behalf it was spent.
        pub on_behalf_of: Vec<CostRow>,
        /// How long single events took, over the whole store: at position `i` how many took at least 2^i
        /// and less than 2^(i+1) nanoseconds; null where nobody saw single ones.
        pub lengths: Option<Vec<u64>>,
    }

    /// The sum of a metric, counted apart from the stacks.
    pub struct CostTotal {
        /// In the metric's unit.
        pub amount: u64,
        /// The same a transaction; null without commits.
        pub per_transaction: Option<f64>,
        /// Who counted.
        pub source: String,
    }

    /// What one module had of a metric in one class of threads.
    pub struct CostRow {
        /// "connection", "background", "runtime", "client" or "unknown".
        pub threads: String,
        /// The module's name; null for what belongs to none: unknown.
        pub module: Option<String>,
        /// In the metric's unit.
        pub amount: u64,
        /// The same a transaction; null without commits.
        pub per_transaction: Option<f64>,
        /// The part of all that this class of threads had; null for waiting for a request in times that
        /// pass while waiting, and where there was nothing.
        pub share: Option<f64>,
        /// By how many looks or events.
        pub count: u64,
        /// Where the share lies with 95 % confidence; null where it is exact or there is none.
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
    /// A metric by its name, the account that could be split first; none if nobody was asked for it.
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

/// How a metric was taken that could not be split.
pub const NOT_ATTRIBUTABLE: &str = "not attributable";

/// The word of a class in records.
pub fn class_word(class: ThreadClass) -> &'static str {
    match class {
        ThreadClass::Connection => "connection",
        ThreadClass::Background => "background",
        ThreadClass::Runtime => "runtime",
        ThreadClass::Client => "client",
        ThreadClass::Unknown => "unknown",
    }
}
