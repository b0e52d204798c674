//! What a run tells while it runs, for progress bars and for records that grow as intervals end.

use crate::account::result::{RunHead, RunResult};
use syncline_record::Interval;

/// An event of a run, in the order of the phases.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A case of an interleaved series begins.
    Case {
        /// The case's name.
        name: &'a str,
        /// Which repetition, from 1.
        repetition: usize,
        /// Of how many.
        repetitions: usize,
    },
    /// The tables are being made.
    Creating,
    /// Rows are being loaded.
    Loading {
        /// Units loaded so far: rows, or few rows that belong together.
        units: u64,
        /// Of how many.
        of: u64,
    },
    /// Clients are being connected.
    Connecting {
        /// How many.
        clients: usize,
    },
    /// Everything fixed before the first transaction.
    Started(&'a RunHead),
    /// Clients run; nothing is measured yet.
    WarmingUp,
    /// What looking costs is being weighed.
    MeasuringOverhead,
    /// The measured span has begun.
    Measuring,
    /// An interval of the measured span has ended.
    Interval(&'a Interval),
    /// No transaction starts any more; those under way may end.
    Draining,
    /// The workload's checks are made.
    Checking,
    /// What the run made is being removed.
    Removing,
    /// The run has ended with a result.
    Ended(&'a RunResult),
}

/// Who is told. Called on the coordinating thread, between intervals: be quick.
pub trait Observer {
    /// Something happened.
    fn event(&self, event: Event<'_>);
}

/// Tells nobody.
impl Observer for () {
    fn event(&self, _event: Event<'_>) {}
}
