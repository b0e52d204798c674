//! The final report of a worker and its clients.

use crate::account::worker_stats::WorkerStats;
use syncline_contract::Workload;
use syncline_instrument::Nanos;

/// Clients that move from one worker pool to the next, each with its number, in the order of the numbers.
pub(crate) type Clients<W> = Vec<(usize, <W as Workload>::Client)>;

/// The report of one worker.
pub(crate) struct WorkerReport<W: Workload> {
    pub stats: WorkerStats,
    pub clients: Vec<FinishedClient<W::Client>>,
    /// Processor time from the start to the end of the clients, without spinning.
    pub cpu_ns: Nanos,
    /// Processor time spent spinning until an arrival was due.
    pub spun_ns: Nanos,
    /// Wall-clock time from the start to the end of the clients.
    pub wall_ns: Nanos,
}

/// The report of one client.
pub(crate) struct FinishedClient<C> {
    pub number: usize,
    pub commits: u64,
    /// The client itself; the checks take it, or the next coordinator if it continues to run.
    pub client: Option<C>,
}
