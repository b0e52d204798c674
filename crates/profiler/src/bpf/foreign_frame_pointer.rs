//! A system call with something else in the register of the frame pointer, as libraries of C make them. For
//! tests, on x86-64.

#![allow(unsafe_code, reason = "nothing safe puts a number into that register")]

use std::arch::asm;

/// `getppid`.
const CALL: u64 = 110;

/// Asks for the parent's number, with a number of one's own where the frame pointer should be.
pub(super) fn call_with_frame(frame: u64) {
    // SAFETY: the call takes nothing and writes to no memory; what the kernel changes is declared, and the
    // register has its own value again behind it.
    unsafe {
        asm!(
            "push rbp",
            "mov rbp, {frame}",
            "syscall",
            "pop rbp",
            frame = in(reg) frame,
            inlateout("rax") CALL => _,
            out("rcx") _,
            out("r11") _,
        );
    }
}
