//! Record files: written line by line, read back, refused with an error.

use crate::fixture::{self, SQLITE};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use syncline_record::{Record, RunRecord, Writer, json, list, read, read_all};

fn sentence(path: &Path) -> String {
    read(path).unwrap_err().to_string()
}

/// Writes a whole run's file and returns its path.
fn write_run(folder: &Path, run: &RunRecord) -> PathBuf {
    let mut writer = Writer::create_run(folder, &run.identity, &run.head).unwrap();
    for interval in &run.intervals {
        writer.interval(interval).unwrap();
    }
    writer.finish_run(&mut run.clone(), None).unwrap()
}

#[test]
fn a_written_record_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("syncline-runs");
    let run = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    let path = write_run(&runs, &run);
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(name.ends_with(&format!("Z-insert-sqlite-8c-{}.jsonl", run.identity.id)), "{name}");
    assert_eq!(read(&path).unwrap(), Record::from(run));

    let probe = fixture::probe();
    let writer = Writer::create_probe(&runs, &probe.identity, &probe.body.directory).unwrap();
    let path = writer.finish_probe(&probe).unwrap();
    assert_eq!(read(&path).unwrap(), Record::from(probe));
    let listed = list(&runs).unwrap();
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|one| one.record.is_ok()));
}

#[test]
fn printed_json_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("survey.json");
    let records = fixture::survey();
    fs::write(&path, json(&records)).unwrap();
    assert_eq!(read_all(&path).unwrap(), records);
    assert!(sentence(&path).contains("holds 12 records"), "{}", sentence(&path));
    fs::write(&path, json(&records[..1])).unwrap();
    assert_eq!(read(&path).unwrap(), records[0]);
}

/// Wherever a crash truncates the file, the whole lines are read as a record, or reading fails with an error.
#[test]
fn a_torn_last_line_is_left_out_wherever_it_was_torn() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    let whole = fs::read(write_run(folder.path(), &run)).unwrap();
    let ends: Vec<usize> =
        whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    let torn = folder.path().join("torn.jsonl");
    for cut in (1..whole.len()).step_by(7).chain(ends.iter().map(|end| end + 1)) {
        fs::write(&torn, &whole[..cut]).unwrap();
        // A line counts if it has its last brace.
        let lines = ends.iter().filter(|end| **end <= cut).count();
        match read(&torn) {
            Err(error) => {
                assert_eq!(lines, 0, "cut at {cut}: {error}");
                assert!(error.to_string().contains("not a record"), "{error}");
            }
            Ok(record) if lines == ends.len() => assert_eq!(record, Record::from(run.clone())),
            Ok(record) => {
                let read = record.as_run().unwrap();
                assert_eq!(read.intervals.len(), lines - 1, "cut at {cut}");
                assert_eq!(read.intervals[..], run.intervals[..lines - 1]);
                let reason = read.end.cut_short.as_deref().unwrap();
                assert!(reason.contains("cut short"), "{reason}");
                let committed: u64 = read.intervals.iter().map(|one| one.committed).sum();
                assert_eq!(read.end.outcomes.committed, committed);
            }
        }
    }
}

#[test]
fn zeros_after_a_machine_s_crash_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    let path = write_run(folder.path(), &run);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend([0; 600]);
    fs::write(&path, &bytes).unwrap();
    assert_eq!(read(&path).unwrap(), Record::from(run));
}

#[test]
fn files_that_are_not_whole_records_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    let refused = |content: &[u8]| {
        fs::write(&path, content).unwrap();
        sentence(&path)
    };
    assert!(refused(b"").contains("is empty"));
    assert!(refused(b"\n \n").contains("is empty"));
    assert!(refused(b"hello\nworld\n").contains("not a record of Syncline"));
    assert!(refused(b"{\"name\":\"other\"}\n").contains("not a record of Syncline"));
    assert!(refused(b"[1,2]").contains("not a record of Syncline"));
    assert!(refused(&[0xff, 0xfe, 0x00, 0x80]).contains("not a record of Syncline"));
    let absent = folder.path().join("absent.jsonl");
    assert!(sentence(&absent).starts_with("cannot read"));

    let run = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    let whole = fs::read_to_string(write_run(folder.path(), &run)).unwrap();
    let newer = whole.replace("\"version\":1}", "\"version\":7}");
    let newer = refused(newer.as_bytes());
    assert!(newer.contains("format version 7") && newer.contains("reads up to 1"), "{newer}");
    let mut lines: Vec<&str> = whole.lines().collect();
    lines[2] = "{\"line\":\"interval\",";
    let damaged = refused((lines.join("\n") + "\n").as_bytes());
    assert!(damaged.contains("damaged in line 3"), "{damaged}");
    lines[2] = "{\"line\":\"interval\",\"repetition\":1}";
    let missing = refused((lines.join("\n") + "\n").as_bytes());
    assert!(missing.contains("damaged in line 3: missing field"), "{missing}");
    lines.swap(0, 1);
    assert!(refused((lines.join("\n") + "\n").as_bytes()).contains("not a record"));
}

#[test]
fn outcomes_that_do_not_add_up_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    run.end.outcomes.committed += 1;
    let path = write_run(folder.path(), &run);
    assert!(sentence(&path).contains("outcomes do not add up"), "{}", sentence(&path));
}

#[test]
fn fields_of_a_later_program_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    let path = write_run(folder.path(), &run);
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("\"line\":\"head\",", "\"line\":\"head\",\"weather\":\"fair\",");
    fs::write(&path, text).unwrap();
    assert_eq!(read(&path).unwrap(), Record::from(run));
}

#[test]
fn an_endless_device_is_not_a_record() {
    assert!(sentence(Path::new("/dev/zero")).contains("not a record"));
}

#[test]
fn a_large_file_that_is_not_a_record_is_not_read_into_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    let file = fs::File::create(&path).unwrap();
    // Holes take no space on the disk.
    file.set_len(1 << 22).unwrap();
    assert!(sentence(&path).contains("is empty"));
    file.set_len(1 << 40).unwrap();
    file.write_all_at(b"\x7fELF", 0).unwrap();
    assert!(sentence(&path).contains("not a record"));
    file.write_all_at(b"\0\0\0{", 0).unwrap();
    assert!(sentence(&path).contains("not a record"));
}

#[test]
fn bytes_that_are_not_text_are_damage_unless_the_last_line_was_torn() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    let path = write_run(folder.path(), &run);
    let whole = fs::read(&path).unwrap();
    let second = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let mut damaged = whole.clone();
    damaged[second + 10] = 0xff;
    fs::write(&path, damaged).unwrap();
    let message = sentence(&path);
    assert!(message.contains("is damaged in line 2"), "{message}");
    let mut torn = whole[..second + 10].to_vec();
    torn.push(0xc3);
    fs::write(&path, torn).unwrap();
    let record = read(&path).unwrap();
    assert!(record.as_run().unwrap().end.cut_short.is_some());
}

#[test]
fn a_folder_that_cannot_be_created_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    let run = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    let error = Writer::create_run(&file, &run.identity, &run.head).unwrap_err();
    assert!(error.to_string().contains("cannot create the record"), "{error}");
    assert!(list(&file).unwrap_err().to_string().starts_with("cannot read"));
}
