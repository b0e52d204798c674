//! Processor time by the word of the store's own threads, for a store in this process that says which
//! module each of its threads is in (`instrument::tag`).
//!
//! Each such thread has a timer that runs with its processor time. When it strikes, the thread itself
//! notes its module, in a signal handler, and goes on. So a module is met as often as it uses a
//! processor, and nobody else needs one to look. It needs no privileges and no unwinding.
//!
//! Why not by a thread that looks: tried, left to the scheduler, bound to each processor in turn, and of
//! real-time priority. Beside sampled stacks the log's share was too large by 40 to 80 % each time, and
//! nearly all looks came later than they were due by 20 us and more. Likely, not shown: such a thread needs
//! a processor when the store does, and wakes late when the store waits for a sync.
//!
//! It sees nothing of threads that never entered a module, and what a tagged thread does outside of all
//! modules is charged to the laboratory, whose thread it is.

mod tag_sampler;
mod thread_timer;
mod tick_counts;

pub(super) use tag_sampler::TagSampler;
pub(crate) use tag_sampler::refusal;
pub(super) use thread_timer::thread_cpu_ns;
