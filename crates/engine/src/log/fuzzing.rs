//! The log's decoders under arbitrary bytes: a frame, a segment's header, and recovery over changed files.

use crate::fuzzing::{Input, with_a_bit_flipped};
use crate::ids::{Csn, DatabaseId, FrameNumber, SegmentNumber};
use crate::log::frame::{self, Flags, FrameHeader, Kind};
use crate::log::options::Durability;
use crate::log::segment::{self, HeaderRead, SegmentHeader};
use crate::log::{Log, Options, Threads};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use syncline_vfs::simulated::Metadata;
use syncline_vfs::{Disk, File, OpenOptions, SimulatedDisk};

const UNIT: u32 = 512;
const DIRECTORY: &str = "log";

/// A frame: as given, and with magic, length and checksum corrected.
pub fn frame(data: &[u8]) {
    check_frame(data);
    let mut fitting = data.to_vec();
    if refit_frame(&mut fitting) {
        check_frame(&fitting);
    }
}

fn check_frame(bytes: &[u8]) {
    let announced = frame::announced_bytes(bytes, UNIT);
    let Some((header, crc)) = frame::open(bytes) else {
        return;
    };
    assert_eq!(announced, Some(header.frame_bytes(UNIT)));
    let end = frame::HEADER_BYTES + header.payload_bytes as usize;
    let payload = &bytes[frame::HEADER_BYTES..end];
    let mut again = vec![0; header.frame_bytes(UNIT)];
    again[frame::HEADER_BYTES..end].copy_from_slice(payload);
    let (sealed, _) = frame::seal(&mut again, &header, UNIT);
    assert_eq!(frame::open(&again), Some((header, sealed)), "read, written, read");
    let flipped = with_a_bit_flipped(&bytes[..end], end);
    assert_eq!(frame::open(&flipped), None, "a flipped bit under {crc:x}");
    let mut rest = payload;
    while let Some((record, behind)) = frame::split_record(rest) {
        assert!(record.content.len() + behind.len() < rest.len(), "records end");
        rest = behind;
    }
}

fn refit_frame(bytes: &mut [u8]) -> bool {
    let Some(room) = bytes.len().checked_sub(frame::HEADER_BYTES) else {
        return false;
    };
    bytes[0..4].copy_from_slice(b"SLFR");
    bytes[8..10].copy_from_slice(&frame::FORMAT.to_le_bytes());
    let claimed = u32::from_le_bytes(frame::array(bytes, 60)) as usize;
    let payload = if claimed <= room { claimed } else { room };
    bytes[60..64].copy_from_slice(&(payload as u32).to_le_bytes());
    let crc = crc32c::crc32c(&bytes[8..frame::HEADER_BYTES + payload]);
    bytes[4..8].copy_from_slice(&crc.to_le_bytes());
    true
}

/// Frames as the log writes them.
pub(crate) fn frame_seeds() -> Vec<Vec<u8>> {
    let record = |bytes: usize| {
        let mut record = frame::record_header(Kind::Transaction, bytes).to_vec();
        record.resize(record.len() + bytes, 5);
        record
    };
    let whole = [record(3), record(200), frame::record_header(Kind::Void, 0).to_vec()].concat();
    let piece = record(900)[..400].to_vec();
    let sealed = |payload: &[u8], fragment, count| {
        let header = FrameHeader {
            flags: Flags { fragment, last: false, copied: false },
            database: DatabaseId([7; 16]),
            segment: SegmentNumber(2),
            number: FrameNumber(9),
            first: Csn(30),
            count,
            payload_bytes: payload.len() as u32,
            wall_ns: 1,
            stable: FrameNumber(8),
            previous_crc: 77,
        };
        let mut bytes = vec![0; header.frame_bytes(UNIT)];
        let end = frame::HEADER_BYTES + payload.len();
        bytes[frame::HEADER_BYTES..end].copy_from_slice(payload);
        let (crc, _) = frame::seal(&mut bytes, &header, UNIT);
        assert_eq!(frame::open(&bytes), Some((header, crc)), "a sealed frame reads back");
        bytes
    };
    vec![sealed(&whole, false, 3), sealed(&piece, true, 0), sealed(&[], false, 0)]
}

/// A segment's header: as given, and with a valid checksum.
pub fn segment(data: &[u8]) {
    check_segment(data);
    if data.len() >= segment::HEADER_BYTES {
        let mut fitting = data[..segment::HEADER_BYTES].to_vec();
        refit_segment(&mut fitting);
        check_segment(&fitting);
    }
}

fn check_segment(bytes: &[u8]) {
    let HeaderRead::Sound(header) = segment::read_header(bytes) else {
        return;
    };
    assert!(header.first_whole() >= header.first);
    let again = segment::read_header(&header.to_bytes());
    assert_eq!(again, HeaderRead::Sound(header), "read, written, read");
    let flipped = with_a_bit_flipped(bytes, segment::HEADER_BYTES);
    assert_eq!(segment::read_header(&flipped), HeaderRead::Bad);
}

fn refit_segment(bytes: &mut [u8]) {
    bytes[0..8].copy_from_slice(b"SYNCLOG1");
    bytes[12..16].copy_from_slice(&segment::FORMAT.to_le_bytes());
    let crc = crc32c::crc32c(&bytes[12..segment::HEADER_BYTES]);
    bytes[8..12].copy_from_slice(&crc.to_le_bytes());
}

/// Headers as the log writes them.
pub(crate) fn segment_seeds() -> Vec<Vec<u8>> {
    let header = |durability, mid_record| SegmentHeader {
        database: DatabaseId([7; 16]),
        number: SegmentNumber(2),
        previous: SegmentNumber(1),
        after: FrameNumber(8),
        after_crc: 77,
        first: Csn(30),
        segment_bytes: 16 << 10,
        unit_bytes: UNIT,
        durability,
        by_recovery: mid_record,
        mid_record,
        wall_ns: 1,
        begun: SegmentNumber(1),
        whole_files: 2,
    };
    let read = |header: SegmentHeader| {
        let bytes = header.to_bytes();
        let sound = HeaderRead::Sound(header);
        assert_eq!(segment::read_header(&bytes), sound, "a header reads back");
        bytes.to_vec()
    };
    [Durability::None, Durability::Data, Durability::Full]
        .map(|durability| read(header(durability, durability == Durability::Full)))
        .to_vec()
}

/// The files of a log that was written and closed, and the commits in them.
struct Written {
    files: Vec<(PathBuf, Vec<u8>)>,
    commits: BTreeMap<u64, Vec<u8>>,
}

/// Recovery over a written log with changes in its files. Changes that leave checksums as they are may cost
/// commits at the end or a refusal, but never produce anything that was not committed. With corrected
/// checksums recovery may accept anything, and must not panic.
pub fn recovery(data: &[u8]) {
    static WRITTEN: OnceLock<Written> = OnceLock::new();
    let written = WRITTEN.get_or_init(write);
    let mut files = written.files.clone();
    let is_refitted = change(&mut files, Input(data));
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    disk.create_directory(Path::new(DIRECTORY)).expect("room for a directory");
    for (path, bytes) in &files {
        let file = disk.open(path, OpenOptions::READ_WRITE).expect("room for a file");
        file.write_at(bytes, 0).expect("room for its bytes");
        file.sync_all().expect("a simulated disk syncs");
    }
    disk.sync_directory(Path::new(DIRECTORY)).expect("a simulated disk syncs");
    let Some(found) = open(&disk) else {
        return;
    };
    if !is_refitted {
        for (at, (csn, record)) in found.iter().enumerate() {
            assert_eq!(*csn, at as u64 + 1, "commits come without a gap");
            assert_eq!(written.commits.get(csn), Some(record), "commit {csn} is as it was");
        }
    }
    assert_eq!(open(&disk), Some(found), "replayed commits stay committed");
}

fn options() -> Options {
    Options { ring_records: 8, ..Options::tiny() }
}

/// Opens the log and reads every commit; none if it is refused.
fn open(disk: &SimulatedDisk) -> Option<BTreeMap<u64, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let replay = &mut |csn: Csn, record: &[u8]| {
        found.insert(csn.0, record.to_vec());
    };
    let directory = Path::new(DIRECTORY);
    let opened =
        Log::open_with(disk, directory, None, Csn::ZERO, &options(), replay, Threads::None);
    opened.ok().map(|_log| found)
}

/// Writes commits of many lengths over three segments.
fn write() -> Written {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let (directory, id) = (Path::new(DIRECTORY), DatabaseId([7; 16]));
    let log = Log::create_with(&disk, directory, id, options(), Threads::None);
    let log = log.expect("room for a log");
    let mut commits = BTreeMap::new();
    for number in 0..24_usize {
        let record = vec![number as u8; 17 + (number * 397) % 3000];
        let permit = log.reserve(record.len()).expect("room for a record");
        let ticket = permit.take().publish(&mut record.clone());
        log.wait(ticket).expect("a simulated disk writes");
        commits.insert(ticket.csn.0, record);
    }
    log.close().expect("a simulated disk writes");
    let mut paths = disk.list(directory).expect("the log's directory");
    paths.sort();
    let read = |name: PathBuf| {
        let path = directory.join(name);
        let file = disk.open(&path, OpenOptions::READ).expect("a file of the log");
        let mut bytes = vec![0; file.len().expect("its length") as usize];
        let read = file.read_at(&mut bytes, 0).expect("its bytes");
        assert_eq!(read, bytes.len());
        (path, bytes)
    };
    let files = paths.into_iter().map(read).collect();
    Written { files, commits }
}

/// Applies the changes that the input encodes; true if one corrected a checksum.
fn change(files: &mut [(PathBuf, Vec<u8>)], mut input: Input<'_>) -> bool {
    let mut is_refitted = false;
    while !input.is_empty() {
        let file = usize::from(input.byte()) % files.len();
        let bytes = &mut files[file].1;
        let (what, at) = (input.byte(), input.number());
        if bytes.is_empty() {
            continue;
        }
        let at = at % bytes.len();
        match what % 6 {
            0 => bytes[at] = input.byte(),
            1 => {
                let count = input.number().min(bytes.len() - at);
                bytes[at..at + count].fill(0);
            }
            2 => {
                let new = input.counted();
                let count = new.len().min(bytes.len() - at);
                bytes[at..at + count].copy_from_slice(&new[..count]);
            }
            3 => {
                let from = input.number() % bytes.len();
                let count = (UNIT as usize).min(bytes.len() - at.max(from));
                bytes.copy_within(from..from + count, at);
            }
            4 if bytes.len() >= segment::HEADER_BYTES => {
                refit_segment(bytes);
                is_refitted = true;
            }
            _ => {
                let at = at / UNIT as usize * UNIT as usize;
                is_refitted |= refit_frame(&mut bytes[at..]);
            }
        }
    }
    is_refitted
}

/// No change, and some of each kind.
pub(crate) fn recovery_seeds() -> Vec<Vec<u8>> {
    let mut seeds = vec![vec![0; 1]];
    for file in 0..5 {
        seeds.push(vec![file, 0, 70, 2, 9]);
        seeds.push(vec![file, 1, 0, 40, 0, 4]);
        seeds.push(vec![file, 2, 0, 4, 3, 0, 1, 2, 3]);
        seeds.push(vec![file, 3, 0, 4, 0, 2]);
        seeds.push(vec![file, 0, 60, 2, 9, file, 5, 0, 2]);
        seeds.push(vec![file, 0, 40, 0, 9, file, 4, 0, 0]);
    }
    seeds
}
