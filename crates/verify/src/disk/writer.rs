//! The writer: a block, a sync, a promise; over and over, until something cuts it off.

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

/// Blocks between two words to whoever looks on.
const PROGRESS_EVERY: u64 = 256;

/// The method by which a block is made stable: one of those that any disk offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method(SyncMethod);

impl Method {
    /// Those that there are.
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

    /// None if it is not one of them.
    pub fn of(method: SyncMethod) -> Option<Method> {
        Method::ALL.contains(&method).then_some(Method(method))
    }

    /// Its name in records.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// How the file is opened for it.
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
            // The write itself was the sync.
            _ => Ok(()),
        }
    }
}

/// When a writer ends by itself; both none: when it is cut off or asked to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// After so many blocks.
    pub blocks: Option<u64>,
    /// After so long.
    pub time: Option<Duration>,
}

/// What a writer does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Whose disk, and where.
    pub subject: Subject,
    /// The method under test.
    pub method: Method,
    /// Of a block: a multiple of 512, from 512 to 1 MiB.
    pub block_bytes: u32,
    /// Blocks of the file, a power of two.
    pub slots: u64,
    /// When it ends.
    pub limit: Limit,
    /// Begin even if the last run's cut was not judged.
    pub abandon: bool,
}

/// What a writer did that ended in good order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Blocks written, synced and promised.
    pub blocks: u64,
}

/// Writes until a limit, `stop` or a cut; `progress` is told 0 when the first block is about to be written,
/// and every few hundred blocks how many there are. An error before that is a refusal; one behind it means
/// that it was cut off: by its disk, or by its witness.
pub fn write<D: Disk>(
    disk: &D,
    plan: &Plan,
    caller: &mut WitnessClient,
    stop: &AtomicBool,
    progress: &dyn Fn(u64),
) -> Result<Written> {
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
    Ok(Written { blocks: sequence })
}

impl Plan {
    fn checked(&self) -> Result<SlotSequence> {
        let bytes = self.block_bytes;
        if !(BLOCK_BYTES_MIN..=BLOCK_BYTES_MAX).contains(&bytes) || !bytes.is_multiple_of(512) {
            return Err(Error::cannot(format!(
                "a block of {bytes} bytes is no multiple of 512 from {BLOCK_BYTES_MIN} to {BLOCK_BYTES_MAX}"
            )));
        }
        SlotSequence::over(self.slots).ok_or_else(|| {
            let slots = self.slots;
            Error::cannot(format!("{slots} blocks are no power of two up to 2^24"))
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
    /// Writes a block and makes it stable, then its control, which it does not; the block's checksum.
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
