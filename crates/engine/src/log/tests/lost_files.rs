//! Segment files that vanish, or change, after a crash: refused, never treated as the end of the log. Files
//! that a crash itself leaves unfinished are not refused.

use super::behaviour::{commit, reopen, simulated};
use crate::log::segment::{self, HEADER_BYTES, HeaderRead, read_header};
use crate::log::{Log, Options, Threads};
use crate::{Csn, DatabaseId, Error};
use std::path::{Path, PathBuf};
use syncline_vfs::simulated::Crash;
use syncline_vfs::{Disk, File, OpenOptions, SimulatedDisk};

/// Numbers of commits for which the files differ: never used, used once, reused.
const COMMITS: [u64; 5] = [2, 3, 70, 200, 400];

fn directory() -> &'static Path {
    Path::new("log")
}

/// A disk with a log of that many acknowledged commits that was not closed; the next file is prepared, and
/// all but the last commits were released.
fn left_open(commits: u64, options: &Options) -> SimulatedDisk {
    let disk = simulated();
    let id = DatabaseId([9; 16]);
    let log = Log::create_with(&disk, directory(), id, options.clone(), Threads::None).unwrap();
    for number in 1..=commits {
        commit(&log, &content(number)).unwrap();
        log.release(Csn(released(number)));
        while log.shared().prepare_segment(false).unwrap() {}
    }
    disk.crash(Crash::DropAll)
}

fn content(number: u64) -> Vec<u8> {
    let bytes = if number.is_multiple_of(7) { 900 } else { 100 };
    vec![number as u8; bytes]
}

fn released(commits: u64) -> u64 {
    commits.saturating_sub(40)
}

/// Opens the log and checks that no commit is missing; returns the last commit.
fn opened(disk: &SimulatedDisk, commits: u64, options: &Options) -> crate::Result<u64> {
    let from = Csn(released(commits));
    let mut last = from.0;
    let log = Log::open(disk, directory(), None, from, options, &mut |csn, record| {
        assert_eq!((csn.0, record), (last + 1, &content(csn.0)[..]));
        last = csn.0;
    })?;
    log.close()?;
    Ok(last)
}

fn read(disk: &SimulatedDisk, path: &Path) -> Vec<u8> {
    let file = disk.open(path, OpenOptions::READ).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn write(disk: &SimulatedDisk, path: &Path, bytes: &[u8]) {
    let file = disk.open(path, OpenOptions::READ_WRITE).unwrap();
    file.set_len(0).unwrap();
    file.write_at(bytes, 0).unwrap();
    file.sync_all().unwrap();
    disk.sync_directory(file_directory(path)).unwrap();
}

fn file_directory(path: &Path) -> &Path {
    path.parent().unwrap()
}

/// The files, with the number of the segment in each; 0 for a prepared one.
fn files(disk: &SimulatedDisk) -> Vec<(u64, PathBuf)> {
    let names = disk.list(directory()).unwrap();
    let paths = names.iter().filter(|name| segment::index_of(name).is_some());
    let number =
        |path: &Path| match read_header(read(disk, path).get(..HEADER_BYTES).unwrap_or_default()) {
            HeaderRead::Sound(header) => header.number.0,
            _ => 0,
        };
    let paths = paths.map(|name| directory().join(name));
    paths.map(|path| (number(&path), path)).collect()
}

fn newest(disk: &SimulatedDisk) -> PathBuf {
    files(disk).into_iter().max().unwrap().1
}

/// A kind of damage: its name, and a function that applies it.
type Damage = (&'static str, fn(&SimulatedDisk, &Path));

const DAMAGES: [Damage; 7] = [
    ("removed", |disk, path| {
        disk.remove(path).unwrap();
        disk.sync_directory(directory()).unwrap();
    }),
    ("emptied", |disk, path| write(disk, path, &[])),
    ("zeroed", |disk, path| {
        write(disk, path, &vec![0; read(disk, path).len()]);
    }),
    ("truncated", |disk, path| {
        let bytes = read(disk, path);
        write(disk, path, &bytes[..bytes.len() / 2]);
    }),
    ("truncated within its header", |disk, path| {
        write(disk, path, &read(disk, path)[..60]);
    }),
    ("lengthened", |disk, path| {
        let mut bytes = read(disk, path);
        bytes.resize(bytes.len() + 512, 0);
        write(disk, path, &bytes);
    }),
    ("replaced by another segment", |disk, path| {
        let other = files(disk).into_iter().min().unwrap().1;
        write(disk, path, &read(disk, &other));
    }),
];

// H3, A.A1
#[test]
fn a_newest_segment_file_that_is_lost_is_refused_and_never_taken_for_the_end() {
    for direct in [false, true] {
        let options = Options { direct, ..Options::tiny() };
        for commits in COMMITS {
            let disk = left_open(commits, &options);
            let whole = opened(&disk.crash(Crash::DropAll), commits, &options);
            assert_eq!(whole.unwrap(), commits);
            for (what, damage) in DAMAGES {
                let disk = disk.crash(Crash::DropAll);
                let victim = newest(&disk);
                damage(&disk, &victim);
                let refusal = opened(&disk, commits, &options);
                let refusal = refusal.map(|last| format!("{last} of {commits} commits, {what}"));
                let refusal = refusal.expect_err("a lost file is refused");
                assert!(
                    matches!(refusal, Error::Missing { .. } | Error::Damaged { .. }),
                    "{what}: {refusal}"
                );
            }
        }
    }
}

// H3
#[test]
fn a_missing_file_with_a_lower_index_is_named() {
    let options = Options::tiny();
    let disk = left_open(200, &options);
    let count = files(&disk).len();
    assert!(count > 2, "{count} files");
    for index in 0..count as u32 - 1 {
        let disk = disk.crash(Crash::DropAll);
        disk.remove(&segment::path(directory(), index)).unwrap();
        let refusal = opened(&disk, 200, &options).expect_err("a hole is refused");
        let message = refusal.to_string();
        assert!(message.contains(&format!("segment-{index}.log")), "{message}");
        assert!(message.contains("restore that file"), "{message}");
    }
}

// H3
#[test]
fn a_tail_that_reads_as_zeros_is_refused_if_a_prepared_file_says_that_it_was_stable() {
    let options = Options { segment_bytes: 32 << 10, ..Options::tiny() };
    let disk = simulated();
    let id = DatabaseId([9; 16]);
    let log = Log::create_with(&disk, directory(), id, options.clone(), Threads::None).unwrap();
    for number in 1..=12 {
        commit(&log, &content(number)).unwrap();
    }
    // Prepared late, when commits are already stable.
    while log.shared().prepare_segment(false).unwrap() {}
    let disk = disk.crash(Crash::DropAll);
    let path = newest(&disk);
    let mut bytes = read(&disk, &path);
    bytes[options.frame_unit_bytes as usize..].fill(0);
    write(&disk, &path, &bytes);
    let refusal = opened(&disk, 12, &options).expect_err("the frames were stable");
    assert!(matches!(refusal, Error::Damaged { .. }), "{refusal}");
}

// H3
#[test]
fn a_flipped_bit_in_a_last_frame_of_one_sector_is_refused() {
    let options = Options::tiny();
    let commits = 5;
    let disk = left_open(commits, &options);
    let path = newest(&disk);
    let bytes = read(&disk, &path);
    let unit = options.frame_unit_bytes as usize;
    let at = unit * commits as usize;
    assert_eq!(&bytes[at..at + 4], b"SLFR", "each commit is a frame");
    assert!(bytes[at + unit..].iter().all(|byte| *byte == 0));
    let frame = &bytes[at..at + 88 + 8 + content(commits).len()];
    let end = frame.iter().rposition(|byte| *byte != 0).unwrap();
    let with_flipped = |bit: usize| {
        let disk = disk.crash(Crash::DropAll);
        let mut flipped = bytes.clone();
        flipped[at + bit / 8] ^= 1 << (bit % 8);
        write(&disk, &path, &flipped);
        opened(&disk, commits, &options)
    };
    for bit in (0..end * 8).step_by(3) {
        let refusal = with_flipped(bit).expect_err("a bit was flipped");
        assert!(matches!(refusal, Error::Damaged { .. }), "{bit}: {refusal}");
    }
    // A failed write that ended there may have left the same bytes.
    for bit in end * 8..(end + 1) * 8 {
        assert_eq!(with_flipped(bit).unwrap(), commits - 1, "{bit}");
    }
}

/// A failed write was not acknowledged, wherever it ended.
#[test]
fn a_failed_write_that_ended_within_a_sector_is_the_end_of_the_log() {
    let options = Options::tiny();
    // The last byte of this commit's frame has one bit set.
    let commits = 4;
    let disk = left_open(commits, &options);
    let path = newest(&disk);
    let bytes = read(&disk, &path);
    let at = options.frame_unit_bytes as usize * commits as usize;
    for written in 0..88 + 8 + content(commits).len() {
        let disk = disk.crash(Crash::DropAll);
        let mut torn = bytes.clone();
        torn[at + written..].fill(0);
        if torn != bytes {
            write(&disk, &path, &torn);
            assert_eq!(opened(&disk, commits, &options).unwrap(), commits - 1, "{written}");
        }
    }
}

// H3
#[test]
fn a_last_frame_that_lacks_sectors_is_the_end_of_the_log() {
    let options = Options::tiny();
    // The seventh commit takes two sectors.
    let disk = left_open(7, &options);
    let path = newest(&disk);
    let bytes = read(&disk, &path);
    let unit = options.frame_unit_bytes as usize;
    for lost in [unit * 7..unit * 8, unit * 8..unit * 9, unit * 7..unit * 9] {
        let disk = disk.crash(Crash::DropAll);
        let mut torn = bytes.clone();
        torn[lost.clone()].fill(0);
        write(&disk, &path, &torn);
        assert_eq!(opened(&disk, 7, &options).unwrap(), 6, "{lost:?}");
    }
}

#[test]
fn a_file_whose_making_was_interrupted_is_made_anew_and_never_left_behind() {
    let options = Options::tiny();
    for bytes in [0, 200, 512, 8 << 10] {
        let disk = left_open(2, &options);
        let last = segment::path(directory(), files(&disk).len() as u32);
        write(&disk, &last, &vec![0; bytes]);
        assert_eq!(opened(&disk, 2, &options).unwrap(), 2, "{bytes} bytes");
        let count = files(&disk).len();
        // Enough commits that every file is used.
        let id = Some(DatabaseId([9; 16]));
        let log = Log::open_with(
            &disk,
            directory(),
            id,
            Csn::ZERO,
            &options,
            &mut |_, _| {},
            Threads::None,
        );
        let log = log.unwrap();
        for number in 3..200 {
            commit(&log, &content(number)).unwrap();
        }
        drop(log);
        let disk = disk.crash(Crash::DropAll);
        assert!(files(&disk).len() >= count);
        let is_whole =
            |(_, path): &(u64, PathBuf)| read(&disk, path).len() as u64 == options.segment_bytes;
        assert!(files(&disk).iter().all(is_whole), "a file was left behind");
        assert_eq!(reopen(&disk, directory(), &options).unwrap().len(), 199);
    }
}
