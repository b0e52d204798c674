//! Events of a run in progress, for progress bars and for records that grow with each interval.

use crate::account::result::{RunHead, RunResult};
use syncline_record::Interval;

/// An event of a run, in the order of the phases.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A case of an interleaved series begins.
    Case {
        /// The case's name.
        name: &'a str,
        /// The number of the repetition, from 1.
        repetition: usize,
        /// The number of all repetitions.
        repetitions: usize,
    },
    /// The tables are being created.
    Creating,
    /// Rows are being loaded.
    Loading {
        /// Units loaded so far: rows, or small groups of rows that belong together.
        units: u64,
        /// The number of all units.
        of: u64,
    },
    /// Clients are being connected.
    Connecting {
        /// The number of clients.
        clients: usize,
    },
    /// The clients are about to start; the head holds everything that is fixed by now.
    Started(&'a RunHead),
    /// Clients run; nothing is measured yet.
    WarmingUp,
    /// The overhead A/B test of the profiler is running.
    MeasuringOverhead,
    /// The measured span has begun.
    Measuring,
    /// An interval of the measured span has ended.
    Interval(&'a Interval),
    /// No transaction starts any more; those under way may end.
    Draining,
    /// The workload's checks are running.
    Checking,
    /// The run's tables are being removed, or kept.
    Removing,
    /// The run has ended with a result.
    Ended(&'a RunResult),
}

/// Receives the events of a run. The coordinating thread calls it between intervals, so it must be quick.
pub trait Observer {
    /// Handles an event.
    fn event(&self, event: Event<'_>);
}

/// Ignores all events.
impl Observer for () {
    fn event(&self, _event: Event<'_>) {}
}
