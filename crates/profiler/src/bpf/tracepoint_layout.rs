//! The layout constants of the programs: offsets in tracepoint records, which differ between kernels and come
//! from the trace file system; offsets in the structure of registers, which differ between architectures; and
//! the numbers of system calls, which do too.

use syncline_host::{sync_call_numbers, tracepoint};

/// The programs' constants with their values.
pub(super) type Offsets = Vec<(&'static str, u32)>;

/// A constant, the tracepoint and its field.
const FIELDS: [(&str, &str, &str); 14] = [
    ("AT_PREV_STATE", "sched/sched_switch", "prev_state"),
    ("AT_NEXT_PID", "sched/sched_switch", "next_pid"),
    ("AT_PARENT_PID", "sched/sched_process_fork", "parent_pid"),
    ("AT_CHILD_PID", "sched/sched_process_fork", "child_pid"),
    ("AT_QUEUE_SECTOR", "block/block_bio_queue", "sector"),
    ("AT_QUEUE_FLAGS", "block/block_bio_queue", "rwbs"),
    ("AT_ISSUE_DEVICE", "block/block_rq_issue", "dev"),
    ("AT_ISSUE_SECTOR", "block/block_rq_issue", "sector"),
    ("AT_ISSUE_SECTORS", "block/block_rq_issue", "nr_sector"),
    ("AT_ISSUE_FLAGS", "block/block_rq_issue", "rwbs"),
    ("AT_REQUEUE_DEVICE", "block/block_rq_requeue", "dev"),
    ("AT_REQUEUE_SECTOR", "block/block_rq_requeue", "sector"),
    ("AT_REQUEUE_SECTORS", "block/block_rq_requeue", "nr_sector"),
    ("AT_REQUEUE_FLAGS", "block/block_rq_requeue", "rwbs"),
];

/// The numbers of the system calls that are syncs.
const SYNCS: [&str; 4] = ["SYNC_A", "SYNC_B", "SYNC_C", "SYNC_D"];

/// All constants for this machine; the error is a sentence.
pub(super) fn offsets() -> Result<Offsets, String> {
    let mut offsets = registers()?;
    offsets.extend(SYNCS.into_iter().zip(sync_call_numbers()?));
    for (constant, name, field) in FIELDS {
        let at = tracepoint::offset(name, field)?;
        offsets.push((constant, u32::try_from(at).map_err(|error| error.to_string())?));
    }
    Ok(offsets)
}

/// The offsets of the user's registers, in the structure that debuggers receive.
fn registers() -> Result<Offsets, String> {
    let none = u32::MAX;
    let [instruction, stack, frame, link] = if cfg!(target_arch = "x86_64") {
        [128, 152, 32, none]
    } else if cfg!(target_arch = "aarch64") {
        [256, 248, 232, 240]
    } else {
        return Err(format!(
            "the profiler's BPF programs support the registers of x86_64 and aarch64, not of {}",
            std::env::consts::ARCH
        ));
    };
    Ok(vec![
        ("AT_INSTRUCTION", instruction),
        ("AT_STACK", stack),
        ("AT_FRAME", frame),
        ("AT_LINK", link),
    ])
}
