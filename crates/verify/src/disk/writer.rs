//! The writer: a block, a sync, a promise, repeated until something interrupts it.

use super::block::{BLOCK_BYTES_MAX, BLOCK_BYTES_MIN, Label, Role, seal};
use super::check::Subject;
use super::protocol::{Begin, RunName};
use super::slot_sequence::SlotSequence;
use super::test_files::{Files, TestDirectory, failed};
use super::witness_client::WitnessClient;
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use syncline_instrument::clock;
use syncline_vfs::{AlignedBuffer, Disk, File, OpenOptions, SyncMethod, WriteSync};

/// Blocks between two calls of `progress`.
const PROGRESS_EVERY: u64 = 256;

/// The method that makes a block stable: one that every disk offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method(SyncMethod);

impl Method {
    /// All methods that a run can use.
    pub const ALL: [SyncMethod; 8] = [
        SyncMethod::Fsync,
        SyncMethod::Fdatasync,
        SyncMethod::OSync,
        SyncMethod::ODsync,
        SyncMethod::DirectFsync,
        SyncMethod::DirectFdatasync,
        SyncMethod::DirectOSync,
        SyncMethod::DirectODsync,
    ];

    /// None if the method is not one of [`Method::ALL`].
    pub fn of(method: SyncMethod) -> Option<Method> {
        Method::ALL.contains(&method).then_some(Method(method))
    }

    /// Its name in records.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// The options with which the file is opened for this method.
    pub(super) fn options(self, options: OpenOptions) -> OpenOptions {
        OpenOptions {
            direct: self.0.is_direct(),
            write_sync: match self.0 {
                SyncMethod::OSync | SyncMethod::DirectOSync => WriteSync::Full,
                SyncMethod::ODsync | SyncMethod::DirectODsync => WriteSync::Data,
                _ => WriteSync::No,
            },
            ..options
        }
    }

    fn write(self, file: &impl File, block: &[u8], offset: u64) -> syncline_vfs::Result<()> {
        file.write_at(block, offset)?;
        match self.0 {
            SyncMethod::Fsync | SyncMethod::DirectFsync => file.sync_all(),
            SyncMethod::Fdatasync | SyncMethod::DirectFdatasync => file.sync_data(),
            // The write itself was synced.
            _ => Ok(()),
        }
    }
}

/// When a writer ends by itself. Without either limit it ends when it is cut off or requested to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// After this many blocks.
    pub blocks: Option<u64>,
    /// After this time.
    pub time: Option<Duration>,
}

/// The parameters of a writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The disk under test.
    pub subject: Subject,
    /// The method under test.
    pub method: Method,
    /// Size of a block: a multiple of 512, from 512 to 1 MiB.
    pub block_bytes: u32,
    /// Number of blocks in the file, a power of two.
    pub slots: u64,
    /// When it ends.
    pub limit: Limit,
    /// Begins even if the last run was cut off and not judged.
    pub abandon: bool,
}

/// The result of a writer that ended in an orderly way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteResult {
    /// Blocks written, synced and promised.
    pub blocks: u64,
}

/// Writes until a limit, `stop` or a cut. Calls `progress` with 0 before the first block, and with the number
/// of blocks after every few hundred. An error before `progress(0)` is a refusal; a later one means that the
/// disk or the witness cut the writer off.
pub fn write<D: Disk>(
    disk: &D,
    plan: &Plan,
    caller: &mut WitnessClient,
    stop: &AtomicBool,
    progress: &dyn Fn(u64),
) -> Result<WriteResult> {
    let walk = plan.checked()?;
    let place = TestDirectory::in_directory(disk, &plan.subject.directory);
    place.must_be_free()?;
    let run = u128::from(clock::wall()) << 64 | u128::from(fastrand::u64(..));
    caller.begin(Begin {
        subject: plan.subject.name.clone(),
        run: RunName(run),
        boot: plan.subject.boot.clone(),
        method: plan.method.name().to_owned(),
        block_bytes: plan.block_bytes,
        slots: plan.slots,
        abandon: plan.abandon,
    })?;
    let mut writer = Writer {
        plan,
        walk,
        run,
        files: place.make(plan.method)?,
        block: AlignedBuffer::zeroed(plan.block_bytes as usize),
    };
    progress(0);
    let began = clock::now();
    let mut sequence = 0;
    while !stop.load(Ordering::Relaxed) && plan.limit.is_open(sequence, began) {
        let checksum = writer.put(sequence)?;
        caller.promise(sequence, checksum)?;
        sequence += 1;
        if sequence.is_multiple_of(PROGRESS_EVERY) {
            progress(sequence);
        }
    }
    caller.leave()?;
    Ok(WriteResult { blocks: sequence })
}

impl Plan {
    fn checked(&self) -> Result<SlotSequence> {
        let bytes = self.block_bytes;
        if !(BLOCK_BYTES_MIN..=BLOCK_BYTES_MAX).contains(&bytes) || !bytes.is_multiple_of(512) {
            return Err(Error::cannot(format!(
                "a block of {bytes} bytes is not a multiple of 512 from {BLOCK_BYTES_MIN} to {BLOCK_BYTES_MAX}"
            )));
        }
        SlotSequence::over(self.slots).ok_or_else(|| {
            let slots = self.slots;
            Error::cannot(format!("{slots} blocks are not a power of two up to 2^24"))
        })
    }
}

impl Limit {
    fn is_open(self, blocks: u64, began: clock::Nanos) -> bool {
        self.blocks.is_none_or(|most| blocks < most)
            && self.time.is_none_or(|time| clock::now() - began < clock::nanos(time))
    }
}

struct Writer<'w, F> {
    plan: &'w Plan,
    walk: SlotSequence,
    run: u128,
    files: Files<F>,
    block: AlignedBuffer,
}

impl<F: File> Writer<'_, F> {
    /// Writes a block and syncs it, then writes its control without a sync; returns the block's checksum.
    fn put(&mut self, sequence: u64) -> Result<u32> {
        let offset = self.walk.slot(sequence) * u64::from(self.plan.block_bytes);
        let mut label =
            Label { run: self.run, sequence, offset, time_ns: clock::wall(), role: Role::Tested };
        let checksum = seal(label, &mut self.block);
        let method = self.plan.method;
        let written = method.write(&self.files.blocks, &self.block, offset);
        written.map_err(failed)?;
        label.role = Role::Control;
        seal(label, &mut self.block);
        let written = self.files.control.write_at(&self.block, offset);
        written.map_err(failed)?;
        Ok(checksum)
    }
}
