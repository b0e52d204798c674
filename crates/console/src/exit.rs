//! Exit codes: 0 the command ran and everything holds; 1 a promise failed or something became slower; 2 the
//! command could not run, or not completely.

use std::fmt::Display;
use std::process::ExitCode;

/// The result of a command that could run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It ran, and everything it checked holds.
    Holds,
    /// It did part of the work; the reason for the rest has been printed.
    Partial,
    /// It ran, and a promise failed or a comparison found a regression.
    Broken,
}

impl Verdict {
    /// The worse of two.
    #[must_use]
    pub fn and(self, other: Verdict) -> Verdict {
        self.max(other)
    }

    /// The exit code.
    pub fn code(self) -> ExitCode {
        match self {
            Verdict::Holds => ExitCode::SUCCESS,
            Verdict::Broken => ExitCode::from(1),
            Verdict::Partial => ExitCode::from(2),
        }
    }
}

/// Why a command could not run: one sentence without a final period.
#[derive(Debug)]
pub struct CannotRun(pub String);

impl CannotRun {
    /// Wraps anything that prints as a sentence.
    pub fn because(why: impl Display) -> CannotRun {
        CannotRun(why.to_string())
    }
}

impl<E: std::error::Error> From<E> for CannotRun {
    fn from(error: E) -> CannotRun {
        CannotRun(error.to_string())
    }
}

/// What a command returns.
pub type Outcome = Result<Verdict, CannotRun>;
