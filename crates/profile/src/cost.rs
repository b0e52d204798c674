//! What was charged to whom: a profile after folding.

use crate::metric::Metric;
use crate::profile::{Precision, Total};
use serde::{Deserialize, Serialize};
use syncline_instrument::{Module, Nanos};

/// To whom a stack is charged where several modules stand on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// To the innermost module: who spent it.
    #[default]
    Innermost,
    /// To the innermost module that does not work for whoever calls it: on whose behalf it was spent.
    /// Waiting for a lock that guards the log is then the log's.
    OnBehalfOf,
}

/// What a thread is for, by the product's map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadClass {
    /// It serves clients.
    Connection,
    /// It writes logs, checkpoints, cleans up.
    Background,
    /// It collects garbage, compiles, keeps the runtime going.
    Runtime,
    /// It is the client, in the process of an embedded store, and runs the store's code too.
    Client,
    /// No rule of the map knows it.
    Unknown,
}

/// What one module of one class of threads had of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// The threads.
    pub class: ThreadClass,
    /// The module; none where no frame of the stack belongs to any: unknown.
    pub module: Option<Module>,
    /// How much, in the metric's unit.
    pub weight: u64,
    /// By how many looks or events.
    pub count: u64,
}

/// One metric by module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricCost {
    /// The metric.
    pub metric: Metric,
    /// Who took it.
    pub collector: String,
    /// Exact, sampled, or not to be split and why.
    pub how: Precision,
    /// Looks or events that were lost.
    pub lost: u64,
    /// The sum over the whole store by another count, where there is one.
    pub total: Option<Total>,
    /// How much of the charges' weight stands on a guess: on a function without a name, between two
    /// named ones of different modules or folders.
    pub guessed: u64,
    /// In the order of classes and modules, unknown last; empty where it could not be split.
    pub charges: Vec<Charge>,
}

/// A profile after folding: every metric by class of threads and module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The name of the map that it was folded by.
    pub map: String,
    /// To whom stacks of several modules were charged.
    pub view: View,
    /// The window that was looked at.
    pub window_ns: Nanos,
    /// In the order of [`Metric::ALL`].
    pub metrics: Vec<MetricCost>,
    /// What is wrong with the map for what was seen, in sentences: an unknown version, functions that
    /// its table does not know.
    pub warnings: Vec<String>,
}
