//! How the program ends: 0 it ran and holds, 1 a promise failed or something got slower, 2 it could
//! not run.

use std::fmt::Display;
use std::process::ExitCode;

/// What a verb found, when it could run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It ran, and what was looked at holds.
    Holds,
    /// It gave what it could, and could not do all that was asked; the reason has been printed.
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

/// Why a verb could not run: one sentence without a final period.
#[derive(Debug)]
pub struct CannotRun(pub String);

impl CannotRun {
    /// From anything that prints as a sentence.
    pub fn because(why: impl Display) -> CannotRun {
        CannotRun(why.to_string())
    }
}

impl<E: std::error::Error> From<E> for CannotRun {
    fn from(error: E) -> CannotRun {
        CannotRun(error.to_string())
    }
}

/// What a verb returns.
pub type Outcome = Result<Verdict, CannotRun>;
