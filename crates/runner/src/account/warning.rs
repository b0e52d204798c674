//! What may spoil a result, with advice. A warning never changes a figure.

use std::fmt::Display;

/// Something that may spoil a result.
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
        /// Processors' worth of time.
        cpus: f64,
    },
    /// Some clients were hardly served.
    StarvedClients {
        /// Which, by number.
        clients: Vec<u64>,
        /// Of how many.
        of: usize,
    },
    /// Too few transactions for the 99.9th percentile.
    FewSamples {
        /// The transaction type.
        transaction: String,
        /// How many committed.
        count: u64,
    },
    /// The warm-up was short for what is compared with other runs.
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
    /// A transaction lasts so long that the measured span holds few of them after one another.
    LongTransactions {
        /// Half of the transactions lasted at most this, in seconds.
        p50_s: f64,
        /// The measured span in seconds.
        measured_s: f64,
    },
    /// Commits that were acknowledged after the measured span, so that they are in no rate.
    EndedLate {
        /// How many.
        late: u64,
        /// Of how many committed transactions that started in the span.
        of: u64,
    },
    /// No transaction was started in the measured span.
    NothingAttempted,
    /// Transactions were abandoned when the drain was over, or their outcome is not known.
    Unfinished {
        /// How many.
        count: u64,
    },
    /// More was offered than the clients could start.
    Overload {
        /// Arrivals for which no client was free.
        abandoned: u64,
        /// Arrivals offered.
        offered: u64,
    },
    /// Connections were lost and made again.
    Reconnected {
        /// How often.
        count: u64,
        /// Why the first was lost, by the store's word; none if that is not known.
        why: Option<String>,
    },
    /// Which number of workers commits most is within the noise of the trial.
    WorkersUnclear {
        /// The one that was taken.
        workers: usize,
        /// Each that was tried, and its least and most commits a second.
        tried: Vec<(usize, f64, f64)>,
    },
    /// More worker threads than processors wait for one another.
    TooManyWorkers {
        /// Workers.
        workers: usize,
        /// Processors.
        cores: usize,
    },
    /// The checks could not be made.
    ChecksNotMade {
        /// Why.
        why: String,
    },
    /// Sessions whose transactions did not end wait for something.
    SessionsWait {
        /// For what, by the store's word.
        why: String,
    },
    /// The store did not say its counters or how far away it is.
    NotAnswered {
        /// Why.
        why: String,
    },
    /// What kept rows are now could not be written into the store.
    NotMarked {
        /// Why.
        why: String,
    },
    /// What the run made could not be removed.
    NotRemoved {
        /// Why.
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

    /// What was seen: one sentence without a final period.
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
                    "which number of workers commits most is within the noise of the trial ({}); {workers} taken",
                    each.collect::<Vec<_>>().join(", ")
                )
            }
            Warning::TooManyWorkers { workers, cores } => {
                format!("{} share {}", plural(*workers, "worker"), plural(*cores, "processor"))
            }
            Warning::ChecksNotMade { why } => format!("the checks were not made: {why}"),
            Warning::SessionsWait { why } => {
                format!("transactions did not end since their sessions wait: {why}")
            }
            Warning::NotAnswered { why } => {
                format!("the store did not answer what it was asked around the run: {why}")
            }
            Warning::NotMarked { why } => {
                format!("what the kept rows are now could not be read and marked: {why}")
            }
            Warning::NotRemoved { why } => {
                format!("what the run made in the store was not removed: {why}")
            }
        }
    }

    /// What to do about it: one sentence without a final period.
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
                "run for longer than clients think and key in, or at a higher --rate; nothing was measured"
            }
            Warning::Unfinished { .. } => {
                "give a longer --drain, or check what the store waits for"
            }
            Warning::Overload { .. } => {
                "this is a measurement of overload; lower --rate to find what the store can do"
            }
            Warning::Reconnected { .. } => "check the store's log for why it closed connections",
            Warning::WorkersUnclear { .. } => {
                "give --workers in runs that are compared with one another"
            }
            Warning::TooManyWorkers { .. } => "use at most as many workers as processors",
            Warning::ChecksNotMade { .. } => "nothing is known of whether the store kept its rows",
            Warning::SessionsWait { .. } => {
                "mend what they wait for, such as a standby that has gone, and measure again"
            }
            Warning::NotAnswered { .. } => "its counters or its round trip stay unknown",
            Warning::NotMarked { .. } => "a later run will refuse them: remove them",
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
