//! A store's own cumulative counters: commits, log syncs, log bytes, as counted by the store.
//!
//! Counters only grow while the store runs, so two readings can be subtracted. A value that the store does
//! not count, or not with its present settings, is listed with the reason instead of a value: unknown is
//! data. The laboratory identifies a counter by its [`Meaning`], never by its name.

/// The meaning of a counter, in Syncline's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Meaning {
    /// Committed transactions of all clients; includes read-only ones if there is a counter of
    /// [`Meaning::TransactionIds`].
    Commits,
    /// Transactions that were rolled back.
    Aborts,
    /// Syncs of the log.
    LogSyncs,
    /// Writes to the log.
    LogWrites,
    /// Bytes added to the log.
    LogBytes,
    /// Time spent in syncs of the log.
    SyncTime,
    /// Time spent in writes to the log.
    WriteTime,
    /// Time that transactions waited for one another's locks.
    LockWaitTime,
    /// Commits of the data files, separate from the log, each with a sync of those files.
    DataCommits,
    /// Time spent in commits of the data files.
    DataCommitTime,
    /// Syncs of the log that were delayed because another was in progress, or writes that waited for one.
    DelayedSyncs,
    /// Transaction ids assigned. If [`Meaning::Commits`] includes read-only transactions, this counts those
    /// that may have written; a store whose commits all write does not have this counter.
    TransactionIds,
    /// Anything else that the store counts.
    Other,
}

impl Meaning {
    /// The meanings that every store lists, available or not, in the order of tables.
    pub const ALL: [Meaning; 8] = [
        Meaning::Commits,
        Meaning::Aborts,
        Meaning::LogSyncs,
        Meaning::LogWrites,
        Meaning::LogBytes,
        Meaning::SyncTime,
        Meaning::WriteTime,
        Meaning::LockWaitTime,
    ];

    /// The stable name in records.
    pub fn name(self) -> &'static str {
        match self {
            Meaning::Commits => "commits",
            Meaning::Aborts => "aborts",
            Meaning::LogSyncs => "log_syncs",
            Meaning::LogWrites => "log_writes",
            Meaning::LogBytes => "log_bytes",
            Meaning::SyncTime => "sync_time",
            Meaning::WriteTime => "write_time",
            Meaning::LockWaitTime => "lock_wait_time",
            Meaning::DataCommits => "data_commits",
            Meaning::DataCommitTime => "data_commit_time",
            Meaning::DelayedSyncs => "delayed_syncs",
            Meaning::TransactionIds => "transaction_ids",
            Meaning::Other => "other",
        }
    }

    /// The unit of its values; [`CounterUnit::Count`] unless they are bytes or times.
    pub fn unit(self) -> CounterUnit {
        match self {
            Meaning::LogBytes => CounterUnit::Bytes,
            Meaning::SyncTime
            | Meaning::WriteTime
            | Meaning::LockWaitTime
            | Meaning::DataCommitTime => CounterUnit::Nanoseconds,
            Meaning::Commits
            | Meaning::Aborts
            | Meaning::LogSyncs
            | Meaning::LogWrites
            | Meaning::DataCommits
            | Meaning::DelayedSyncs
            | Meaning::TransactionIds
            | Meaning::Other => CounterUnit::Count,
        }
    }
}

/// The unit of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterUnit {
    /// Events.
    Count,
    /// Bytes.
    Bytes,
    /// Nanoseconds, converted from the store's own unit.
    Nanoseconds,
}

impl CounterUnit {
    /// The stable name in records.
    pub fn name(self) -> &'static str {
        match self {
            CounterUnit::Count => "count",
            CounterUnit::Bytes => "bytes",
            CounterUnit::Nanoseconds => "ns",
        }
    }
}

/// One counter at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Its meaning.
    pub meaning: Meaning,
    /// The store's own name for it: `pg_stat_wal.wal_sync`.
    pub name: String,
    /// The value since the store began to count, or why there is none: "not counted by this version".
    pub value: Result<u64, String>,
    /// The unit of the value.
    pub unit: CounterUnit,
    /// How it was read: the statement, call or file.
    pub source: String,
}

impl Counter {
    /// A value that was read, in the unit of its meaning.
    pub fn read(
        meaning: Meaning,
        name: impl Into<String>,
        value: u64,
        source: impl Into<String>,
    ) -> Counter {
        Counter {
            meaning,
            name: name.into(),
            value: Ok(value),
            unit: meaning.unit(),
            source: source.into(),
        }
    }

    /// A value that the store does not provide, with the reason: a text that follows "not available: ".
    pub fn unavailable(
        meaning: Meaning,
        name: impl Into<String>,
        why: impl Into<String>,
        source: impl Into<String>,
    ) -> Counter {
        Counter {
            meaning,
            name: name.into(),
            value: Err(why.into()),
            unit: meaning.unit(),
            source: source.into(),
        }
    }

    /// The growth since an earlier reading of the same counter, or why it is unknown, for example because the
    /// counter shrank after a restart or a reset.
    pub fn grown_since(&self, before: &Counter) -> Result<u64, String> {
        let (now, before) = (self.value.clone()?, before.value.clone()?);
        now.checked_sub(before).ok_or_else(|| {
            format!(
                "it fell from {before} to {now}: the store restarted, or its counters were reset"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Counter, CounterUnit, Meaning};

    fn reading(value: u64) -> Counter {
        Counter::read(Meaning::LogBytes, "lsn", value, "SELECT")
    }

    #[test]
    fn two_readings_subtract() {
        assert_eq!(reading(7).grown_since(&reading(3)), Ok(4));
        assert_eq!(reading(7).unit, CounterUnit::Bytes);
    }

    #[test]
    fn a_counter_that_fell_is_unknown_with_a_reason() {
        let why = reading(3).grown_since(&reading(7)).unwrap_err();
        assert!(why.contains("from 7 to 3"), "{why}");
    }

    #[test]
    fn a_missing_reading_makes_the_growth_unknown() {
        let none = Counter::unavailable(Meaning::LogBytes, "lsn", "not granted", "SELECT");
        assert_eq!(reading(1).grown_since(&none), Err("not granted".to_owned()));
        assert_eq!(none.grown_since(&reading(1)), Err("not granted".to_owned()));
    }
}
