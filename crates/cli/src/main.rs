//! The program `syncline`: everything is in the library, so that a stranger's store can have it too.

use std::process::ExitCode;

fn main() -> ExitCode {
    syncline_cli::main()
}
