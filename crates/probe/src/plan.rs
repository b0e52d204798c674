//! The steps of a probe, in order.
//!
//! 1. The most important steps come first, so that a deadline or Ctrl-C costs the least.
//! 2. A step may use the fastest honest method, which is known only after the methods were measured.
//! 3. The line is always measured with 4 KiB writes that advance through written blocks.
//! 4. No cell's rate comes from less than its minimum time.

use crate::{Direction, FileState, Load, Phase, Placement, Product, Shape, SyncLine};
use syncline_instrument::Nanos;
use syncline_instrument::clock::SECOND;
use syncline_vfs::{Promise, SyncMethod};

/// The measured sizes of one write, in bytes.
const WRITE_BYTES: [usize; 6] = [256, 4_096, 8_192, 16_384, 65_536, 1_048_576];

/// The measured numbers of outstanding syncs.
const OUTSTANDING: [usize; 4] = [1, 2, 4, 16];

/// The size of one write of the line, in bytes.
pub(crate) const LINE_BYTES: usize = 4_096;

/// The size of the file of written blocks, in bytes.
pub(crate) const OVERWRITE_BYTES: u64 = 64 << 20;

/// The largest size of the files of unwritten blocks and of appending, in bytes.
pub(crate) const LAP_BYTES: u64 = 256 << 20;

/// The depths of the random reads.
const READ_DEPTHS: [usize; 2] = [1, 32];

/// A list of steps with its limits.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The kind of plan.
    pub kind: PlanKind,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Steps that have not begun by then, counted per directory, are not run.
    pub deadline_ns: Option<Nanos>,
    /// The largest file of the sequential write, over which the random reads are spread, in bytes.
    pub read_file_bytes: u64,
    /// The disk's rotation speed if the user gave it, in turns a minute.
    pub rpm: Option<u32>,
    /// The products for which the directory is judged.
    pub products: Vec<&'static Product>,
}

/// The kind of plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanKind {
    /// Every method and a sample of the other dimensions, in bursts of 0.3 s.
    Quick,
    /// Every possible cell, until steady.
    Full,
    /// The line alone, or a repetition that shows whether the machine changed.
    Brief,
    /// The operations of products, in windows apart in time.
    Fitness,
    /// Syncs at a low rate over time.
    OverTime,
    /// Steps that the caller chose.
    Custom,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Waits while the disk's counters are read.
    Idle {
        /// The duration.
        span_ns: Nanos,
    },
    /// One sync cell.
    Sync(SyncStep),
    /// `line_1`, by the given method or the fastest of the earlier cells.
    Line1 {
        /// The method.
        method: MethodChoice,
        /// The duration, in windows of 1 s.
        span_ns: Nanos,
    },
    /// `line_max`, at the given number outstanding or the best of the earlier cells.
    LineMax {
        /// The method.
        method: MethodChoice,
        /// The number outstanding; `None` for that of the best cell.
        outstanding: Option<usize>,
        /// The duration.
        span_ns: Nanos,
    },
    /// Waits while nothing is measured.
    Pause {
        /// The duration.
        span_ns: Nanos,
    },
    /// A window of a product's operations.
    Shape {
        /// The operations.
        shape: &'static Shape,
        /// The duration.
        span_ns: Nanos,
    },
    /// Starts a load in the directory, beside which the following steps are measured.
    BeginLoad {
        /// The load.
        load: Load,
        /// The time before the next step.
        lead_ns: Nanos,
    },
    /// Ends the load.
    EndLoad,
    /// Syncs at a constant low rate.
    Sample {
        /// The phase to which they belong.
        phase: Phase,
        /// The duration.
        span_ns: Nanos,
    },
    /// 4 KiB direct writes without a sync.
    PlainWrite {
        /// The duration.
        span_ns: Nanos,
    },
    /// 1 MiB direct transfers; all reads use the file of the write.
    Sequential {
        /// Read or write.
        direction: Direction,
        /// The duration.
        span_ns: Nanos,
    },
    /// Random 4 KiB direct reads.
    RandomReads {
        /// The number of concurrent readers.
        depth: usize,
        /// The duration.
        span_ns: Nanos,
    },
}

/// One sync cell of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct SyncStep {
    /// The method.
    pub method: MethodChoice,
    /// Bytes of one write.
    pub write_bytes: usize,
    /// The state of the blocks.
    pub file_state: FileState,
    /// The placement of the writes.
    pub placement: Placement,
    /// The number of outstanding syncs.
    pub outstanding: usize,
    /// The duration.
    pub span: Span,
}

/// A method, or the fastest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodChoice {
    /// This one.
    Named(SyncMethod),
    /// The honest method with the highest rate at one outstanding; the fastest buffered one if the write is
    /// too small for a direct method.
    Fastest,
}

/// The duration of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The shortest duration.
    pub min_ns: Nanos,
    /// The longest duration, reached only if the last windows still differ.
    pub max_ns: Nanos,
    /// The length of a window.
    pub window_ns: Nanos,
}

impl Span {
    /// 0.3 s in windows of 0.1 s.
    pub fn burst() -> Span {
        Span { min_ns: 3 * SECOND / 10, max_ns: 3 * SECOND / 10, window_ns: SECOND / 10 }
    }

    /// 3 to 30 s in windows of 0.5 s, until steady.
    pub fn until_steady() -> Span {
        Span { min_ns: 3 * SECOND, max_ns: 30 * SECOND, window_ns: SECOND / 2 }
    }

    /// Exactly that long, in windows of that length.
    pub fn fixed(span_ns: Nanos, window_ns: Nanos) -> Span {
        Span { min_ns: span_ns, max_ns: span_ns, window_ns }
    }
}

impl Plan {
    /// About 15 s, at most 20 s a directory: the line first, then reads, sizes and file states.
    pub fn quick() -> Plan {
        let burst = |method, write_bytes, file_state, outstanding| {
            Step::Sync(SyncStep {
                method,
                write_bytes,
                file_state,
                placement: Placement::Walk,
                outstanding,
                span: Span::burst(),
            })
        };
        let mut steps = vec![Step::Idle { span_ns: SECOND / 2 }];
        for method in SyncMethod::ALL {
            steps.push(burst(MethodChoice::Named(method), LINE_BYTES, FileState::Overwrite, 1));
        }
        for outstanding in [2, 4, 16] {
            steps.push(burst(MethodChoice::Fastest, LINE_BYTES, FileState::Overwrite, outstanding));
        }
        steps.push(Step::Line1 { method: MethodChoice::Fastest, span_ns: 2 * SECOND });
        let line_max_ns = SECOND;
        let method = MethodChoice::Fastest;
        steps.push(Step::LineMax { method, outstanding: None, span_ns: line_max_ns });
        steps.push(Step::PlainWrite { span_ns: SECOND / 5 });
        steps.push(same_block(Span::burst()));
        steps.extend(transfers(SECOND / 2, 3 * SECOND / 10));
        for file_state in FileState::ALL {
            for write_bytes in WRITE_BYTES {
                if (file_state, write_bytes) != (FileState::Overwrite, LINE_BYTES) {
                    steps.push(burst(MethodChoice::Fastest, write_bytes, file_state, 1));
                }
            }
        }
        Plan {
            kind: PlanKind::Quick,
            steps,
            deadline_ns: Some(18 * SECOND),
            read_file_bytes: 1 << 30,
            rpm: None,
            products: Vec::new(),
        }
    }

    /// Every possible combination, each until steady: hours.
    pub fn full() -> Plan {
        let mut steps = vec![Step::Idle { span_ns: 3 * SECOND }];
        // The line's own cells come first, so that a stopped probe has a line.
        let line_cell = |step: &SyncStep| {
            step.write_bytes == LINE_BYTES && step.file_state == FileState::Overwrite
        };
        let (line_cells, others): (Vec<_>, Vec<_>) = every_combination().partition(line_cell);
        steps.extend(line_cells.into_iter().map(Step::Sync));
        steps.push(Step::Line1 { method: MethodChoice::Fastest, span_ns: 10 * SECOND });
        let method = MethodChoice::Fastest;
        steps.push(Step::LineMax { method, outstanding: None, span_ns: 10 * SECOND });
        steps.push(Step::PlainWrite { span_ns: 3 * SECOND });
        steps.push(same_block(Span::until_steady()));
        steps.extend(transfers(20 * SECOND, 10 * SECOND));
        steps.extend(others.into_iter().map(Step::Sync));
        Plan {
            kind: PlanKind::Full,
            steps,
            deadline_ns: None,
            read_file_bytes: 16 << 30,
            rpm: None,
            products: Vec::new(),
        }
    }

    /// About 5 s: the line alone. Each method briefly, the fastest at 2, 4 and 16 outstanding, then the line
    /// itself.
    pub fn line() -> Plan {
        let moment = SECOND / 10;
        let cell = |method, outstanding| {
            Step::Sync(SyncStep {
                method,
                write_bytes: LINE_BYTES,
                file_state: FileState::Overwrite,
                placement: Placement::Walk,
                outstanding,
                span: Span::fixed(moment, moment),
            })
        };
        let methods = SyncMethod::ALL.map(|method| cell(MethodChoice::Named(method), 1));
        let mut steps: Vec<Step> = methods.into();
        steps.extend([2, 4, 16].map(|outstanding| cell(MethodChoice::Fastest, outstanding)));
        let method = MethodChoice::Fastest;
        steps.push(Step::Line1 { method, span_ns: 2 * SECOND });
        steps.push(Step::LineMax { method, outstanding: None, span_ns: SECOND });
        Plan { kind: PlanKind::Brief, ..Plan::custom(steps) }
    }

    /// About 3 s: the line of an earlier probe again, by the same method and number outstanding.
    pub fn brief(before: &SyncLine) -> Plan {
        let method = MethodChoice::Named(before.method);
        let mut steps = vec![Step::Line1 { method, span_ns: 2 * SECOND }];
        if let Some(outstanding) = before.line_max_outstanding {
            let outstanding = Some(outstanding);
            steps.push(Step::LineMax { method, outstanding, span_ns: SECOND });
        }
        Plan {
            kind: PlanKind::Brief,
            steps,
            deadline_ns: Some(6 * SECOND),
            read_file_bytes: 0,
            rpm: None,
            products: Vec::new(),
        }
    }

    /// The caller's own steps, without a deadline.
    pub fn custom(steps: Vec<Step>) -> Plan {
        let kind = PlanKind::Custom;
        Plan {
            kind,
            steps,
            deadline_ns: None,
            read_file_bytes: 1 << 30,
            rpm: None,
            products: Vec::new(),
        }
    }

    /// "steady" if cells ran until their windows agreed, else "burst".
    pub fn label(&self) -> &'static str {
        if self.kind == PlanKind::Full { "steady" } else { "burst" }
    }
}

/// The reason why a combination is impossible on blocks of that size; `None` if the disk may support it.
pub(crate) fn impossible(
    method: SyncMethod,
    write_bytes: usize,
    block_bytes: u64,
) -> Option<String> {
    let whole = block_bytes > 0 && (write_bytes as u64).is_multiple_of(block_bytes);
    (method.is_direct() && !whole).then(|| {
        format!("a direct write of {write_bytes} bytes is not a whole number of {block_bytes}-byte blocks")
    })
}

/// True if the method may determine the sync line.
pub(crate) fn is_honest(method: SyncMethod) -> bool {
    method.promise() != Promise::NotDurable
}

fn every_combination() -> impl Iterator<Item = SyncStep> {
    FileState::ALL.into_iter().flat_map(|file_state| {
        SyncMethod::ALL.into_iter().flat_map(move |method| {
            WRITE_BYTES.into_iter().flat_map(move |write_bytes| {
                OUTSTANDING.into_iter().map(move |outstanding| SyncStep {
                    method: MethodChoice::Named(method),
                    write_bytes,
                    file_state,
                    placement: Placement::Walk,
                    outstanding,
                    span: Span::until_steady(),
                })
            })
        })
    })
}

/// 8 KiB, always the same block, by fdatasync: the test of `pg_test_fsync`, which can be compared with the
/// turns of a known disk.
fn same_block(span: Span) -> Step {
    Step::Sync(SyncStep {
        method: MethodChoice::Named(SyncMethod::Fdatasync),
        write_bytes: 8_192,
        file_state: FileState::Overwrite,
        placement: Placement::SameBlock,
        outstanding: 1,
        span,
    })
}

fn transfers(sequential_ns: Nanos, random_ns: Nanos) -> Vec<Step> {
    let sequential = |direction| Step::Sequential { direction, span_ns: sequential_ns };
    let mut steps = vec![sequential(Direction::Write), sequential(Direction::Read)];
    steps.extend(READ_DEPTHS.map(|depth| Step::RandomReads { depth, span_ns: random_ns }));
    steps
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
