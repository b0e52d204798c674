//! `syncline verify disk` between processes over loopback.

use crate::support::{ProgramOutput, folder, interrupt, program, syncline};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// A witness on its own port; killed at the end of the test.
struct Witness {
    process: Child,
    address: String,
}

impl Witness {
    fn start(folder: &Path) -> Witness {
        let mut command = program(folder, "verify witness --listen 127.0.0.1:0");
        let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let address = line.strip_prefix("listening at ").unwrap();
        let address = address.split(',').next().unwrap().to_owned();
        Witness { process, address }
    }

    fn line(&self, rest: &str) -> String {
        format!("verify disk --witness {} . {rest}", self.address)
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// The number of promises that the witness has recorded for a run.
fn promises(folder: &Path, run: u32) -> usize {
    let file = folder.join(format!("syncline-witness/run-{run:06}.jsonl"));
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.matches("promise\"").count()
}

/// Starts a writer and waits until the witness has recorded enough of its promises.
fn writing(folder: &Path, line: &str, run: u32) -> Child {
    let mut command = program(folder, line);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut writer = command.spawn().unwrap();
    while promises(folder, run) < 40 {
        assert_eq!(writer.try_wait().unwrap(), None, "the writer goes on");
        std::thread::yield_now();
    }
    writer
}

fn blocks(folder: &Path) -> PathBuf {
    folder.join("syncline-vfs/blocks")
}

#[test]
fn a_killed_writer_loses_nothing_and_kills_add_up() {
    let folder = folder();
    let witness = Witness::start(folder.path());
    for (run, method) in [(1, "fdatasync"), (2, "fdatasync"), (3, "o_dsync")] {
        let line = witness.line(&format!("--slots 32 --method {method}"));
        let mut writer = writing(folder.path(), &line, run);
        writer.kill().unwrap();
        writer.wait().unwrap();
        let result = syncline(folder.path(), &witness.line("--check"));
        assert_eq!(result.code, 0, "{result:?}");
        // Another method has its own result.
        let cuts = if run == 2 { "2 process kills" } else { "1 process kill" };
        let words = format!("survived {cuts}:");
        assert!(result.out.contains(&words), "{result:?}");
        assert!(result.out.contains("Not known from here"), "{result:?}");
    }
}

#[test]
fn blocks_that_differ_from_their_promise_are_named_and_the_exit_code_is_1() {
    let folder = folder();
    let witness = Witness::start(folder.path());
    let mut writer = writing(folder.path(), &witness.line("--slots 32"), 1);
    let early = syncline(folder.path(), &witness.line("--check"));
    assert_eq!(early.code, 2, "{early:?}");
    assert!(early.err.contains("a writer is running"), "{early:?}");
    writer.kill().unwrap();
    writer.wait().unwrap();

    let plug = syncline(folder.path(), &witness.line("--check --cut plug-pull"));
    assert_eq!(plug.code, 2, "{plug:?}");
    assert!(plug.err.contains("has not been restarted"), "{plug:?}");

    let mut bytes = std::fs::read(blocks(folder.path())).unwrap();
    bytes[3 * 4096..5 * 4096].fill(0);
    for byte in &mut bytes[6 * 4096 + 2048..7 * 4096] {
        *byte ^= 0xFF;
    }
    std::fs::write(blocks(folder.path()), bytes).unwrap();
    let result = syncline(folder.path(), &witness.line("--check --json"));
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.err.contains("not durable: after a process kill"), "{result:?}");
    let record = result.json()["finding"].clone();
    let bad = &record["judgement"]["bad"];
    // One of the promises may have been in progress.
    let count = |class: &str| bad[class].as_u64().unwrap_or(0);
    assert!(count("lost") == 2 && count("torn") <= 1, "{record}");
    assert!(record["judgement"]["reordered"].as_u64() > Some(0), "{record}");
    assert!(record["verdict"]["not_durable"].is_string(), "{record}");
}

#[test]
fn a_stopped_writer_ends_in_order_and_tests_nothing() {
    let folder = folder();
    let witness = Witness::start(folder.path());
    let writer = writing(folder.path(), &witness.line("--slots 32"), 1);
    interrupt(&writer);
    let result = ProgramOutput::after(writer);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(result.out.contains("stopped in order"), "{result:?}");
    let result = syncline(folder.path(), &witness.line("--check"));
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.err.contains("nothing was interrupted"), "{result:?}");
}

#[test]
fn a_disk_is_not_tested_without_a_witness_or_with_invalid_options() {
    let folder = folder();
    let witness = Witness::start(folder.path());
    // No process listens on the port of a witness that has ended.
    let gone = Witness::start(&{
        let other = folder.path().join("other");
        std::fs::create_dir(&other).unwrap();
        other
    });
    let nobody = gone.address.clone();
    drop(gone);
    for (line, words) in [
        (format!("verify disk --witness {nobody} ."), "cannot reach the witness"),
        (witness.line("--slots 33"), "not a power of two"),
        (witness.line("--block 700"), "multiple of 512"),
        (witness.line("--check"), "nothing has been promised for"),
        (witness.line("--cut plug-pull"), "--check"),
        (format!("verify disk --witness {} absent", witness.address), "absent"),
        ("verify disk .".to_owned(), "--witness"),
        ("verify witness --listen nowhere".to_owned(), "nowhere"),
    ] {
        let result = syncline(folder.path(), &line);
        assert_eq!(result.code, 2, "{line}: {result:?}");
        assert!(result.err.contains(words), "{line}: {result:?}");
        assert!(!result.err.contains("panicked"), "{result:?}");
    }
    assert!(!blocks(folder.path()).exists());
}

/// The user is not asked to pull the plug for a run that is then refused.
#[test]
fn refusals_come_before_the_request_to_pull_the_plug() {
    let folder = folder();
    let witness = Witness::start(folder.path());
    let result = syncline(folder.path(), &witness.line("--block 100"));
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.err.contains("multiple of 512"), "{result:?}");
    assert!(!result.err.contains("pull the plug"), "{result:?}");
    let done = syncline(folder.path(), &witness.line("--blocks 3"));
    assert!(done.err.contains("pull the plug at any time"), "{done:?}");
    let memory = Path::new("/dev/shm");
    if rustix::fs::statfs(memory).is_ok_and(|found| found.f_type == 0x0102_1994) {
        let line = witness.line("").replace(" . ", " /dev/shm ");
        let result = syncline(folder.path(), &line);
        assert_eq!(result.code, 2, "{result:?}");
        assert!(result.err.contains("is in memory"), "{result:?}");
    }
}
