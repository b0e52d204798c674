//! The measured span and the rate: what is counted, and by what time it is divided.
//!
//! 1. A rate is committed work divided by the time in which that work was done; docs/method.md has the
//!    definition.
//! 2. A run by time measures from the end of the warm-up to the deadline, or to the moment at which it was
//!    stopped or its store failed. It counts the commits that were acknowledged in that time, whenever their
//!    transactions started. A transaction that ends after the deadline is not counted.
//! 3. A run by count measures from the end of the warm-up to the end of its last transaction, and counts the
//!    commits among the transactions of its budget.
//! 4. So a rate never counts work of a time that it does not divide by. At each end of the span it may be off
//!    by what one transaction of each client is worth; a transaction under way at the begin counts, one under
//!    way at the end does not, and in the mean the two cancel.
//! 5. In a run by time without a warm-up nothing is under way at the begin: the rate is too low by what was
//!    under way at the end, never too high.
//!
//! Pure arithmetic over times that were read elsewhere.

use syncline_instrument::Nanos;

/// When the phases of a run begin and end, in time of the one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PhaseTimes {
    /// The clients start.
    pub start: Nanos,
    /// The measured span begins.
    pub measure: Nanos,
    /// The measured span ends, whatever else may end it before.
    pub deadline: Nanos,
}

/// On which side of the measured span something ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// In the warm-up.
    Before,
    /// In the measured span: behind its begin, and at its end at the latest.
    Inside,
    /// Behind the deadline, or when no transaction could start any more.
    After,
}

impl When {
    /// When something ended, in a run that was still going on (`running`) or was not.
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

/// How long of a time lies in the measured span, as far as that reaches: a run may end before its deadline.
#[inline]
pub(crate) fn inside_ns(from: Nanos, until: Nanos, times: &PhaseTimes) -> Nanos {
    until.min(times.deadline).saturating_sub(from.max(times.measure))
}

/// What ended in the measured span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub committed: u64,
    pub aborted: u64,
}

impl Counts {
    /// Adds others.
    pub(crate) fn merge(&mut self, other: Counts) {
        self.committed += other.committed;
        self.aborted += other.aborted;
    }
}

/// What ended the span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanEnd {
    /// The deadline, a stop or a failure; transactions stopped starting then.
    Time {
        /// When transactions stopped starting; the deadline counts if it came before.
        ended_at: Nanos,
    },
    /// The last transaction of a budget, which ended then.
    Count {
        /// When it ended.
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

/// Of what ended in the span, and of what started in it, the counts that a rate is made of.
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
    fn the_span_holds_its_end_and_not_its_begin() {
        let times = PhaseTimes { start: 10, measure: 20, deadline: 30 };
        let when = |ended| When::of(ended, &times, true);
        assert_eq!([when(15), when(20)], [When::Before; 2]);
        assert_eq!([when(21), when(30)], [When::Inside; 2]);
        assert_eq!(when(31), When::After);
        assert_eq!(When::of(25, &times, false), When::After);
    }
}
