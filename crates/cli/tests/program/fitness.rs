//! `probe --for`, `--beside` and `--watch`: the form of their answers on real directories, and exit codes. No
//! test expects a speed.

use crate::support::{ProgramOutput, folder, interrupt, left_behind, program, records, syncline};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[test]
fn a_verdict_has_a_word_figures_and_the_exit_code_that_belongs_to_it() {
    let folder = folder();
    let result = syncline(folder.path(), "probe --for etcd,hana . --duration 300ms --json");
    let record = result.json();
    let verdicts = record["fitness"].as_array().unwrap();
    let names: Vec<_> = verdicts.iter().map(|verdict| &verdict["product"]).collect();
    assert_eq!(names, ["etcd", "hana"]);
    let words: Vec<_> = verdicts.iter().map(|verdict| verdict["word"].as_str().unwrap()).collect();
    let expected = match () {
        () if words.contains(&"unfit") => 1,
        () if words.contains(&"not known") => 2,
        () => 0,
    };
    assert_eq!(result.code, expected, "{words:?}: {}", result.err);
    let wal = &verdicts[0]["shapes"][0];
    assert_eq!(wal["windows"].as_array().unwrap().len(), 3, "{wal}");
    assert_eq!(wal["operation"], "2300 B, fdatasync");
    assert!(wal["thresholds"][0]["source"].as_str().unwrap().contains("etcd FAQ"));
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
    assert_eq!(records(folder.path()).len(), 1);
}

#[test]
fn several_directories_are_in_one_table_and_one_in_memory_is_unfit() {
    let folder = folder();
    let memory = Path::new("/dev/shm");
    if !memory.is_dir() {
        return;
    }
    let result = syncline(folder.path(), "probe --for postgres --duration 200ms . /dev/shm");
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.out.contains("PostgreSQL in /dev/shm: unfit"), "{result:?}");
    assert!(result.out.contains("not durable: tmpfs keeps its files in memory"), "{result:?}");
    assert_eq!(result.out.matches("verdict").count(), 1, "one table: {result:?}");
    assert_eq!(records(folder.path()).len(), 2);
}

#[test]
fn all_products_are_measured_by_one_word() {
    let folder = folder();
    let result = syncline(folder.path(), "probe --for all --duration 500ms --json");
    let record = result.json();
    let names = record["fitness"].as_array().unwrap().len();
    assert_eq!(names, 9, "{record}");
}

/// A control group that allows this many writes per second to the disk below the directory; none where that
/// is not allowed.
struct ThrottledGroup(PathBuf);

impl ThrottledGroup {
    fn of(folder: &Path, writes_per_s: u64) -> Option<ThrottledGroup> {
        let number = std::fs::metadata(folder).unwrap().dev();
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        let disk = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
        let whole = if disk.join("partition").exists() { disk.parent()?.to_owned() } else { disk };
        let device = std::fs::read_to_string(whole.join("dev")).ok()?;
        let name = format!("syncline-test-{}", std::process::id());
        let limits = [
            (
                "blkio",
                "blkio.throttle.write_iops_device",
                format!("{} {writes_per_s}", device.trim()),
            ),
            (".", "io.max", format!("{} wiops={writes_per_s}", device.trim())),
        ];
        limits.into_iter().find_map(|(controller, file, limit)| {
            let group = Path::new("/sys/fs/cgroup").join(controller).join(&name);
            std::fs::create_dir(&group).ok()?;
            // Removed when dropped, also if the limit cannot be set.
            let group = ThrottledGroup(group);
            std::fs::write(group.0.join(file), limit).is_ok().then_some(group)
        })
    }
}

impl Drop for ThrottledGroup {
    fn drop(&mut self) {
        drop(std::fs::remove_dir(&self.0));
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
fn a_disk_that_is_throttled_is_unfit_and_what_follows_is_said() {
    let folder = folder();
    // Twenty writes a second: no sync can take less than a few times the 10 ms that etcd allows.
    let Some(group) = ThrottledGroup::of(folder.path(), 20) else {
        println!("skipped: the writes of a control group cannot be throttled here");
        return;
    };
    let join = format!("echo $$ > {}/cgroup.procs && exec \"$0\" \"$@\"", group.0.display());
    let mut command = Command::new("sh");
    command.current_dir(folder.path()).args(["-c", &join, env!("CARGO_BIN_EXE_syncline")]);
    command.args(["probe", "--for", "etcd", ".", "--duration", "3s"]);
    let result = ProgramOutput::of(command.output().unwrap());
    assert_eq!(result.code, 1, "{result:?}");
    for words in ["etcd in .: unfit", "than 10 ms", "would help"] {
        assert!(
            result.out.replace(folder.path().to_str().unwrap(), ".").contains(words),
            "{result:?}"
        );
    }
}

#[test]
fn syncs_are_measured_alone_beside_each_load_and_over_time() {
    let folder = folder();
    for load in ["writer", "syncs", "read"] {
        let line = format!("probe . --beside {load} --watch 100ms --duration 200ms --json");
        let result = syncline(folder.path(), &line);
        assert!([0, 1].contains(&result.code), "{result:?}");
        let record = result.json();
        let found = &record["over_time"];
        let phases = found["phases"].as_array().unwrap();
        let names: Vec<_> = phases.iter().map(|phase| &phase["name"]).collect();
        assert_eq!(names, ["alone", "beside", "over time"], "{load}");
        assert!(phases[1]["load"].is_string() && phases[2]["load"].is_null(), "{found}");
        assert!(phases.iter().all(|phase| phase["latency_ns"]["samples"].as_u64() > Some(0)));
        assert!(phases[0]["latency_ns"]["p999"].is_null(), "a few samples do not resolve it");
        assert_eq!(found["intervals"].as_array().unwrap().len(), 1);
        assert_eq!(left_behind(folder.path()), Vec::<String>::new(), "{load}");
    }
    let shown = syncline(folder.path(), "probe . --watch 100ms --duration 100ms");
    assert!(shown.out.trim_start().starts_with("syncs over time in"), "{shown:?}");
    assert!(shown.out.contains("Phase") && !shown.out.contains("beside:"), "{shown:?}");
}

#[test]
fn a_load_that_ends_by_itself_ends_the_probe_with_the_reason() {
    let folder = folder();
    let mut command = program(folder.path(), "probe . --duration 500ms --beside");
    let result = ProgramOutput::of(command.arg("command:exit 3").output().unwrap());
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.out.contains("exit status: 3"), "{result:?}");
}

#[test]
fn an_interrupted_probe_ends_the_command_beside_it() {
    let folder = folder();
    let mut command = program(folder.path(), "probe . --duration 60s --for redis --beside");
    command.arg("command:sleep 600 & echo $! > pid; wait");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = folder.path().join("pid");
    let sleeper = loop {
        match std::fs::read_to_string(&pid) {
            Ok(text) if text.ends_with('\n') => break text.trim().to_owned(),
            _ => std::thread::yield_now(),
        }
    };
    interrupt(&child);
    let result = ProgramOutput::after(child);
    assert_eq!(result.code, 2, "{result:?}");
    let stat = std::fs::read_to_string(format!("/proc/{sleeper}/stat")).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z"), "it still runs: {stat}");
    assert_eq!(left_behind(folder.path()), ["pid"]);
}
