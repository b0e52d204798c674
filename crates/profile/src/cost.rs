//! A profile after folding: the cost of every metric by class of threads and module.

use crate::metric::Metric;
use crate::profile::{Precision, Total};
use serde::{Deserialize, Serialize};
use syncline_instrument::{Module, Nanos};

/// The module to which a stack is charged whose frames belong to several modules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// The innermost module: the one that used the resource.
    #[default]
    Innermost,
    /// The innermost module whose map rule lacks `blame = "outward"`, that is, the module that needed the
    /// work. A wait for a lock that protects the log is charged to the log.
    OnBehalfOf,
}

/// The task of a thread, from the product's map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadClass {
    /// Serves clients.
    Connection,
    /// Writes logs, takes checkpoints, cleans up.
    Background,
    /// Collects garbage, compiles, runs other tasks of the language runtime.
    Runtime,
    /// A client thread in the process of an embedded store; it also runs the store's code.
    Client,
    /// No rule of the map fits the thread.
    Unknown,
}

/// The share of one module and one class of threads in a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// The class of threads.
    pub class: ThreadClass,
    /// The module; `None` (unknown) if no frame of the stack belongs to a module.
    pub module: Option<Module>,
    /// The amount in the metric's unit.
    pub weight: u64,
    /// The number of samples or events.
    pub count: u64,
}

/// One metric by module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricCost {
    /// The metric.
    pub metric: Metric,
    /// The collectors that measured it.
    pub collector: String,
    /// Exact, sampled, or not attributable with the reason.
    pub how: Precision,
    /// The number of lost samples or events.
    pub lost: u64,
    /// The total for the whole store from a separate counter, if there is one.
    pub total: Option<Total>,
    /// The part of the charges' weight that depends on a guess: on a function without a name between two
    /// named functions of different modules or folders.
    pub guessed: u64,
    /// Sorted by class and module, unknown last; empty if the metric could not be split.
    pub charges: Vec<Charge>,
}

/// A profile after folding: every metric by class of threads and module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The name of the map that folded the profile.
    pub map: String,
    /// The rule that chose among the modules of a stack.
    pub view: View,
    /// The length of the sampling window.
    pub window_ns: Nanos,
    /// In the order of [`Metric::ALL`].
    pub metrics: Vec<MetricCost>,
    /// Sentences about how the map fails to fit the profile: an unknown version, functions missing from its
    /// table.
    pub warnings: Vec<String>,
}
