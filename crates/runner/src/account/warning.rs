//! Conditions that may invalidate a result, with advice. A warning never changes a figure.

use std::fmt::Display;

/// A condition that may invalidate a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
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
    ForeignLoad {
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

impl Warning {
    /// A stable name in records.
    pub fn name(&self) -> &'static str {
        match self {
            Warning::FrequencyScaling { .. } => "frequency_scaling",
            Warning::Steal { .. } => "steal",
            Warning::ForeignLoad { .. } => "foreign_load",
            Warning::StarvedClients { .. } => "starved_clients",
            Warning::FewSamples { .. } => "few_samples",
            Warning::ShortWarmUp { .. } => "short_warm_up",
            Warning::Drift { .. } => "drift",
            Warning::DebugBuild => "debug_build",
            Warning::LongTransactions { .. } => "long_transactions",
            Warning::EndedLate { .. } => "ended_late",
            Warning::NothingAttempted => "nothing_attempted",
            Warning::Unfinished { .. } => "unfinished",
            Warning::Overload { .. } => "overload",
            Warning::Reconnected { .. } => "reconnected",
            Warning::WorkersUnclear { .. } => "workers_unclear",
            Warning::TooManyWorkers { .. } => "too_many_workers",
            Warning::ChecksNotMade { .. } => "checks_not_made",
            Warning::SessionsWait { .. } => "sessions_wait",
            Warning::NotAnswered { .. } => "not_answered",
            Warning::NotMarked { .. } => "not_marked",
            Warning::NotRemoved { .. } => "not_removed",
        }
    }

    /// The observation: one sentence without a final period.
    pub fn what(&self) -> String {
        match self {
            Warning::FrequencyScaling { governor } => {
                format!("the processors change their frequency (governor {governor})")
            }
            Warning::Steal { share } => format!(
                "the hypervisor gave {:.1} % of the processor time to others",
                share * 100.0
            ),
            Warning::ForeignLoad { cpus } => {
                format!("other processes used {cpus:.2} processors while this was measured")
            }
            Warning::StarvedClients { clients, of } => format!(
                "{} of {} committed less than a tenth of an even share: {} {}",
                clients.len(),
                plural(*of, "client"),
                if clients.len() == 1 { "number" } else { "numbers" },
                numbers(clients)
            ),
            Warning::FewSamples { transaction, count } => format!(
                "{count} transactions of type {transaction} are too few for a 99.9th percentile"
            ),
            Warning::ShortWarmUp { seconds } if *seconds <= 0.0 => {
                "there was no warm-up".to_owned()
            }
            Warning::ShortWarmUp { seconds } => format!("the warm-up took only {seconds} s"),
            Warning::Drift { ratio } => {
                format!("the rate at the end of the run was {ratio:.2} times that at its start")
            }
            Warning::DebugBuild => "this program was built without optimization".to_owned(),
            Warning::LongTransactions { p50_s, measured_s } => format!(
                "half of the transactions lasted up to {p50_s:.3} s in a span of {measured_s:.3} s"
            ),
            Warning::EndedLate { late, of } => format!(
                "{late} of {} acknowledged after the measured time and not in the rate",
                were(*of, "commit")
            ),
            Warning::NothingAttempted => {
                "no transaction was started in the measured span".to_owned()
            }
            Warning::Unfinished { count } => {
                format!("{} no known outcome", have(*count, "transaction"))
            }
            Warning::Overload { abandoned, offered } => {
                format!("{abandoned} of {offered} arrivals found no free client before the end")
            }
            Warning::Reconnected { count, why } => {
                let why =
                    why.as_ref().map_or_else(String::new, |why| format!("; the first: {why}"));
                format!("{} lost{why}", were(*count, "connection"))
            }
            Warning::WorkersUnclear { workers, tried } => {
                let each = tried.iter().map(|(workers, least, most)| {
                    format!("{workers}: {least:.0}/s to {most:.0}/s")
                });
                format!(
                    "the worker trials do not show clearly which number of workers commits most ({}); {workers} \
                     used",
                    each.collect::<Vec<_>>().join(", ")
                )
            }
            Warning::TooManyWorkers { workers, cores } => {
                format!("{} share {}", plural(*workers, "worker"), plural(*cores, "processor"))
            }
            Warning::ChecksNotMade { why } => format!("the workload's checks did not run: {why}"),
            Warning::SessionsWait { why } => {
                format!("transactions did not end because their sessions wait: {why}")
            }
            Warning::NotAnswered { why } => {
                format!("the store did not report its counters or its round trip: {why}")
            }
            Warning::NotMarked { why } => {
                format!("the kept rows could not be marked with their new content: {why}")
            }
            Warning::NotRemoved { why } => {
                format!("the run's tables in the store were not removed: {why}")
            }
        }
    }

    /// The advice: one sentence without a final period.
    pub fn advice(&self) -> &'static str {
        match self {
            Warning::FrequencyScaling { .. } => {
                "set the governor to performance: cpupower frequency-set -g performance"
            }
            Warning::Steal { .. } => {
                "repeat when the host is quiet, or compare only runs that were interleaved"
            }
            Warning::ForeignLoad { .. } => {
                "stop other programs, or compare only runs that were interleaved"
            }
            Warning::StarvedClients { .. } => {
                "check the busy timeout / lock wait settings; clients that waited through the whole run are not in \
                 the percentiles"
            }
            Warning::FewSamples { .. } => "run longer, or use no percentile above the 99th",
            Warning::ShortWarmUp { .. } => "use --warm-up 5s or longer for results you keep",
            Warning::Drift { .. } => "warm up longer and run longer, and check the intervals",
            Warning::DebugBuild => "build with --release",
            Warning::LongTransactions { .. } => "run at least ten times as long",
            Warning::EndedLate { .. } => {
                "run at least a hundred times as long as a transaction takes"
            }
            Warning::NothingAttempted => {
                "nothing was measured: run longer than the keying and think times, or at a higher --rate"
            }
            Warning::Unfinished { .. } => {
                "give a longer --drain, or check what the store waits for"
            }
            Warning::Overload { .. } => {
                "this run measures overload; lower --rate to find the rate that the store can sustain"
            }
            Warning::Reconnected { .. } => "check the store's log for why it closed connections",
            Warning::WorkersUnclear { .. } => {
                "set --workers in runs that are compared with each other"
            }
            Warning::TooManyWorkers { .. } => "use at most as many workers as processors",
            Warning::ChecksNotMade { .. } => "it is unknown whether the store kept its rows",
            Warning::SessionsWait { .. } => {
                "fix what they wait for, such as a lost standby, and measure again"
            }
            Warning::NotAnswered { .. } => "the missing figures stay unknown",
            Warning::NotMarked { .. } => "remove the kept rows: later runs will refuse them",
            Warning::NotRemoved { .. } => crate::error::REMOVE_BY_HAND,
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
