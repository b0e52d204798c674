//! A system call with an arbitrary value in the frame pointer's register, as C libraries make them. For
//! tests, on x86-64.

#![allow(unsafe_code, reason = "nothing safe puts a number into that register")]

use std::arch::asm;

/// `getppid`.
const CALL: u64 = 110;

/// Calls `getppid` with `frame` in the frame pointer's register.
pub(super) fn call_with_frame(frame: u64) {
    // SAFETY: the call takes no argument and writes no memory; the registers that the kernel changes are
    // declared, and the frame pointer is restored after it.
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
