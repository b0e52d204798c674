//! Bad input: a clear sentence, exit code 2, no data lost, no partial record.

use crate::support::{ProgramOutput, folder, left_behind, program, quick_run, records, syncline};
use std::path::Path;
use std::process::Command;

/// What is missing if only a database behind JDBC is named.
const JDBC_REFUSED: &str = if cfg!(feature = "jdbc") { "driver=JAR" } else { "--features jdbc" };

fn refused(result: &ProgramOutput, words: &str) {
    assert_eq!(result.code, 2, "{result:?}");
    assert_eq!(result.out, "", "{result:?}");
    assert!(result.err.contains(words), "{words}: {result:?}");
    assert!(!result.err.contains("panicked"), "{result:?}");
}

#[test]
fn invalid_input_is_refused_before_anything_is_written() {
    for (line, words) in [
        ("run insert --on nosuchstore", "nosuchstore"),
        ("run insert --on sqlite:x?durability", "has no value"),
        ("run insert --on sqlite:x?colour=red", "colour"),
        ("run insert --on sqlite?durability=none", "durability=none"),
        ("run insert --on null --clients 0", "at least 1"),
        ("run insert --on null --duration soon", "soon"),
        ("run insert --on null --rate 0", "above zero"),
        ("run insert --on null --line nosuch.jsonl", "nosuch.jsonl"),
        ("run insert --on null --commit-every 0", "commit_every"),
        ("run insert", "--on"),
        (
            "run nosuchload --on null",
            "error: there is no workload \"nosuchload\"; there are: insert, debit-credit, ",
        ),
        ("run insert --on sqlite:absent/folder/x.db", "absent/folder"),
        ("probe absent", "absent"),
        ("probe --for nosuchproduct .", "etcd, k3s, openshift"),
        ("probe --for etcd absent", "absent"),
        ("probe --for etcd . .", "given twice"),
        ("probe --for etcd --duration 0 .", "must be above zero"),
        ("probe --for etcd --duration soon .", "soon"),
        ("probe --for etcd --full .", "cannot be used with"),
        ("probe --for etcd --watch 1s .", "cannot be used with"),
        ("probe --duration 5s .", "needs --for, --beside or --watch"),
        ("probe --beside wrtier .", "writer, syncs, read"),
        ("probe --beside command: .", "command line after the colon"),
        ("probe --watch 0 .", "must be above zero"),
        ("probe --watch 1s absent", "absent"),
        ("survey --dir absent", "absent"),
        ("survey --model seek=1ms", "seek=8.8ms"),
        ("show nosuch.jsonl", "nosuch.jsonl"),
        ("model rpm=0", "rpm"),
        ("run insert --on null --clients 1000000000", "at most 1000000"),
        ("run insert --on null --sweep clients=1000000000", "at most 1000000"),
        ("pgbench -S -c 1000000000 --on null", "at most 1000000"),
        ("run insert --on null --clients -1", "not a whole number"),
        ("run insert --on null --rate 1e300 --duration 1s", "100000000"),
        ("run insert --on null --duration 0", "must be above zero"),
        ("run insert --on null --duration 99999999h", "ten years"),
        ("run insert --on null --meter --sampling-hz 1000000", "10000"),
        ("run insert --on null --runs /dev/null/x", "cannot create records"),
        ("run insert --on jdbc:derby:x", JDBC_REFUSED),
        ("survey --duration 0", "must be above zero"),
        // A.D1
        ("run insert --on null --repeat 9223372036854775807", "at most 10000"),
        ("survey --repeat 9223372036854775808", "at most 10000"),
        // A.D3
        ("verify isolation --check /dev/zero --claimed snapshot", "more than"),
        ("run insert --on redis://h?password-file=/dev/zero", "more than"),
        ("run insert --on postgres://h/d?tls=verify-full&root=/dev/zero", "more than"),
        ("pgbench -t 1 -f /dev/zero --on null", "more than"),
        ("run insert --on null --meter --map /dev/zero --transactions 1", "more than"),
        ("private postgres --dir absent", "absent"),
        ("verify isolation --check /dev/null --claimed snapshot", "no transaction"),
        ("verify isolation --check absent --claimed snapshot", "the history absent"),
        ("verify isolation sqlite --runs /dev/null/x", "cannot create records"),
        ("probe writetest -b 0", "-b"),
    ] {
        let folder = folder();
        let result = syncline(folder.path(), line);
        refused(&result, words);
        assert_eq!(left_behind(folder.path()), Vec::<String>::new(), "{line}");
        assert_eq!(records(folder.path()).len(), 0, "{line}");
    }
}

// B.F8, A.E8
#[test]
fn neither_the_value_of_a_variable_nor_a_password_without_its_at_is_shown() {
    let folder = folder();
    let value = "p@ss/w?rd#%41:x y$";
    for url in [
        "postgres://ops:${DBPW}@127.0.0.1:1/shop",
        "mysql://ops:${DBPW}@127.0.0.1:1/",
        "redis://:${DBPW}@127.0.0.1:1/",
        "etcd://ops:${DBPW}@127.0.0.1:1",
    ] {
        let output =
            program(folder.path(), "observe --for 1s").arg(url).env("DBPW", value).output();
        let result = ProgramOutput::of(output.unwrap());
        refused(&result, "127.0.0.1:1");
        for part in ["ss/w", "rd#", "x y$", "%41", "%23"] {
            assert!(!result.err.contains(part), "{url}: {result:?}");
        }
    }
    for url in ["postgres://user:SeCrEt", "postgres:/u:SeCrEt@h", "mysql://u:SeCrEt/db"] {
        let result = syncline(folder.path(), &format!("observe {url} --for 1s"));
        refused(&result, "");
        assert!(!result.err.contains("SeCrEt"), "{url}: {result:?}");
    }
}

#[test]
fn a_file_of_another_program_is_neither_used_nor_changed() {
    let folder = folder();
    let path = folder.path().join("precious.db");
    std::fs::write(&path, "not a database").unwrap();
    let result = quick_run(folder.path(), "--on sqlite:precious.db --transactions 1");
    refused(&result, "precious.db");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "not a database");
    assert_eq!(left_behind(folder.path()), ["precious.db"]);
    // Also before another target has run.
    let result = quick_run(folder.path(), "--on null --on sqlite:precious.db --transactions 1");
    refused(&result, "precious.db");
    assert_eq!(records(folder.path()).len(), 0);
    let result = syncline(folder.path(), "show precious.db");
    refused(&result, "precious.db");
    let result = syncline(folder.path(), "probe writetest -f precious.db");
    refused(&result, "precious.db");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "not a database");
}

#[test]
fn an_unusable_records_directory_is_reported_before_the_run() {
    let folder = folder();
    std::fs::write(folder.path().join("syncline-runs"), "a file in the way").unwrap();
    let result = syncline(folder.path(), "probe .");
    refused(&result, "syncline-runs");
}

/// A memory file system of a given size in KiB, unmounted when dropped; none if mounting is not allowed.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(at: &'a Path, kib: u32) -> Option<SmallDisk<'a>> {
        let size = format!("size={kib}k");
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", &size, "none"]).arg(at).output().ok()?;
        mounted.status.success().then_some(SmallDisk(at))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        assert!(Command::new("umount").arg(self.0).status().unwrap().success());
    }
}

#[test]
fn a_disk_that_fills_up_while_running_ends_the_run_with_what_was_measured() {
    let folder = folder();
    let small = folder.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let Some(_disk) = SmallDisk::mount(&small, 4_096) else {
        println!("skipped: this user may not mount a small file system");
        return;
    };
    let result = quick_run(folder.path(), "--on sqlite:small/x.db --duration 60s --json");
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.err.contains("full"), "{result:?}");
    let record = result.json();
    assert_eq!(record["stopped_by"], "failure");
    assert!(record["outcomes"]["committed"].as_u64().unwrap() > 0, "{record}");
    let files = records(folder.path());
    assert_eq!(files.len(), 1);
    assert_eq!(syncline(folder.path(), &format!("show {}", files[0].display())).code, 0);
    assert_eq!(std::fs::read_dir(&small).unwrap().count(), 0, "the store is removed");
}

#[test]
fn records_on_a_full_disk_are_whole_or_absent() {
    let folder = folder();
    let small = folder.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let Some(_disk) = SmallDisk::mount(&small, 16) else {
        println!("skipped: this user may not mount a small file system");
        return;
    };
    std::fs::write(small.join("filler"), vec![1; 12 << 10]).unwrap();
    let result = syncline(
        folder.path(),
        "run insert --on null --transactions 100 --warm-up 0 --line none --runs small/runs --json",
    );
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.err.contains("small/runs"), "{result:?}");
    for entry in std::fs::read_dir(small.join("runs")).into_iter().flatten() {
        let shown = syncline(folder.path(), &format!("show {}", entry.unwrap().path().display()));
        assert_eq!(shown.code, 0, "the existing file is a record: {shown:?}");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let folder = folder();
    let mut child = program(folder.path(), "manual")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_closed_standard_error_is_not_an_error() {
    let folder = folder();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut program = program(folder.path(), "show nosuch.jsonl");
    let status = program.stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(2), "it ends as if somebody read");
}

#[test]
fn a_result_that_cannot_be_printed_is_reported() {
    let folder = folder();
    let full = std::fs::File::create("/dev/full").unwrap();
    let output = program(folder.path(), "list targets").stdout(full).output();
    let result = ProgramOutput::of(output.unwrap());
    refused(&result, "standard output");
}

#[test]
fn names_that_are_not_valid_text_are_accepted() {
    use std::os::unix::ffi::OsStrExt;
    let folder = folder();
    let name = std::ffi::OsStr::from_bytes(b"d\xff");
    let line = "run insert --on null --transactions 10 --warm-up 0 --line none --runs";
    let output = program(folder.path(), line).arg(name).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(std::fs::read_dir(folder.path().join(name)).unwrap().count(), 1);
    let output = program(folder.path(), "show").arg(name).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn a_missing_current_directory_is_reported() {
    let folder = folder();
    for verb in ["survey", "probe", "run insert --on engine", "verify durability engine"] {
        let line = format!(
            "mkdir gone; cd gone; rmdir ../gone; exec {} {verb}",
            env!("CARGO_BIN_EXE_syncline")
        );
        let output = Command::new("sh")
            .args(["-c", &line])
            .current_dir(folder.path())
            .env("NO_COLOR", "1")
            .output();
        let result = ProgramOutput::of(output.unwrap());
        assert_eq!(result.code, 2, "{verb}: {result:?}");
        let last = result.err.lines().last().unwrap_or_default();
        // The sentence names the missing directory, and not only the operating system's error.
        assert!(last.starts_with("error: ") && !last.starts_with("error: No such"), "{result:?}");
        assert!(!result.err.contains("panicked"), "{result:?}");
    }
}
