//! The power of a simulated disk, and the count of its operations.

use std::io;

/// Counts operations and goes off during one of them.
#[derive(Debug, Default)]
pub(super) struct Power {
    operations: u64,
    /// How many more operations pass whole; `None` is no end.
    left: Option<u64>,
    is_off: bool,
}

/// Whether an operation is the one during which the power goes off: its change is made, but neither
/// synced nor answered.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PowerState {
    Whole,
    Cut,
}

impl Power {
    pub(super) fn operations(&self) -> u64 {
        self.operations
    }

    /// Lets so many operations more pass; the next one is cut.
    pub(super) fn off_after(&mut self, operations: u64) {
        self.left = Some(operations);
    }

    /// Fails if the power is off.
    pub(super) fn check(&self) -> io::Result<()> {
        if self.is_off { Err(power_is_off()) } else { Ok(()) }
    }

    /// Counts an operation that changes or syncs.
    pub(super) fn begin(&mut self) -> io::Result<PowerState> {
        self.check()?;
        self.operations += 1;
        match &mut self.left {
            None => {}
            Some(0) => {
                self.is_off = true;
                return Ok(PowerState::Cut);
            }
            Some(left) => *left -= 1,
        }
        Ok(PowerState::Whole)
    }
}

impl PowerState {
    /// The end of what a cut operation still does.
    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            PowerState::Whole => Ok(()),
            PowerState::Cut => Err(power_is_off()),
        }
    }
}

fn power_is_off() -> io::Error {
    io::Error::other("the power is off")
}
