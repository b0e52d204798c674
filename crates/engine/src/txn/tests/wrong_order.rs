//! The commit with its steps in a wrong order: planted bugs that tests must find.

use crate::buffer::{Miss, without_misses};
use crate::error::{Error, Result};
use crate::log::Ticket;
use crate::planted_bug::{PlantedBug, planted};
use crate::step::{Step, step};
use crate::txn::apply::{apply, collect};
use crate::txn::commit::{enter, leave, plan, prepare, resolve, take_number, validate_reads};
use crate::txn::core::Core;
use crate::txn::lock::{lock_rows, unlock_rows};
use crate::txn::transaction::Transaction;
use crate::txn::validate::Stopped;
use syncline_vfs::Disk;

/// The planted order, if there is one.
pub(in crate::txn) fn planted_order() -> Option<PlantedBug> {
    [
        PlantedBug::NumberBeforeLocks,
        PlantedBug::ValidateBeforeNumber,
        PlantedBug::PublishBeforeApply,
    ]
    .into_iter()
    .find(|&plant| planted(plant))
}

/// As the real commit, except for the planted order.
pub(in crate::txn) fn commit<D: Disk>(
    core: &Core<D>,
    txn: &mut Transaction,
    order: PlantedBug,
) -> Result<Ticket> {
    plan(core, txn)?;
    loop {
        let mut permit = Some(prepare(core, txn)?);
        let Some(section) = enter(core, txn) else {
            drop(permit);
            core.wait_for_gate()?;
            continue;
        };
        let mut number = None;
        if order == PlantedBug::NumberBeforeLocks {
            number = permit.take().map(take_number);
        }
        if let Err(stopped) = without_misses(|| lock_rows(core, txn)) {
            unlock_rows(core, txn);
            if let Some(number) = number {
                number.void();
            }
            leave(section);
            resolve(core, txn, stopped)?;
            continue;
        }
        if order == PlantedBug::PublishBeforeApply {
            number = permit.take().map(take_number);
        }
        let validated = validate_reads(core, txn);
        if order == PlantedBug::ValidateBeforeNumber && validated.is_ok() {
            number = permit.take().map(take_number);
        }
        if let Err(stopped) = validated {
            unlock_rows(core, txn);
            if let Some(number) = number {
                number.void();
            }
            leave(section);
            match stopped {
                Stopped::Conflict(conflict) => return Err(Error::Conflict(conflict)),
                Stopped::Miss(page) => core.buffer.load(Miss(page))?,
            }
            continue;
        }
        let number = number.expect("each order takes a number");
        let csn = number.csn();
        let ticket = if order == PlantedBug::PublishBeforeApply {
            // Applying reads the after-images in the record.
            let mut copy = txn.commit.record.clone();
            step(Step::Publish);
            let ticket = number.publish(&mut copy);
            without_misses(|| apply(core, txn, csn));
            ticket
        } else {
            without_misses(|| apply(core, txn, csn));
            step(Step::Publish);
            number.publish(&mut txn.commit.record)
        };
        without_misses(|| collect(core, txn, ticket.csn));
        leave(section);
        return Ok(ticket);
    }
}
