//! The power of a simulated disk, and the count of its operations.

use std::io;

/// Counts operations and fails during one of them.
#[derive(Debug, Default)]
pub(super) struct Power {
    operations: u64,
    /// How many more operations complete; `None` for all.
    left: Option<u64>,
    is_off: bool,
}

/// Whether the power fails during an operation: then its change is made, but neither synced nor acknowledged.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PowerState {
    Whole,
    Interrupted,
}

impl Power {
    pub(super) fn operations(&self) -> u64 {
        self.operations
    }

    /// Lets `operations` more operations complete; the power fails during the next one.
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
                return Ok(PowerState::Interrupted);
            }
            Some(left) => *left -= 1,
        }
        Ok(PowerState::Whole)
    }
}

impl PowerState {
    /// Ends an operation; fails if the power failed during it.
    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            PowerState::Whole => Ok(()),
            PowerState::Interrupted => Err(power_is_off()),
        }
    }
}

fn power_is_off() -> io::Error {
    io::Error::other("the power is off")
}
