//! The user registers from which a thread's stack is unwound.
//!
//! The kernel stores registers in the order of the bits of a mask, lowest first; the numbers are those of its
//! `asm/perf_regs.h`.

/// The registers of a thread outside the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Registers {
    /// The next instruction.
    pub instruction: u64,
    /// The top of the stack.
    pub stack: u64,
    /// The frame pointer, if the code keeps one.
    pub frame: u64,
    /// The return address, if a register holds it.
    pub link: u64,
}

#[cfg(target_arch = "x86_64")]
mod machine {
    use super::Registers;

    const BP: u32 = 6;
    const SP: u32 = 7;
    const IP: u32 = 8;
    pub(in super::super) const MASK: u64 = 1 << BP | 1 << SP | 1 << IP;
    pub(in super::super) const COUNT: usize = 3;

    pub(in super::super) fn from_sample(values: [u64; COUNT]) -> Registers {
        let [frame, stack, instruction] = values;
        Registers { instruction, stack, frame, link: 0 }
    }
}

#[cfg(target_arch = "aarch64")]
mod machine {
    use super::Registers;

    const X29: u32 = 29;
    const LR: u32 = 30;
    const SP: u32 = 31;
    const PC: u32 = 32;
    pub(in super::super) const MASK: u64 = 1 << X29 | 1 << LR | 1 << SP | 1 << PC;
    pub(in super::super) const COUNT: usize = 4;

    pub(in super::super) fn from_sample(values: [u64; COUNT]) -> Registers {
        let [frame, link, stack, instruction] = values;
        Registers { instruction, stack, frame, link }
    }
}

pub(super) use machine::{COUNT, MASK, from_sample};
