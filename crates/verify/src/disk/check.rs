//! The check after a cut: reads the blocks, compares them with the promises, and reports the judgement to the
//! witness.

use super::block::{BLOCK_BYTES_MAX, BLOCK_BYTES_MIN, BlockState, open};
use super::cut_kind::{Cut, Kind};
use super::finding::{FORMAT, Finding, Verdict};
use super::judgement::Expected;
use super::slot_sequence::SlotSequence;
use super::test_files::{TestDirectory, failed};
use super::witness_client::{LastPromises, WitnessClient};
use crate::error::{Error, Result};
use std::path::PathBuf;
use syncline_vfs::{AlignedBuffer, Disk, File};

/// A disk under test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The name under which the witness knows it.
    pub name: String,
    /// A directory on it.
    pub directory: PathBuf,
    /// The id of this machine's current boot.
    pub boot: String,
}

/// Reads the blocks of a subject's last run and judges them. `cut` is the operator's statement of what was
/// done.
pub fn check<D: Disk>(
    disk: &D,
    subject: &Subject,
    cut: Option<Cut>,
    caller: &mut WitnessClient,
) -> Result<Finding> {
    let place = TestDirectory::in_directory(disk, &subject.directory);
    place.must_be_free()?;
    let promised = caller.ask(&subject.name)?;
    let begin = promised.begin.clone();
    let kind = Kind::of(begin.boot == subject.boot, promised.end, cut)?;
    let expected = expected(promised)?;
    let [blocks, controls] = place.open()?;
    let read = |file: Option<D::File>| read(file.as_ref(), begin.block_bytes, begin.slots);
    let judgement = expected.judge(kind, &read(blocks)?, &read(controls)?);
    let cuts = caller.judged(&judgement)?;
    let mut finding = Finding {
        format: FORMAT,
        subject: begin.subject,
        method: begin.method,
        block_bytes: begin.block_bytes,
        slots: begin.slots,
        judgement,
        cuts,
        verdict: Verdict::Unknown(String::new()),
    };
    finding.verdict = finding.judge();
    Ok(finding)
}

/// Validates the witness's answer: it comes from another machine and sizes allocations.
fn expected(promised: LastPromises) -> Result<Expected> {
    let begin = &promised.begin;
    let possible = (BLOCK_BYTES_MIN..=BLOCK_BYTES_MAX).contains(&begin.block_bytes)
        && promised.count < u64::MAX;
    let walk = SlotSequence::over(begin.slots).filter(|_| possible);
    Ok(Expected {
        run: begin.run.0,
        walk: walk.ok_or_else(|| {
            Error::cannot("the witness describes an impossible run; check its ledger")
        })?,
        block_bytes: begin.block_bytes,
        promised: promised.count,
        checksums: promised.latest.into_iter().collect(),
    })
}

/// The state of each slot.
fn read(file: Option<&impl File>, block_bytes: u32, slots: u64) -> Result<Vec<BlockState>> {
    let mut found = vec![BlockState::Nothing; slots as usize];
    let Some(file) = file else {
        return Ok(found);
    };
    let len = file.len().map_err(failed)?;
    let mut block = AlignedBuffer::zeroed(block_bytes as usize);
    for (slot, found) in (0..).zip(&mut found) {
        let offset = slot * u64::from(block_bytes);
        if offset >= len {
            break;
        }
        *found = match file.read_at(&mut block, offset) {
            Ok(bytes) => open(&block[..bytes]),
            Err(_) => BlockState::Unreadable,
        };
    }
    Ok(found)
}
