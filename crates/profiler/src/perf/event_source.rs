//! What is sampled, and what each sample brings with it.
//!
//! Every sample holds, in this order: the event's number, the instruction pointer, process and thread,
//! the kernel's chain of return addresses and the one by frame pointers, of a tracepoint its own bytes,
//! the user's registers, and a copy of the top of the user's stack.

use super::registers;
use perf_event_open_sys::bindings::{
    PERF_COUNT_SW_CPU_CLOCK, PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,
    PERF_SAMPLE_RAW, PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER, PERF_SAMPLE_TID,
    PERF_TYPE_SOFTWARE, PERF_TYPE_TRACEPOINT, perf_event_attr,
};
use syncline_host::tracepoint;

/// How much of the stack is copied: enough to climb out of libc, which has no frame pointers. More
/// hardly finds more, since frame pointers lead on from there.
const STACK_BYTES: u32 = 1024;

/// What is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Processors at work, by the clock.
    Clock,
    /// System calls.
    Call,
    /// System calls that are syncs.
    Sync,
    /// A thread leaving a processor.
    Switch,
}

/// One thing to sample.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub kind: Kind,
    /// One sample for so many nanoseconds of the clock, or for so many events.
    pub period: u64,
    /// The number of the tracepoint.
    tracepoint: Option<u64>,
    /// Which events count.
    pub filter: Option<String>,
}

impl Source {
    /// Processors at work, so many times a second.
    pub(super) fn clock(looks_per_s: u32) -> Source {
        let period = syncline_instrument::clock::SECOND / u64::from(looks_per_s.max(1));
        Source { kind: Kind::Clock, period, tracepoint: None, filter: None }
    }

    /// Every `period`th pass of a tracepoint; the error is a sentence.
    pub(super) fn tracepoint(kind: Kind, name: &str, period: u64) -> Result<Source, String> {
        Ok(Source { kind, period, tracepoint: Some(tracepoint::number(name)?), filter: None })
    }

    /// The event that samples it; `with_kernel` if also what the kernel does is to be seen, `watermark`
    /// bytes in the ring at which the reader is woken.
    pub(super) fn attributes(&self, with_kernel: bool, watermark: u32) -> perf_event_attr {
        let sampled = PERF_SAMPLE_IDENTIFIER
            | PERF_SAMPLE_IP
            | PERF_SAMPLE_TID
            | PERF_SAMPLE_CALLCHAIN
            | PERF_SAMPLE_REGS_USER
            | PERF_SAMPLE_STACK_USER;
        // Without the period in it: with it, the kernel samples every pass of a tracepoint.
        let mut attributes = perf_event_attr {
            type_: PERF_TYPE_SOFTWARE,
            config: PERF_COUNT_SW_CPU_CLOCK.into(),
            sample_type: sampled.into(),
            sample_regs_user: registers::MASK,
            sample_stack_user: STACK_BYTES,
            ..perf_event_attr::default()
        };
        attributes.__bindgen_anon_1.sample_period = self.period;
        if let Some(tracepoint) = self.tracepoint {
            attributes.type_ = PERF_TYPE_TRACEPOINT;
            attributes.config = tracepoint;
            attributes.sample_type |= u64::from(PERF_SAMPLE_RAW);
        }
        attributes.set_disabled(1);
        attributes.set_exclude_hv(1);
        attributes.set_exclude_guest(1);
        attributes.set_exclude_idle(1);
        if !with_kernel {
            attributes.set_exclude_kernel(1);
            attributes.set_exclude_callchain_kernel(1);
        }
        attributes.set_watermark(1);
        attributes.__bindgen_anon_2.wakeup_watermark = watermark;
        // What keeps address spaces and families current comes with the samples of the clock.
        attributes.set_mmap(1);
        attributes.set_mmap2(1);
        attributes.set_comm(1);
        attributes.set_comm_exec(1);
        attributes.set_task(1);
        attributes
    }

    /// True if its samples bring bytes of their own.
    pub(super) fn has_raw(kind: Kind) -> bool {
        kind != Kind::Clock
    }
}
