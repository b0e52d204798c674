//! What a worker and its clients leave behind when they have run.

use crate::account::worker_stats::WorkerStats;
use syncline_contract::Workload;
use syncline_instrument::Nanos;

/// Clients between two worker pools, each with its number, in the order of the numbers.
pub(crate) type Clients<W> = Vec<(usize, <W as Workload>::Client)>;

/// What a worker leaves behind.
pub(crate) struct WorkerReport<W: Workload> {
    pub meter: WorkerStats,
    pub clients: Vec<FinishedClient<W::Client>>,
    /// Processor time from the start to the end of the clients, spinning taken off.
    pub cpu_ns: Nanos,
    /// Processor time spent spinning until an arrival was due.
    pub spun_ns: Nanos,
    /// Wall clock of the same.
    pub wall_ns: Nanos,
}

/// What a client leaves behind.
pub(crate) struct FinishedClient<C> {
    pub number: usize,
    pub commits: u64,
    /// The client itself: taken by the checks, or by the coordinator under which it goes on.
    pub client: Option<C>,
}
