//! Samples processor time by module tags: for a store in this process whose threads tag the module that each
//! of them is in (`instrument::tag`).
//!
//! Each such thread has a timer on its own processor time. When it fires, a signal handler on the thread
//! counts the thread's current module. So a module is counted in proportion to its processor time, and no
//! other thread needs a processor to sample. It requires no privileges and no unwinding.
//!
//! A separate sampling thread was tried instead: left to the scheduler, bound to each processor in turn, and
//! with real-time priority. Compared with sampled stacks, the log's share was too large by 40 to 80 % each
//! time, and nearly all samples came 20 us or more after they were due. The likely (not proven) reason is
//! that such a thread needs a processor when the store does, and wakes late when the store waits for a sync.
//!
//! Threads that never entered a module are not sampled, and the time of a tagged thread outside all modules
//! is charged to the laboratory, which owns the thread.

mod tag_sampler;
mod thread_timer;
mod tick_counts;

pub(super) use tag_sampler::TagSampler;
pub(crate) use tag_sampler::refusal;
pub(super) use thread_timer::thread_cpu_ns;
