//! A store's own running counters: commits, log syncs, log bytes, as the store itself counts them.
//!
//! Counters only grow while the store runs, so that two readings can be subtracted. What a store has no
//! counter for, or does not count as it is set, is there too, with the reason in place of the value:
//! unknown is data. The laboratory finds a counter by its [`Meaning`], never by its name.

/// What a counter tells, in the laboratory's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Meaning {
    /// Transactions that were committed, by whomever; also those that only read, where there is a counter
    /// of [`Meaning::TransactionIds`].
    Commits,
    /// Transactions that were undone.
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
    /// Commits of the data files, apart from the log, each of which syncs them.
    DataCommits,
    /// Time spent in those.
    DataCommitTime,
    /// Syncs of the log that were put off because another was still under way, or writes that had to wait for
    /// it.
    DelayedSyncs,
    /// Transaction ids that were given out. Where [`Meaning::Commits`] counts transactions that only read
    /// too, this tells those that may have written; a store whose commits all write has no such counter.
    TransactionIds,
    /// Something else that the store counts.
    Other,
}

impl Meaning {
    /// Every meaning that each store answers for, available or not, in the order of tables.
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

    /// What its values are counted in; [`CounterUnit::Count`] for what is neither bytes nor time.
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

/// What a counter's value is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterUnit {
    /// Events.
    Count,
    /// Bytes.
    Bytes,
    /// Nanoseconds, whatever the store's own unit is.
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
    /// What it tells.
    pub meaning: Meaning,
    /// The store's own name for it: `pg_stat_wal.wal_sync`.
    pub name: String,
    /// Its value since the store began to count, or why there is none: "not counted by this version".
    pub value: Result<u64, String>,
    /// What the value is counted in.
    pub unit: CounterUnit,
    /// How it was read: the statement, call or file.
    pub said_by: String,
}

impl Counter {
    /// A value that was read, in the unit of its meaning.
    pub fn read(
        meaning: Meaning,
        name: impl Into<String>,
        value: u64,
        said_by: impl Into<String>,
    ) -> Counter {
        Counter {
            meaning,
            name: name.into(),
            value: Ok(value),
            unit: meaning.unit(),
            said_by: said_by.into(),
        }
    }

    /// A value that the store does not give, and why, in words that follow "not available: ".
    pub fn unavailable(
        meaning: Meaning,
        name: impl Into<String>,
        why: impl Into<String>,
        said_by: impl Into<String>,
    ) -> Counter {
        Counter {
            meaning,
            name: name.into(),
            value: Err(why.into()),
            unit: meaning.unit(),
            said_by: said_by.into(),
        }
    }

    /// By how much it has grown since an earlier reading of the same counter, or why that is not known:
    /// also when the store has started anew or its counters were reset, so that it shrank.
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
    fn a_counter_that_fell_is_unknown_and_says_why() {
        let why = reading(3).grown_since(&reading(7)).unwrap_err();
        assert!(why.contains("from 7 to 3"), "{why}");
    }

    #[test]
    fn what_was_not_available_at_either_end_stays_unknown() {
        let none = Counter::unavailable(Meaning::LogBytes, "lsn", "not granted", "SELECT");
        assert_eq!(reading(1).grown_since(&none), Err("not granted".to_owned()));
        assert_eq!(none.grown_since(&reading(1)), Err("not granted".to_owned()));
    }
}
