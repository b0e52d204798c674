//! `syncline private` and `--on PRODUCT:private`: servers that leave nothing behind.

use crate::support::{ProgramOutput, folder, interrupt, left_behind, records, start, syncline};
use crate::unmanaged_server::{UnmanagedServer, command_lines, first_interval, open_folder};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Child;
use std::sync::mpsc;
use std::time::Duration;

fn started(folder: &Path) -> (Child, String) {
    let mut child = start(folder, "private redis");
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    (child, url.trim().to_owned())
}

fn servers_of(folder: &Path) -> usize {
    let directory = folder.display().to_string();
    let lines = command_lines().into_iter();
    lines.filter(|line| line.contains("redis-server") && line.contains(&directory)).count()
}

#[test]
fn ctrl_c_stops_a_private_server_and_removes_its_directory() {
    let folder = open_folder();
    let (child, url) = started(folder.path());
    assert!(url.starts_with("redis://127.0.0.1:"), "{url}");
    assert_ne!(left_behind(folder.path()), Vec::<String>::new());
    interrupt(&child);
    let result = ProgramOutput::after(child);
    assert_eq!(result.code, 0, "{result:?}");
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
    assert_eq!(servers_of(folder.path()), 0);
}

#[test]
fn kill_9_of_the_program_ends_a_private_server_too() {
    let folder = open_folder();
    let (mut child, _) = started(folder.path());
    assert_ne!(servers_of(folder.path()), 0);
    child.kill().unwrap();
    child.wait().unwrap();
    // The supervisor now has no parent that waits for it, so the test waits for the last thing it removes,
    // and for its own end: its command line names the server, too.
    let patience = 6_000; // a minute: a server on a busy disk ends slowly
    for _ in 0..patience {
        if left_behind(folder.path()).is_empty() && servers_of(folder.path()) == 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
    assert_eq!(servers_of(folder.path()), 0);
}

#[test]
fn a_run_starts_its_private_server_and_removes_it() {
    let folder = folder();
    let line = "run insert --on postgres:private?durability=os --clients 2 --transactions 50 --warm-up 0 \
                --line none --json";
    let result = syncline(folder.path(), line);
    assert_eq!(result.code, 0, "{result:?}");
    let record = result.json();
    assert_eq!(record["target"]["durability"], "os", "{record}");
    assert_eq!(record["target"]["url"], "postgres:private?durability=os");
    let counters = record["counters"].as_array().unwrap();
    let commits = counters.iter().find(|one| one["meaning"] == "commits").unwrap();
    assert!(commits["grown"].as_u64().unwrap() >= 50, "{commits}");
    assert!(record["sync_line"]["round_trip_ns"].as_u64().unwrap() > 0);
    // Counted in ticks of 10 ms; so few commits may not fill one.
    let cpu = &record["per_commit"]["target_cpu_ns"];
    assert!(cpu["value"].is_f64(), "{cpu}");
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}

/// How long a run may take to end after its server has: far less than its measured time.
const ENDS_WITHIN: Duration = Duration::from_mins(1);

#[test]
fn a_server_killed_during_a_run_ends_it_with_a_record() {
    let folder = folder();
    let line =
        "run insert --on postgres:private --clients 8 --duration 10m --warm-up 0 --line none";
    let mut child = start(folder.path(), line);
    let run = Pid::from_child(&child);
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let server = server_named(&mut errors);
    let (result, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let mut rest = String::new();
        errors.read_to_string(&mut rest).unwrap();
        result.send((child.wait_with_output().unwrap(), rest))
    });
    first_interval(folder.path());
    kill_process(server, Signal::QUIT).unwrap();
    let Ok((output, err)) = ended.recv_timeout(ENDS_WITHIN) else {
        kill_process(run, Signal::KILL).unwrap();
        panic!("the run hangs on a server that is gone");
    };
    let result = ProgramOutput { err, ..ProgramOutput::of(output) };
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.err.contains("cannot be reached"), "{result:?}");
    let files = records(folder.path());
    assert_eq!(files.len(), 1);
    let record = syncline(folder.path(), &format!("show --json {}", files[0].display())).json();
    assert_eq!(record["stopped_by"], "failure", "{record}");
    let why = record["cut_short"].as_str().unwrap();
    assert!(why.contains("cannot be reached"), "{why}");
    assert!(record["outcomes"]["committed"].as_u64().unwrap() > 0);
    // Only named if there are any: a client that waited for a commit is unfinished.
    let failed = &record["outcomes"]["failed"]["connection"];
    let failed = failed.as_u64().unwrap_or(0);
    let unfinished = record["outcomes"]["unfinished"].as_u64().unwrap();
    assert!(failed + unfinished > 0, "{}", record["outcomes"]);
    let warnings = record["warnings"].as_array().unwrap();
    let warned = |name: &str| warnings.iter().any(|one| one["name"] == name);
    assert!(warned("checks_not_made"), "{warnings:?}");
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}

/// The process of the private server that a run reports to have started.
fn server_named(errors: &mut impl BufRead) -> Pid {
    for line in errors.lines() {
        let line = line.unwrap();
        if let Some((_, rest)) = line.split_once(", process ") {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            return Pid::from_raw(digits.parse().unwrap()).unwrap();
        }
    }
    panic!("the run says of no server that it was started");
}

#[test]
fn unsupported_options_of_a_private_server_are_one_sentence() {
    let folder = folder();
    for line in [
        "run insert --on redis:private?durability=full --transactions 1",
        "run insert --on mariadb:private?durability=full --transactions 1",
        "run insert --on mariadb:private?durability=full --dry-run",
        "private mariadb --durability full",
    ] {
        let result = syncline(folder.path(), line);
        assert_eq!(result.code, 2, "{line}: {result:?}");
        assert!(result.err.contains("durability=full"), "{line}: {result:?}");
        assert!(!result.err.contains("started a temporary"), "{line}: {result:?}");
    }
    let result = syncline(folder.path(), "private oracle");
    assert_eq!(result.code, 2);
    assert!(result.err.contains("postgres, mariadb"), "{result:?}");
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}

#[test]
fn a_server_that_dies_with_its_directory_leaves_the_record_of_its_run() {
    let (world, folder) = (UnmanagedServer::new(), folder());
    let data = world.ask("SHOW data_directory");
    let line = format!("run insert --on {} --duration 8s --warm-up 0 --clients 2", world.url());
    let child = start(folder.path(), &line);
    first_interval(folder.path());
    let file = std::fs::read_to_string(Path::new(&data).join("postmaster.pid")).unwrap();
    let postmaster = file.lines().next().unwrap().parse().unwrap();
    kill_process(Pid::from_raw(postmaster).unwrap(), Signal::KILL).unwrap();
    // The supervisor removes the directory; if it has not by now, the test does.
    drop(std::fs::rename(&data, format!("{data}.gone")));
    let result = ProgramOutput::after(child);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.out.contains("committed"), "{result:?}");
    let record = std::fs::read_to_string(records(folder.path()).remove(0)).unwrap();
    assert!(record.contains("line_not_measured_again"), "{record}");
}
