//! Conditions that may invalidate a result, with advice. A warning never changes a figure.

use std::fmt::Display;

/// A condition that may invalidate a result, with its figures; the record's `Warning` is its text.
#[derive(Clone, Debug, PartialEq)]
pub enum RunWarning {
    /// The processors change their frequency.
    FrequencyScaling {
        /// The governor in force.
        governor: String,
    },
    /// The hypervisor gave processor time to others.
    Steal {
        /// Share of all processors' time, 0 to 1.
        share: f64,
    },
    /// Other processes used the processors.
    OtherLoad {
        /// Processor time over wall-clock time.
        cpus: f64,
    },
    /// Some clients were hardly served.
    StarvedClients {
        /// Their numbers.
        clients: Vec<u64>,
        /// The number of all clients.
        of: usize,
    },
    /// Too few transactions for the 99.9th percentile.
    FewSamples {
        /// The transaction type.
        transaction: String,
        /// Committed transactions of the type.
        count: u64,
    },
    /// The warm-up was too short for a comparison with other runs.
    ShortWarmUp {
        /// Its length in seconds.
        seconds: f64,
    },
    /// The rate still changed while it was measured.
    Drift {
        /// Commits a second in the last third of the intervals over those in the first third.
        ratio: f64,
    },
    /// The laboratory was built without optimization.
    DebugBuild,
    /// Transactions take so long that the measured span has room for only a few in a row.
    LongTransactions {
        /// The median service time of the slowest transaction type, in seconds.
        p50_s: f64,
        /// The measured span in seconds.
        measured_s: f64,
    },
    /// Commits that were acknowledged after the measured span, so that they are in no rate.
    EndedLate {
        /// The number of those commits.
        late: u64,
        /// The number of all committed transactions that started in the span.
        of: u64,
    },
    /// No transaction was started in the measured span.
    NothingAttempted,
    /// Transactions were abandoned at the end of the drain, or their outcome is unknown.
    Unfinished {
        /// The number of those transactions.
        count: u64,
    },
    /// The load offered more than the clients could start.
    Overload {
        /// Arrivals for which no client was free.
        abandoned: u64,
        /// Arrivals offered.
        offered: u64,
    },
    /// Connections were lost and reopened.
    Reconnected {
        /// The number of lost connections.
        count: u64,
        /// Why the first was lost, as the store reported it; `None` if unknown.
        why: Option<String>,
    },
    /// The worker trials differ by no more than their noise.
    WorkersUnclear {
        /// The chosen number of workers.
        workers: usize,
        /// Each number tried, with its lowest and highest commits a second.
        tried: Vec<(usize, f64, f64)>,
    },
    /// There are more worker threads than processors, so that workers wait for each other.
    TooManyWorkers {
        /// Workers.
        workers: usize,
        /// Processors.
        cores: usize,
    },
    /// The workload's checks could not run.
    ChecksNotMade {
        /// The reason.
        why: String,
    },
    /// Sessions whose transactions did not end wait for something.
    SessionsWait {
        /// What they wait for, as the store reported it.
        why: String,
    },
    /// The store did not report its counters or its round trip.
    NotAnswered {
        /// The reason.
        why: String,
    },
    /// The mark of the kept rows could not be updated.
    NotMarked {
        /// The reason.
        why: String,
    },
    /// The run's tables could not be removed.
    NotRemoved {
        /// The reason.
        why: String,
    },
}

impl RunWarning {
    /// A stable name in records.
    pub fn name(&self) -> &'static str {
        match self {
            RunWarning::FrequencyScaling { .. } => "frequency_scaling",
            RunWarning::Steal { .. } => "steal",
            RunWarning::OtherLoad { .. } => "foreign_load",
            RunWarning::StarvedClients { .. } => "starved_clients",
            RunWarning::FewSamples { .. } => "few_samples",
            RunWarning::ShortWarmUp { .. } => "short_warm_up",
            RunWarning::Drift { .. } => "drift",
            RunWarning::DebugBuild => "debug_build",
            RunWarning::LongTransactions { .. } => "long_transactions",
            RunWarning::EndedLate { .. } => "ended_late",
            RunWarning::NothingAttempted => "nothing_attempted",
            RunWarning::Unfinished { .. } => "unfinished",
            RunWarning::Overload { .. } => "overload",
            RunWarning::Reconnected { .. } => "reconnected",
            RunWarning::WorkersUnclear { .. } => "workers_unclear",
            RunWarning::TooManyWorkers { .. } => "too_many_workers",
            RunWarning::ChecksNotMade { .. } => "checks_not_made",
            RunWarning::SessionsWait { .. } => "sessions_wait",
            RunWarning::NotAnswered { .. } => "not_answered",
            RunWarning::NotMarked { .. } => "not_marked",
            RunWarning::NotRemoved { .. } => "not_removed",
        }
    }

    /// The observation: one sentence without a final period.
    pub fn what(&self) -> String {
        match self {
            RunWarning::FrequencyScaling { governor } => {
                format!("the processors change their frequency (governor {governor})")
            }
            RunWarning::Steal { share } => format!(
                "the hypervisor gave {:.1} % of the processor time to others",
                share * 100.0
            ),
            RunWarning::OtherLoad { cpus } => {
                format!("other processes used {cpus:.2} processors while this was measured")
            }
            RunWarning::StarvedClients { clients, of } => format!(
                "{} of {} committed less than a tenth of an even share: {} {}",
                clients.len(),
                plural(*of, "client"),
                if clients.len() == 1 { "number" } else { "numbers" },
                numbers(clients)
            ),
            RunWarning::FewSamples { transaction, count } => format!(
                "{count} transactions of type {transaction} are too few for a 99.9th percentile"
            ),
            RunWarning::ShortWarmUp { seconds } if *seconds <= 0.0 => {
                "there was no warm-up".to_owned()
            }
            RunWarning::ShortWarmUp { seconds } => format!("the warm-up took only {seconds} s"),
            RunWarning::Drift { ratio } => {
                format!("the rate at the end of the run was {ratio:.2} times that at its start")
            }
            RunWarning::DebugBuild => "this program was built without optimization".to_owned(),
            RunWarning::LongTransactions { p50_s, measured_s } => format!(
                "half of the transactions lasted up to {p50_s:.3} s in a span of {measured_s:.3} s"
            ),
            RunWarning::EndedLate { late, of } => format!(
                "{late} of {} acknowledged after the measured time and not in the rate",
                were(*of, "commit")
            ),
            RunWarning::NothingAttempted => {
                "no transaction was started in the measured span".to_owned()
            }
            RunWarning::Unfinished { count } => {
                format!("{} no known outcome", have(*count, "transaction"))
            }
            RunWarning::Overload { abandoned, offered } => {
                format!("{abandoned} of {offered} arrivals found no free client before the end")
            }
            RunWarning::Reconnected { count, why } => {
                let why =
                    why.as_ref().map_or_else(String::new, |why| format!("; the first: {why}"));
                format!("{} lost{why}", were(*count, "connection"))
            }
            RunWarning::WorkersUnclear { workers, tried } => {
                let each = tried.iter().map(|(workers, least, most)| {
                    format!("{workers}: {least:.0}/s to {most:.0}/s")
                });
                format!(
                    "the worker trials do not show clearly which number of workers commits most ({}); {workers} \
                     used",
                    each.collect::<Vec<_>>().join(", ")
                )
            }
            RunWarning::TooManyWorkers { workers, cores } => {
                format!("{} share {}", plural(*workers, "worker"), plural(*cores, "processor"))
            }
            RunWarning::ChecksNotMade { why } => {
                format!("the workload's checks did not run: {why}")
            }
            RunWarning::SessionsWait { why } => {
                format!("transactions did not end because their sessions wait: {why}")
            }
            RunWarning::NotAnswered { why } => {
                format!("the store did not report its counters or its round trip: {why}")
            }
            RunWarning::NotMarked { why } => {
                format!("the kept rows could not be marked with their new content: {why}")
            }
            RunWarning::NotRemoved { why } => {
                format!("the run's tables in the store were not removed: {why}")
            }
        }
    }

    /// The advice: one sentence without a final period.
    pub fn advice(&self) -> &'static str {
        match self {
            RunWarning::FrequencyScaling { .. } => {
                "set the governor to performance: cpupower frequency-set -g performance"
            }
            RunWarning::Steal { .. } => {
                "repeat when the host is quiet, or compare only runs that were interleaved"
            }
            RunWarning::OtherLoad { .. } => {
                "stop other programs, or compare only runs that were interleaved"
            }
            RunWarning::StarvedClients { .. } => {
                "check the busy timeout / lock wait settings; clients that waited through the whole run are not in \
                 the percentiles"
            }
            RunWarning::FewSamples { .. } => "run longer, or use no percentile above the 99th",
            RunWarning::ShortWarmUp { .. } => "use --warm-up 5s or longer for results you keep",
            RunWarning::Drift { .. } => "warm up longer and run longer, and check the intervals",
            RunWarning::DebugBuild => "build with --release",
            RunWarning::LongTransactions { .. } => "run at least ten times as long",
            RunWarning::EndedLate { .. } => {
                "run at least a hundred times as long as a transaction takes"
            }
            RunWarning::NothingAttempted => {
                "nothing was measured: run longer than the keying and think times, or at a higher --rate"
            }
            RunWarning::Unfinished { .. } => {
                "give a longer --drain, or check what the store waits for"
            }
            RunWarning::Overload { .. } => {
                "this run measures overload; lower --rate to find the rate that the store can sustain"
            }
            RunWarning::Reconnected { .. } => "check the store's log for why it closed connections",
            RunWarning::WorkersUnclear { .. } => {
                "set --workers in runs that are compared with each other"
            }
            RunWarning::TooManyWorkers { .. } => "use at most as many workers as processors",
            RunWarning::ChecksNotMade { .. } => "it is unknown whether the store kept its rows",
            RunWarning::SessionsWait { .. } => {
                "fix what they wait for, such as a lost standby, and measure again"
            }
            RunWarning::NotAnswered { .. } => "the missing figures stay unknown",
            RunWarning::NotMarked { .. } => "remove the kept rows: later runs will refuse them",
            RunWarning::NotRemoved { .. } => crate::error::REMOVE_BY_HAND,
        }
    }
}

/// "1 client", "8 clients".
fn plural<N: Copy + Display + From<u8> + PartialEq>(count: N, noun: &str) -> String {
    let ending = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// "1 connection was", "2 connections were".
fn were<N: Copy + Display + From<u8> + PartialEq>(count: N, noun: &str) -> String {
    let verb = if count == N::from(1) { "was" } else { "were" };
    format!("{} {verb}", plural(count, noun))
}

/// "1 transaction has", "2 transactions have".
fn have<N: Copy + Display + From<u8> + PartialEq>(count: N, noun: &str) -> String {
    let verb = if count == N::from(1) { "has" } else { "have" };
    format!("{} {verb}", plural(count, noun))
}

/// The first few numbers of a list, and how many more there are.
fn numbers(list: &[u64]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = list.iter().take(SHOWN).map(u64::to_string).collect();
    let more = list.len().saturating_sub(SHOWN);
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
