//! The sampled events, and the contents of a sample.
//!
//! Every sample holds, in this order: the event's id, the instruction pointer, process and thread, the
//! kernel's call chain and the one by frame pointers, a tracepoint's own bytes, the user registers, and a
//! copy of the top of the user stack.

use super::registers;
use perf_event_open_sys::bindings::{
    PERF_COUNT_SW_CPU_CLOCK, PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,
    PERF_SAMPLE_RAW, PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER, PERF_SAMPLE_TID,
    PERF_TYPE_SOFTWARE, PERF_TYPE_TRACEPOINT, perf_event_attr,
};
use syncline_host::tracepoint;

/// The copied bytes of the stack: enough to unwind out of libc, which has no frame pointers. More would gain
/// little, since frame pointers continue from there.
const STACK_BYTES: u32 = 1024;

/// The kinds of sampled events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Processors at work, by the CPU clock.
    Clock,
    /// System calls.
    Call,
    /// System calls that are syncs.
    Sync,
    /// A thread leaving a processor.
    Switch,
}

/// An event to sample.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub kind: Kind,
    /// One sample per this many nanoseconds of the clock, or events.
    pub period: u64,
    /// The number of the tracepoint.
    tracepoint: Option<u64>,
    /// Selects the events that count.
    pub filter: Option<String>,
}

impl Source {
    /// Samples processors at work at this frequency.
    pub(super) fn clock(samples_per_s: u32) -> Source {
        let period = syncline_instrument::clock::SECOND / u64::from(samples_per_s.max(1));
        Source { kind: Kind::Clock, period, tracepoint: None, filter: None }
    }

    /// Samples every `period`th pass of a tracepoint; the error is a sentence.
    pub(super) fn tracepoint(kind: Kind, name: &str, period: u64) -> Result<Source, String> {
        Ok(Source { kind, period, tracepoint: Some(tracepoint::number(name)?), filter: None })
    }

    /// The attributes of its perf event: `with_kernel` includes the kernel's side, and the reader is woken
    /// when the ring holds `watermark` bytes.
    pub(super) fn attributes(&self, with_kernel: bool, watermark: u32) -> perf_event_attr {
        let sampled = PERF_SAMPLE_IDENTIFIER
            | PERF_SAMPLE_IP
            | PERF_SAMPLE_TID
            | PERF_SAMPLE_CALLCHAIN
            | PERF_SAMPLE_REGS_USER
            | PERF_SAMPLE_STACK_USER;
        // The period is not in the sample: with it, the kernel samples every pass of a tracepoint.
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
        // Records that keep address spaces and the process tree current come with the clock's samples.
        attributes.set_mmap(1);
        attributes.set_mmap2(1);
        attributes.set_comm(1);
        attributes.set_comm_exec(1);
        attributes.set_task(1);
        attributes
    }

    /// True if its samples include the tracepoint's own bytes.
    pub(super) fn has_raw(kind: Kind) -> bool {
        kind != Kind::Clock
    }
}
