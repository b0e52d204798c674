//! One suite for every disk: the promises of the file module hold for the real, the counting and the
//! simulated disk.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use syncline_vfs::simulated::Metadata;
use syncline_vfs::{
    Access, AlignedBuffer, CountingDisk, Create, Disk, Error, File, OpenOptions, RealDisk,
    SimulatedDisk, WriteSync,
};

const NEW: OpenOptions = OpenOptions { create: Create::New, ..OpenOptions::READ_WRITE };
const EXISTING: OpenOptions = OpenOptions { create: Create::Never, ..OpenOptions::READ_WRITE };

fn behaves<D: Disk>(disk: &D, folder: &Path) {
    opens_as_requested(disk, &folder.join("opens"));
    reads_what_was_written(disk, &folder.join("reads"));
    changes_length(disk, &folder.join("length"));
    preallocates_zeros(disk, &folder.join("preallocates"));
    names_files(disk, &folder.join("names"));
    locks_once(disk, &folder.join("locks"));
    shares_a_lock_among_readers_only(disk, &folder.join("shared"));
    refuses_to_write_through_a_reader(disk, &folder.join("reader"));
    serves_removed_files_until_they_are_dropped(disk, &folder.join("removed"));
    every_way_of_opening_syncs(disk, &folder.join("syncs"));
    shares_handles_between_threads(disk, &folder.join("threads"));
    reads_and_writes_past_the_cache(disk, &folder.join("direct"));
}

#[test]
fn real_disk_behaves() {
    let folder = tempfile::tempdir().unwrap();
    behaves(&RealDisk, folder.path());
}

#[test]
fn counting_disk_behaves_and_counts() {
    let folder = tempfile::tempdir().unwrap();
    let disk = CountingDisk::new(RealDisk);
    behaves(&disk, folder.path());
    let counts = disk.counts();
    assert!(counts.writes > 0 && counts.reads > 0 && counts.syncs() > 0, "{counts:?}");
}

#[test]
fn simulated_disk_behaves() {
    for metadata in [Metadata::Strict, Metadata::OrderedJournal] {
        let disk = SimulatedDisk::new(7, metadata);
        disk.create_directory(Path::new("/folder")).unwrap();
        behaves(&disk, Path::new("/folder"));
        behaves(&CountingDisk::new(disk), Path::new(""));
    }
}

fn kind<T>(result: Result<T, Error>) -> Option<ErrorKind> {
    result.err().and_then(|error| error.kind())
}

fn content(file: &impl File) -> Vec<u8> {
    let mut bytes = vec![0; file.len().unwrap() as usize + 10];
    let len = file.read_at(&mut bytes, 0).unwrap();
    bytes.truncate(len);
    bytes
}

fn opens_as_requested<D: Disk>(disk: &D, folder: &Path) {
    disk.create_directory(folder).unwrap();
    let path = folder.join("file");
    assert_eq!(kind(disk.open(&path, OpenOptions::READ)), Some(ErrorKind::NotFound));
    assert_eq!(kind(disk.open(&path, EXISTING)), Some(ErrorKind::NotFound));
    let orphan = folder.join("absent").join("file");
    assert_eq!(kind(disk.open(&orphan, NEW)), Some(ErrorKind::NotFound));
    let file = disk.open(&path, NEW).unwrap();
    file.write_at(b"kept", 0).unwrap();
    assert_eq!(kind(disk.open(&path, NEW)), Some(ErrorKind::AlreadyExists));
    // Opening changes nothing in an existing file.
    for options in [OpenOptions::READ, OpenOptions::READ_WRITE, EXISTING] {
        assert_eq!(content(&disk.open(&path, options).unwrap()), b"kept");
    }
    let below_a_file = path.join("file");
    assert_eq!(kind(disk.open(&below_a_file, NEW)), Some(ErrorKind::NotADirectory));
    assert_eq!(kind(disk.open(folder, OpenOptions::READ)), Some(ErrorKind::IsADirectory));
    assert_eq!(kind(disk.open(folder, OpenOptions::READ_WRITE)), Some(ErrorKind::IsADirectory));
    let create_to_read = OpenOptions { access: Access::Read, ..OpenOptions::READ_WRITE };
    assert_eq!(kind(disk.open(&path, create_to_read)), Some(ErrorKind::InvalidInput));
}

fn reads_what_was_written<D: Disk>(disk: &D, path: &Path) {
    let file = disk.open(path, NEW).unwrap();
    assert!(file.is_empty().unwrap());
    assert_eq!(file.read_at(&mut [0; 10], 0).unwrap(), 0);
    file.write_at(b"abcdef", 2).unwrap();
    assert_eq!(content(&file), b"\0\0abcdef");
    file.write_at(b"XY", 3).unwrap();
    file.write_at(b"", 100).unwrap();
    assert_eq!(content(&file), b"\0\0aXYdef");
    let mut middle = [0; 3];
    assert_eq!(file.read_at(&mut middle, 3).unwrap(), 3);
    assert_eq!(&middle, b"XYd");
    // Fewer only at the end.
    assert_eq!(file.read_at(&mut middle, 7).unwrap(), 1);
    assert_eq!(file.read_at(&mut middle, 8).unwrap(), 0);
    assert_eq!(file.read_at(&mut middle, 1 << 40).unwrap(), 0);
    // A second handle sees it without any sync, and sees later writes.
    let second = disk.open(path, OpenOptions::READ).unwrap();
    file.write_at(b"Z", 7).unwrap();
    assert_eq!(content(&second), b"\0\0aXYdeZ");
    drop(file);
    assert_eq!(content(&second), b"\0\0aXYdeZ");
}

fn changes_length<D: Disk>(disk: &D, path: &Path) {
    let file = disk.open(path, NEW).unwrap();
    file.write_at(b"abcdef", 0).unwrap();
    file.set_len(3).unwrap();
    assert_eq!(content(&file), b"abc");
    // Truncated bytes do not come back.
    file.set_len(5).unwrap();
    assert_eq!(content(&file), b"abc\0\0");
    assert_eq!((file.len().unwrap(), file.is_empty().unwrap()), (5, false));
    file.set_len(0).unwrap();
    assert!(file.is_empty().unwrap());
}

fn preallocates_zeros<D: Disk>(disk: &D, path: &Path) {
    let file = disk.open(path, NEW).unwrap();
    file.write_at(b"abc", 0).unwrap();
    // More than one piece of zeros, and not a whole number of pieces.
    let bytes = (2 << 20) + 4321;
    file.preallocate(bytes).unwrap();
    let grown = content(&file);
    assert_eq!(grown.len() as u64, bytes);
    assert_eq!(&grown[..3], b"abc");
    assert!(grown[3..].iter().all(|&byte| byte == 0));
    // Never shrinks, never overwrites.
    file.write_at(b"xyz", bytes - 3).unwrap();
    file.preallocate(100).unwrap();
    file.preallocate(bytes).unwrap();
    let after = content(&file);
    assert_eq!(after.len() as u64, bytes);
    assert_eq!((&after[..3], &after[after.len() - 3..]), (&b"abc"[..], &b"xyz"[..]));
}

fn names_files<D: Disk>(disk: &D, folder: &Path) {
    assert_eq!(kind(disk.create_directory(&folder.join("inner"))), Some(ErrorKind::NotFound));
    disk.create_directory(folder).unwrap();
    assert_eq!(kind(disk.create_directory(folder)), Some(ErrorKind::AlreadyExists));
    let inner = folder.join("inner");
    disk.create_directory(&inner).unwrap();
    let (b, a) = (folder.join("b"), folder.join("a"));
    disk.open(&b, NEW).unwrap().write_at(b"b", 0).unwrap();
    disk.open(&a, NEW).unwrap().write_at(b"a", 0).unwrap();
    disk.open(&inner.join("c"), NEW).unwrap();
    let names = |directory: &Path| disk.list(directory).unwrap();
    let expected = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
    assert_eq!(names(folder), expected(&["a", "b", "inner"]));
    assert_eq!(names(&inner), expected(&["c"]));
    assert_eq!(kind(disk.list(&a)), Some(ErrorKind::NotADirectory));
    assert_eq!(kind(disk.list(&folder.join("absent"))), Some(ErrorKind::NotFound));

    // A rename replaces, keeps the contents, and moves between directories; handles follow the file.
    let open_b = disk.open(&b, EXISTING).unwrap();
    let open_a = disk.open(&a, EXISTING).unwrap();
    disk.rename(&b, &a).unwrap();
    assert_eq!(names(folder), expected(&["a", "inner"]));
    open_b.write_at(b"B", 0).unwrap();
    assert_eq!(content(&disk.open(&a, EXISTING).unwrap()), b"B");
    assert_eq!(content(&open_a), b"a");
    disk.rename(&a, &a).unwrap();
    disk.rename(&a, &inner.join("d")).unwrap();
    assert_eq!(names(&inner), expected(&["c", "d"]));
    assert_eq!(content(&disk.open(&inner.join("d"), EXISTING).unwrap()), b"B");
    assert_eq!(kind(disk.rename(&a, &b)), Some(ErrorKind::NotFound));
    assert_eq!(
        kind(disk.rename(&inner.join("d"), &folder.join("no/d"))),
        Some(ErrorKind::NotFound)
    );
    let other = folder.join("other");
    disk.create_directory(&other).unwrap();
    assert_eq!(kind(disk.rename(&inner.join("d"), &other)), Some(ErrorKind::IsADirectory));

    disk.remove(&inner.join("d")).unwrap();
    assert_eq!(kind(disk.remove(&inner.join("d"))), Some(ErrorKind::NotFound));
    assert_eq!(kind(disk.remove(&inner)), Some(ErrorKind::IsADirectory));
    assert_eq!(names(&inner), expected(&["c"]));
    disk.sync_directory(&inner).unwrap();
    disk.sync_directory(folder).unwrap();
    assert_eq!(kind(disk.sync_directory(&inner.join("c"))), Some(ErrorKind::NotADirectory));
    assert_eq!(kind(disk.sync_directory(&folder.join("absent"))), Some(ErrorKind::NotFound));
}

fn locks_once<D: Disk>(disk: &D, path: &Path) {
    let first = disk.open(path, NEW).unwrap();
    let second = disk.open(path, EXISTING).unwrap();
    first.try_lock().unwrap();
    first.try_lock().unwrap();
    let refused = second.try_lock().unwrap_err();
    assert!(matches!(&refused, Error::Locked { path: locked } if locked == path), "{refused}");
    // A lock does not prevent reading and writing, and ends with its handle.
    second.write_at(b"a", 0).unwrap();
    drop(first);
    second.try_lock().unwrap();
    assert!(disk.open(path, OpenOptions::READ).unwrap().try_lock().is_err());
}

fn shares_a_lock_among_readers_only<D: Disk>(disk: &D, path: &Path) {
    disk.open(path, NEW).unwrap().write_at(b"a", 0).unwrap();
    let [one, other] = [0, 1].map(|_| disk.open(path, OpenOptions::READ).unwrap());
    one.try_lock_shared().unwrap();
    one.try_lock_shared().unwrap();
    other.try_lock_shared().unwrap();
    let writer = disk.open(path, EXISTING).unwrap();
    assert!(matches!(writer.try_lock(), Err(Error::Locked { .. })));
    drop(one);
    assert!(matches!(writer.try_lock(), Err(Error::Locked { .. })), "one share is left");
    drop(other);
    writer.try_lock().unwrap();
    let late = disk.open(path, OpenOptions::READ).unwrap();
    assert!(matches!(late.try_lock_shared(), Err(Error::Locked { .. })));
    drop(writer);
    late.try_lock_shared().unwrap();
}

fn refuses_to_write_through_a_reader<D: Disk>(disk: &D, path: &Path) {
    disk.open(path, NEW).unwrap().write_at(b"abc", 0).unwrap();
    let reader = disk.open(path, OpenOptions::READ).unwrap();
    assert!(reader.write_at(b"x", 0).is_err());
    assert!(reader.set_len(1).is_err());
    assert!(reader.preallocate(10).is_err());
    assert_eq!(content(&reader), b"abc");
    // Syncing through it is allowed: the data may come from other handles.
    reader.sync_data().unwrap();
}

fn serves_removed_files_until_they_are_dropped<D: Disk>(disk: &D, path: &Path) {
    let file = disk.open(path, NEW).unwrap();
    file.write_at(b"old", 0).unwrap();
    disk.remove(path).unwrap();
    disk.sync_directory(path.parent().unwrap()).unwrap();
    file.write_at(b"er", 3).unwrap();
    file.sync_all().unwrap();
    assert_eq!(content(&file), b"older");
    let other = disk.open(path, NEW).unwrap();
    assert!(other.is_empty().unwrap());
    drop(file);
    other.write_at(b"new", 0).unwrap();
    assert_eq!(content(&disk.open(path, EXISTING).unwrap()), b"new");
}

fn every_way_of_opening_syncs<D: Disk>(disk: &D, path: &Path) {
    for (index, write_sync) in
        [WriteSync::No, WriteSync::Data, WriteSync::Full].into_iter().enumerate()
    {
        let file = disk.open(path, OpenOptions { write_sync, ..OpenOptions::READ_WRITE }).unwrap();
        file.write_at(&[index as u8 + 1; 3000], index as u64 * 1000).unwrap();
        file.sync_data().unwrap();
        file.sync_all().unwrap();
    }
    let bytes = content(&disk.open(path, OpenOptions::READ).unwrap());
    assert_eq!(bytes, [vec![1; 1000], vec![2; 1000], vec![3; 3000]].concat());
}

fn shares_handles_between_threads<D: Disk>(disk: &D, path: &Path) {
    let file = disk.open(path, NEW).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let file = &file;
            scope.spawn(move || {
                for round in 0..20 {
                    file.write_at(&[thread; 100], (round * 4 + u64::from(thread)) * 100).unwrap();
                }
                file.sync_data().unwrap();
            });
        }
    });
    let bytes = content(&file);
    assert_eq!(bytes.len(), 8000);
    assert!(bytes.chunks(100).enumerate().all(|(at, piece)| piece == [(at % 4) as u8; 100]));
}

fn reads_and_writes_past_the_cache<D: Disk>(disk: &D, path: &Path) {
    let direct = OpenOptions { direct: true, ..OpenOptions::READ_WRITE };
    // The file system of the temporary folder may refuse direct I/O; then nothing is promised.
    let file = match disk.open(path, direct) {
        Err(error) if error.kind() == Some(ErrorKind::InvalidInput) => return,
        opened => opened.unwrap(),
    };
    file.preallocate(3 << 20).unwrap();
    assert_eq!(file.len().unwrap(), 3 << 20);
    let mut block = AlignedBuffer::zeroed(8192);
    block.fill(5);
    file.write_at(&block, 4096).unwrap();
    let mut read = AlignedBuffer::zeroed(16384);
    assert_eq!(file.read_at(&mut read, 0).unwrap(), 16384);
    let expected = [vec![0; 4096], vec![5; 8192], vec![0; 4096]].concat();
    assert!(read[..] == expected);
    // A buffered handle sees the same bytes, and may leave a length that is not a multiple of a block.
    let buffered = disk.open(path, EXISTING).unwrap();
    assert!(content(&buffered)[..16384] == expected);
    buffered.set_len(4096 + 700).unwrap();
    assert_eq!(file.read_at(&mut read, 4096).unwrap(), 700);
    assert!(read[..700] == [5; 700]);
}
