//! A large object is written and read with a small part of it in memory, also where the database's cache is
//! much smaller. The test has a process of its own, so that no other test's memory counts.

#[path = "shared/anonymous_memory.rs"]
mod anonymous_memory;

use anonymous_memory::anonymous_bytes;
use std::io::{Read, Write};
use syncline_engine::{Begin, BufferMode, Database, Options, log};

const CACHE_BYTES: u64 = 16 << 20;
const OBJECT_BYTES: u64 = 64 << 20;

/// What the log, the threads and the allocator may take besides.
const OTHER_BYTES: u64 = 16 << 20;

/// Bytes of the object from `offset` on.
fn fill(bytes: &mut [u8], offset: u64) {
    for (word, number) in bytes.chunks_exact_mut(8).zip(offset / 8..) {
        word.copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes());
    }
}

#[test]
fn an_object_of_four_caches_passes_through_one() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        log: log::Options { durability: log::Durability::None, ..log::Options::default() },
        ..Options::with_cache(BufferMode::Disk, CACHE_BYTES)
    };
    let before = anonymous_bytes();
    let database = Database::create(directory.path().join("db"), options).unwrap();
    let objects = database.large_objects("files").unwrap();
    let most = CACHE_BYTES / 100 * 115 + OTHER_BYTES;
    let check = |what: &str| {
        let taken = anonymous_bytes().saturating_sub(before);
        assert!(taken <= most, "{what}: {} KiB of {} KiB", taken >> 10, most >> 10);
    };
    let (mut piece, mut expected) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    let mut writer = objects.write(&database).unwrap();
    for offset in (0..OBJECT_BYTES).step_by(piece.len()) {
        fill(&mut piece, offset);
        writer.write_all(&piece).unwrap();
        check("writing");
    }
    let id = writer.finish(|_, id| Ok::<_, syncline_engine::Error>(id)).unwrap();

    let mut session = database.session().unwrap();
    let transaction = session.transaction(Begin::ReadOnlyDurable).unwrap();
    let mut reader = objects.read(&transaction, id).unwrap().unwrap();
    assert_eq!(reader.len_bytes(), OBJECT_BYTES);
    for offset in (0..OBJECT_BYTES).step_by(piece.len()) {
        reader.read_exact(&mut piece).unwrap();
        fill(&mut expected, offset);
        assert!(piece == expected, "64 KiB from {offset} on");
        check("reading");
    }
    drop(transaction);
    assert!(database.run(|transaction| objects.delete(transaction, id)).unwrap());
    check("deleting");
}
