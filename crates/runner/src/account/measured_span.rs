//! The measured span and the rate: which commits count, and which time they are divided by.
//!
//! 1. A rate is committed work divided by the time in which that work was done; docs/method.md has the
//!    definition.
//! 2. A run by time measures from the end of the warm-up to the deadline, or to the moment at which it was
//!    stopped or its store failed. It counts the commits that were acknowledged in that time, whenever their
//!    transactions started. A transaction that ends after the deadline is not counted.
//! 3. A run by count measures from the end of the warm-up to the end of its last transaction, and counts the
//!    commits among the transactions of its budget.
//! 4. So a rate never counts work from outside the time that it divides by. At each end of the span it may be
//!    off by one transaction per client. A transaction under way at the start counts, one under way at the
//!    end does not; on average the two cancel.
//! 5. In a run by time without a warm-up no transaction is under way at the start. The rate is then too low
//!    by what was under way at the end, never too high.
//!
//! Pure arithmetic over times that were read elsewhere.

use syncline_instrument::Nanos;

/// When the phases of a run begin and end, on the clock of `syncline_instrument::clock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PhaseTimes {
    /// The clients start.
    pub start: Nanos,
    /// The measured span begins.
    pub measure: Nanos,
    /// The latest end of the measured span; other events may end it earlier.
    pub deadline: Nanos,
}

/// On which side of the measured span something ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// In the warm-up.
    Before,
    /// In the measured span: after its start, and not after its end.
    Inside,
    /// After the deadline, or after transactions stopped starting.
    After,
}

impl When {
    /// The side on which `ended` falls. `running` is false if transactions had stopped starting by then.
    #[inline]
    pub(crate) fn of(ended: Nanos, times: &PhaseTimes, running: bool) -> When {
        if ended > times.deadline || !running {
            When::After
        } else if ended > times.measure {
            When::Inside
        } else {
            When::Before
        }
    }
}

/// The overlap of the time from `from` to `until` with the planned measured span. The run itself may end
/// before its deadline.
#[inline]
pub(crate) fn inside_ns(from: Nanos, until: Nanos, times: &PhaseTimes) -> Nanos {
    until.min(times.deadline).saturating_sub(from.max(times.measure))
}

/// Counts of ended transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub committed: u64,
    pub aborted: u64,
}

impl Counts {
    pub(crate) fn merge(&mut self, other: Counts) {
        self.committed += other.committed;
        self.aborted += other.aborted;
    }
}

/// The event that ended the span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanEnd {
    /// The deadline, a stop or a failure.
    Time {
        /// When transactions stopped starting; the deadline counts if it is earlier.
        ended_at: Nanos,
    },
    /// The end of the last transaction of a budget.
    Count {
        /// When that transaction ended.
        last_ended: Nanos,
    },
}

/// The length of the measured span; zero if the run ended before it began.
pub(crate) fn length(times: &PhaseTimes, end: SpanEnd) -> Nanos {
    let end = match end {
        SpanEnd::Time { ended_at } => ended_at.min(times.deadline),
        SpanEnd::Count { last_ended } => last_ended,
    };
    end.saturating_sub(times.measure)
}

/// The counts that a rate uses: those that ended in the span, or in a run by count those that started in it.
pub(crate) fn counted(end: SpanEnd, in_span: Counts, started_in_span: Counts) -> Counts {
    match end {
        SpanEnd::Time { .. } => in_span,
        SpanEnd::Count { .. } => started_in_span,
    }
}

#[cfg(test)]
mod tests {
    use super::{PhaseTimes, When};

    /// f01
    #[test]
    fn the_span_includes_its_end_and_excludes_its_start() {
        let times = PhaseTimes { start: 10, measure: 20, deadline: 30 };
        let when = |ended| When::of(ended, &times, true);
        assert_eq!([when(15), when(20)], [When::Before; 2]);
        assert_eq!([when(21), when(30)], [When::Inside; 2]);
        assert_eq!(when(31), When::After);
        assert_eq!(When::of(25, &times, false), When::After);
    }
}
