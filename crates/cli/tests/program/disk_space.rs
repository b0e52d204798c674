//! Runs on a small file system in memory: the disk is never filled, and a disk that keeps nothing is
//! reported.
//!
//! Mounting a file system requires root or a user namespace; where neither is available, the tests print why
//! they are skipped.

use crate::support::{ProgramOutput, check_records, folder};
use std::path::Path;
use std::process::Command;

/// Runs a command line in `DIR/small`, on a tmpfs of the given size with the given amount written to it; none
/// if a file system cannot be mounted.
#[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
fn on_tmpfs(folder: &Path, size: &str, filled: &str, line: &str) -> Option<ProgramOutput> {
    let script = format!(
        "mkdir -p small && mount -t tmpfs -o size={size} none small && echo mounted >&2 && cd small && \
         head -c {filled} /dev/zero > filler && exec \"$0\" {line} --runs ../syncline-runs"
    );
    for rights in [&["--mount"][..], &["--user", "--map-root-user", "--mount"]] {
        let mut command = Command::new("unshare");
        command.args(rights).args(["sh", "-c", &script]);
        command.arg(env!("CARGO_BIN_EXE_syncline"));
        let output = match command.current_dir(folder).output() {
            Ok(output) => output,
            Err(error) => {
                println!("skipped: unshare cannot be run: {error}");
                return None;
            }
        };
        if String::from_utf8_lossy(&output.stderr).contains("mounted") {
            check_records(folder);
            return Some(ProgramOutput::of(output));
        }
    }
    println!("skipped: mounting a tmpfs is not allowed here");
    None
}

// B.F9
#[test]
fn a_run_ends_before_it_fills_the_disk_and_keeps_what_it_measured() {
    let folder = folder();
    // At a rate that leaves time between two readings of the free space, however busy the machine is.
    let line = "run insert --on sqlite --commit-every 200 --clients 2 --rate 150 --duration 60s --warm-up 0s \
                --line none --json";
    let Some(result) = on_tmpfs(folder.path(), "40m", "20M", line) else {
        return;
    };
    assert_eq!(result.code, 2, "{result:?}");
    let record = result.json();
    assert_eq!(record["stopped_by"], "disk space", "{result:?}");
    let why = record["cut_short"].as_str().unwrap();
    assert!(why.contains("2 MiB in reserve"), "{why}");
    assert!(result.err.contains(why), "{result:?}");
    assert!(record["outcomes"]["committed"].as_u64().unwrap() > 0);
    assert_eq!(record["outcomes"]["failed"].as_u64(), Some(0));
    let space = &record["target"]["disk_space"][0];
    assert_eq!(space["reserve_bytes"].as_u64(), Some(2 << 20));
}

// B.F9, B.F15
#[test]
fn a_run_on_too_small_a_disk_is_refused_with_the_option_that_needs_less() {
    let folder = folder();
    let line = "run insert --on engine --duration 1s --line none";
    let Some(result) = on_tmpfs(folder.path(), "64m", "0", line) else {
        return;
    };
    assert_eq!(result.code, 2, "{result:?}");
    for part in ["MiB are free", "segment_kib", "in reserve"] {
        assert!(result.err.contains(part), "{result:?}");
    }
}

// B.F5
#[test]
fn a_run_on_a_disk_that_keeps_nothing_reports_it_as_durability_and_warning() {
    let folder = folder();
    let line =
        "run insert --on sqlite --clients 1 --duration 300ms --warm-up 0s --line none --json";
    let Some(result) = on_tmpfs(folder.path(), "256m", "0", line) else {
        return;
    };
    assert_eq!(result.code, 0, "{result:?}");
    let record = result.json();
    let why = record["target"]["disk_drops_syncs"].as_str().unwrap();
    assert!(why.contains("tmpfs"), "{why}");
    let warnings = record["warnings"].as_array().unwrap();
    let disk = warnings.iter().find(|warning| warning["name"] == "disk");
    let what = disk.unwrap()["what"].as_str().unwrap();
    assert!(what.contains("keeps nothing over a power cut") && what.contains("tmpfs"), "{what}");
}

// B.F15
#[test]
fn a_small_volume_has_a_sync_line_and_an_estimate_within_its_space() {
    let folder = folder();
    let Some(result) = on_tmpfs(folder.path(), "64m", "14M", "probe .") else {
        return;
    };
    // A tmpfs keeps nothing, which is the verdict; its sync line is still measured.
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.out.contains("syncs one at a time"), "{result:?}");
    assert!(result.err.contains("24 MiB of space used temporarily"), "{result:?}");
    assert!(result.out.contains("the written file has 6 MiB"), "{result:?}");
}

/// Runs a command line on an ext4 in a file, mounted with the given options; none if that is not allowed.
#[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
fn on_ext4(folder: &Path, options: &str, line: &str) -> Option<ProgramOutput> {
    let script = format!(
        "truncate -s 200M image && mkfs.ext4 -q image && mkdir mounted && mount -o loop,{options} image \
         mounted && echo mounted >&2 && cd mounted && exec \"$0\" {line} --runs ../syncline-runs"
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]);
    command.arg(env!("CARGO_BIN_EXE_syncline"));
    let output = match command.current_dir(folder).output() {
        Ok(output) => output,
        Err(error) => {
            println!("skipped: unshare cannot be run: {error}");
            return None;
        }
    };
    if !String::from_utf8_lossy(&output.stderr).contains("mounted\n") {
        println!("skipped: an ext4 with {options} cannot be mounted here: {output:?}");
        return None;
    }
    Some(ProgramOutput::of(output))
}

// B.F17
#[test]
fn on_a_file_system_without_direct_io_no_row_is_the_page_cache() {
    let folder = folder();
    let Some(result) = on_ext4(folder.path(), "data=journal", "probe . --json") else {
        return;
    };
    let record = result.json();
    assert!(record["plain_write"].is_null(), "{record}");
    for row in ["reads", "sequential"] {
        for one in record[row].as_array().unwrap() {
            let why = one["reason"].as_str().unwrap();
            assert!(why.contains("the page cache would be measured"), "{why}");
        }
    }
    assert!(record["sync_line"]["line_1"].as_f64().unwrap() > 0.0);
}
