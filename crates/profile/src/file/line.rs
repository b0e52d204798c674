//! One line of a stacks file.

use crate::histogram::Histogram;
use crate::metric::Metric;
use crate::profile::Account;
use crate::stack::{Frame, Thread};
use serde::{Deserialize, Serialize};

/// The format's name in its first line.
pub(super) const FORMAT: &str = "syncline-stacks";
/// The version that is written, and the newest that is read.
pub(super) const VERSION: u64 = 1;

/// The content of a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    Head(Head),
    Frame(Frame),
    Stack(Vec<u32>),
    Thread(Thread),
    /// Metric, thread, stack, weight, count.
    Sample(Metric, u32, u32, u64, u64),
    Account(Account),
    Histogram(Histogram),
    /// The number of lines before this one.
    End(u64),
}

/// The content of the first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) format: String,
    pub(super) version: u64,
    pub(super) window_ns: u64,
}
