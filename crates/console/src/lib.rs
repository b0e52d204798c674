//! Code that all commands share for talking to the user: printing, progress, exit codes, and arguments that
//! several commands take.
//!
//! | file | what it holds |
//! |---|---|
//! | `terminal.rs` | standard output and standard error; the only file that prints |
//! | `progress.rs` | the progress bar, and the lines that replace it |
//! | `exit.rs` | the result of a command and its exit code |
//! | `value.rs` | parsers of values: times, counts, rates |
//! | `meter.rs` | `--meter`, `--sampling-hz` and `--map` |
//! | `line.rs` | `--line` |
//! | `output.rs` | `--runs` and `--json` |

mod exit;
mod line;
pub mod meter;
mod output;
pub mod progress;
pub mod terminal;
pub mod value;

pub use exit::{CannotRun, Outcome, Verdict};
pub use line::LineArg;
pub use meter::{MeterArgs, MeterTyped};
pub use output::OutputArgs;
