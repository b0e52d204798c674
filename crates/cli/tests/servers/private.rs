//! `syncline private` and `--on PRODUCT:private`: servers that leave nothing behind.

use crate::support::{Said, folder, left_behind, program, say};
use crate::world::{command_lines, open_folder};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

fn started(folder: &Path) -> (Child, String) {
    let mut child = program(folder, "private redis")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut url)
        .unwrap();
    (child, url.trim().to_owned())
}

fn servers_of(folder: &Path) -> usize {
    let directory = folder.display().to_string();
    let lines = command_lines().into_iter();
    lines
        .filter(|line| line.contains("redis-server") && line.contains(&directory))
        .count()
}

#[test]
fn ctrl_c_stops_a_private_server_and_removes_its_directory() {
    let folder = open_folder();
    let (child, url) = started(folder.path());
    assert!(url.starts_with("redis://127.0.0.1:"), "{url}");
    assert_ne!(left_behind(folder.path()), Vec::<String>::new());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, 0, "{said:?}");
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
    // The keeper is nobody's child now: it is waited for by what it removes last.
    let patience = 1_000;
    for _ in 0..patience {
        if left_behind(folder.path()).is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
    assert_eq!(servers_of(folder.path()), 0);
}

#[test]
fn a_run_starts_its_private_server_and_removes_it() {
    let folder = folder();
    let line = "run insert --on postgres:private?durability=os --clients 2 --transactions 50 --warm-up 0 \
                --line none --json";
    let said = say(folder.path(), line);
    assert_eq!(said.code, 0, "{said:?}");
    let record = said.json();
    assert_eq!(record["target"]["durability"], "os", "{record}");
    assert_eq!(record["target"]["url"], "postgres:private?durability=os");
    let counters = record["counters"].as_array().unwrap();
    let commits = counters
        .iter()
        .find(|one| one["meaning"] == "commits")
        .unwrap();
    assert!(commits["grown"].as_u64().unwrap() >= 50, "{commits}");
    assert!(record["sync_line"]["round_trip_ns"].as_u64().unwrap() > 0);
    // Counted in ticks of 10 ms, of which so few commits may not fill one.
    let cpu = &record["per_commit"]["target_cpu_ns"];
    assert!(cpu["value"].is_f64(), "{cpu}");
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}

#[test]
fn what_a_private_server_cannot_be_is_said_in_one_sentence() {
    let folder = folder();
    let said = say(
        folder.path(),
        "run insert --on redis:private?durability=full --transactions 1",
    );
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("durability=full"), "{said:?}");
    let said = say(folder.path(), "private oracle");
    assert_eq!(said.code, 2);
    assert!(said.err.contains("postgres, mariadb"), "{said:?}");
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}
