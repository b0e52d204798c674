//! A commit's way through the log: permit, number, published record, ticket.
//!
//! A transaction takes a [`Permit`] while it prepares: this may wait, and it is the last step that can be
//! refused. [`Permit::take`] assigns the commit sequence number; from there to [`Reserved::publish`] or
//! [`Reserved::void`] nothing waits and nothing fails. Dropping a [`Reserved`] without either leaves a gap
//! that no later commit could pass, so it closes the log.

use crate::ids::Csn;
use crate::log::frame::Kind;
use crate::log::frame_writer::claim_bytes;
use crate::log::handle::Log;
use crate::planted_bug::{PlantedBug, planted};
use crate::sync::atomic::{Ordering, fence};
use syncline_instrument::{Module, tag};
use syncline_vfs::Disk;

/// Room for one record.
#[derive(Debug)]
#[must_use = "a permit that is dropped gives its room back"]
pub struct Permit<'l, D: Disk> {
    log: &'l Log<D>,
    content_bytes: usize,
    used: bool,
}

/// A position in the order of commits, to be filled.
#[derive(Debug)]
#[must_use = "a number that is neither published nor voided closes the log"]
pub struct Reserved<'l, D: Disk> {
    log: &'l Log<D>,
    csn: Csn,
    content_bytes: usize,
    filled: bool,
}

/// A published commit: complete when the durable LSN reaches it. It belongs to the log that issued it; any
/// other log refuses it. Callers cannot make or change a ticket, so checking the log's number is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket {
    pub(crate) csn: Csn,
    /// The log's number in the process.
    pub(super) log: u32,
}

impl Ticket {
    /// The commit's number.
    #[inline]
    pub fn csn(&self) -> Csn {
        self.csn
    }
}

impl<'l, D: Disk> Permit<'l, D> {
    pub(super) fn new(log: &'l Log<D>, content_bytes: usize) -> Permit<'l, D> {
        Permit { log, content_bytes, used: false }
    }

    /// Takes the next number. Call it when all locks are held and before reads are validated: then the order
    /// of numbers is an order in which the transactions could have run one by one.
    #[inline]
    pub fn take(mut self) -> Reserved<'l, D> {
        self.used = true;
        Reserved {
            log: self.log,
            csn: self.log.shared().ring.take(),
            content_bytes: self.content_bytes,
            filled: false,
        }
    }
}

impl<D: Disk> Drop for Permit<'_, D> {
    fn drop(&mut self) {
        if !self.used {
            let shared = self.log.shared();
            shared.ring.unclaim(claimed(self.log, self.content_bytes));
        }
    }
}

impl<D: Disk> Reserved<'_, D> {
    /// The commit's number.
    pub fn csn(&self) -> Csn {
        self.csn
    }

    /// Publishes the record, after the transaction was applied. Leaves in `record` an empty buffer with the
    /// memory of an earlier record. The record may be shorter than the permit, not longer.
    #[inline]
    pub fn publish(mut self, record: &mut Vec<u8>) -> Ticket {
        let _entered = tag::enter(Module::Logging);
        let length = record.len();
        assert!(length <= self.content_bytes, "a record must not be longer than its permit");
        self.fill(Kind::Transaction, record, length);
        if record.capacity() == 0 {
            *record = self.log.shared().buffers.take();
        }
        // Threads waiting for later commits may have found this gap and gone to sleep, and the caller need
        // not wait for this commit. Both sides publish first and fence, and only then check the other's slot:
        // at least one of them sees both.
        fence(Ordering::SeqCst);
        let shared = self.log.shared();
        if shared.ring.is_published(self.csn.next()) && !planted(PlantedBug::LeaveGapWaiters) {
            shared.hand_over();
        }
        self.log.ticket(self.csn)
    }

    /// Gives the number up: the transaction was refused after it had taken it.
    pub fn void(mut self) {
        let _entered = tag::enter(Module::Logging);
        self.fill(Kind::Void, &mut Vec::new(), 0);
        // Threads waiting for later commits may have found a gap and gone to sleep; fenced as in `publish`.
        fence(Ordering::SeqCst);
        if !planted(PlantedBug::LeaveVoidWaiters) {
            self.log.shared().hand_over();
        }
    }

    #[inline]
    fn fill(&mut self, kind: Kind, record: &mut Vec<u8>, length: usize) {
        self.filled = true;
        let ring = &self.log.shared().ring;
        if length < self.content_bytes {
            let unused = claimed(self.log, self.content_bytes) - claimed(self.log, length);
            if unused > 0 {
                ring.bytes_written(unused);
            }
        }
        ring.publish(self.csn, kind, record);
    }
}

impl<D: Disk> Drop for Reserved<'_, D> {
    fn drop(&mut self) {
        if !self.filled {
            let what = "a transaction stopped between its number and its record";
            self.log.shared().fail(what);
        }
    }
}

/// The bytes that a permit for a record of `content_bytes` claims.
#[inline]
pub(super) fn claimed<D: Disk>(log: &Log<D>, content_bytes: usize) -> u64 {
    let options = &log.shared().options;
    let frame_bytes_max = options.frame_bytes_max as usize;
    claim_bytes(content_bytes, options.frame_unit_bytes, frame_bytes_max)
}
