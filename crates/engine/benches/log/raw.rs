//! The disk's own rate, for comparison with the log's rates.

use crate::Outcome;
use std::path::Path;
use syncline_instrument::clock;
use syncline_vfs::{Access, AlignedBuffer, Create, Disk, File, OpenOptions, RealDisk, WriteSync};

const FILE_BYTES: u64 = 16 << 20;
const BLOCK_BYTES: usize = 4096;

/// Synced direct writes of one block, one after another over a file of written zeros.
pub(crate) fn line(path: &Path, slice_ms: u64) -> Outcome {
    std::fs::create_dir(path).expect("a folder for the raw file");
    let file = path.join("raw");
    let buffered = RealDisk.open(&file, OpenOptions::READ_WRITE).expect("the raw file");
    buffered.preallocate(FILE_BYTES).expect("space for the raw file");
    buffered.sync_all().expect("a sync of the raw file");
    let options = |direct| OpenOptions {
        access: Access::ReadWrite,
        create: Create::Never,
        direct,
        write_sync: WriteSync::Data,
    };
    // A file system without direct writes is measured without them.
    let open =
        RealDisk.open(&file, options(true)).or_else(|_| RealDisk.open(&file, options(false)));
    let file = open.expect("the raw file again");
    let mut block = AlignedBuffer::zeroed(BLOCK_BYTES);
    let started = clock::now();
    let (mut writes, mut offset) = (0_u64, 0);
    while clock::now() - started < slice_ms * 1_000_000 {
        block[..8].copy_from_slice(&writes.to_le_bytes());
        file.write_at(&block, offset).expect("a raw write");
        offset = (offset + BLOCK_BYTES as u64) % FILE_BYTES;
        writes += 1;
    }
    let elapsed_s = (clock::now() - started) as f64 / clock::SECOND as f64;
    std::fs::remove_dir_all(path).expect("the raw folder can be removed");
    Outcome { rate_per_s: writes as f64 / elapsed_s, hash: writes, notes: String::new() }
}
