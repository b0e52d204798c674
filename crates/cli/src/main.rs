//! The program `syncline`. Everything is in the library, so that a program with a third-party store can use
//! it too.

use std::process::ExitCode;

/// For static binaries: musl's own allocator takes a lock for every allocation, which would be measured
/// instead of the stores.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    syncline_cli::main()
}
