//! The program `syncline`. Everything is in the library, so that a program with a third-party store can use
//! it too.

use std::process::ExitCode;

fn main() -> ExitCode {
    syncline_cli::main()
}
