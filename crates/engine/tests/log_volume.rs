//! The log on a small volume of its own, under a load of ten times the volume: writers wait for checkpoints,
//! and nothing fails.
//!
//! `cargo test -p syncline-engine --test log_volume`: it writes 5 GiB, so that it runs only when it is named.
//! The test runs itself again in a mount namespace with a tmpfs; where neither root nor a user namespace is
//! available, it prints why it is skipped.

#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

use std::fs;
use std::path::Path;
use std::process::Command;
use syncline_engine::{Database, Kind, Options, Schema, Value};

const VOLUME_BYTES: u64 = 512 << 20;

/// Less than the volume, which needs some space for names.
const CAP_BYTES: u64 = 500 << 20;

const VALUE_BYTES: usize = 1 << 20;

/// Names the volume for the process that loads it.
const VOLUME: &str = "SYNCLINE_TEST_VOLUME";

/// Loads the volume with ten times what it holds.
fn load(volume: &Path) {
    let data = tempfile::tempdir().unwrap();
    let mut options = Options { log_directory: Some(volume.join("log")), ..Options::default() };
    options.log.log_bytes_max = Some(CAP_BYTES);
    let database = Database::create(data.path().join("db"), options.clone()).unwrap();
    let schema = Schema::table("rows").column("id", Kind::Int).column("bytes", Kind::Bytes);
    let rows = database.create_table(schema.key(["id"]).build().unwrap()).unwrap();
    let value = vec![7; VALUE_BYTES];
    let mut id = 0;
    while database.stats().log.write_bytes.sum < 10 * VOLUME_BYTES {
        database
            .run(|tx| tx.put(&rows, &[Value::Int(id % 32), Value::Bytes(&value)]))
            .unwrap_or_else(|error| panic!("commit {id}: {error}"));
        id += 1;
        let files = fs::read_dir(volume.join("log")).unwrap();
        let bytes: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
        assert!(bytes <= CAP_BYTES, "{bytes} bytes after {id} commits");
    }
    let stats = database.stats();
    println!(
        "loaded: {id} commits, {} segments, {} checkpoints, {} waits",
        stats.log.segments,
        stats.checkpoints.unwrap().finished,
        stats.log.room_wait_ns.count
    );
    drop(database);
    let database = Database::open(data.path().join("db"), options).unwrap();
    assert_eq!(database.verify().unwrap(), Vec::<String>::new());
    database.close().unwrap();
}

#[test]
fn a_volume_of_512_mib_takes_a_load_of_ten_times_that() {
    if let Some(volume) = std::env::var_os(VOLUME) {
        load(Path::new(&volume));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let volume = folder.path().join("volume");
    fs::create_dir(&volume).unwrap();
    let script = format!(
        "mount -t tmpfs -o size={VOLUME_BYTES} none \"${VOLUME}\" && echo mounted && \
         exec \"$0\" --nocapture"
    );
    for rights in [&["--mount"][..], &["--user", "--map-root-user", "--mount"]] {
        let mut command = Command::new("unshare");
        command.args(rights).args(["sh", "-c", &script]);
        command.arg(std::env::current_exe().unwrap()).env(VOLUME, &volume);
        let output = match command.output() {
            Ok(output) => output,
            Err(error) => {
                println!("skipped: unshare cannot be run: {error}");
                return;
            }
        };
        let text = String::from_utf8_lossy(&output.stdout);
        if text.contains("mounted") {
            println!("{text}");
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && text.contains("loaded: "), "{text}\n{errors}");
            return;
        }
    }
    println!("skipped: mounting a tmpfs is not allowed here");
}
