//! Deliberate conflicts through the runner: counted by their cause, and retried as the plan requires;
//! and a disk that fills up.

use crate::conflicting_clients::{ConflictingClients, Way};
use crate::server::Server;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use syncline_contract::{Cause, Durability, FailureKind};
use syncline_runner::{Event, Observer, RunPlan, RunResult, StopReason, run};
use syncline_workloads::AnyWorkload;

const PAIRS: u64 = 2;

fn crossed(server: &Server, options: &str, way: Way, retries: u32) -> RunResult {
    let target = server.target(options);
    let plan = ConflictingClients::pairs(PAIRS, retries);
    let result = run(&target, &ConflictingClients::new(way), &plan, &AtomicBool::new(false), &());
    let result = result.unwrap();
    ConflictingClients::held(&result);
    result
}

#[test]
fn a_cycle_of_waits_is_a_deadlock_and_is_retried() {
    let server = Server::start(Durability::Os);
    let deadlock = Cause::Deadlock as usize;
    let outcomes = crossed(&server, "", Way::Cross, 0).outcomes;
    assert_eq!(outcomes.conflicted[deadlock], PAIRS, "{outcomes:?}");
    assert_eq!((outcomes.attempted, outcomes.committed), (4, 2));
    let outcomes = crossed(&server, "", Way::Cross, 5).outcomes;
    assert!(outcomes.retried[deadlock] >= PAIRS, "{outcomes:?}");
    assert_eq!((outcomes.attempted, outcomes.committed), (4, 4));
    assert!(outcomes.committed_after_retry >= PAIRS);
    assert_eq!(outcomes.failed, [0; 5]);
}

#[test]
fn a_lock_timeout_is_counted_and_retried() {
    let server = Server::start(Durability::Os);
    let locked = Cause::Locked as usize;
    let options = "lock_timeout_ms=50";
    let outcomes = crossed(&server, options, Way::Hold, 0).outcomes;
    assert_eq!(outcomes.conflicted[locked], PAIRS, "{outcomes:?}");
    assert_eq!((outcomes.attempted, outcomes.committed), (4, 2));
    let outcomes = crossed(&server, options, Way::Hold, 1_000).outcomes;
    // The holder may take longer to commit than the second attempt waits.
    assert!(outcomes.retried[locked] >= PAIRS, "{outcomes:?}");
    assert_eq!((outcomes.attempted, outcomes.committed), (4, 4));
    assert_eq!(outcomes.failed, [0; 5]);
}

/// A small file system in memory that the server owns, unmounted when dropped; `None` if mounting is
/// not allowed.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount_next_to(data: &Path) -> Option<SmallDisk> {
        let at = data.with_file_name("small");
        std::fs::create_dir(&at).unwrap();
        let of = std::fs::metadata(data).unwrap();
        let options = format!("size=2m,mode=700,uid={},gid={}", of.uid(), of.gid());
        let mut mount = Command::new("mount");
        let mount = mount.args(["-t", "tmpfs", "-o", &options, "none"]).arg(&at);
        let mounted = mount.output().ok()?;
        mounted.status.success().then_some(SmallDisk(at))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The server may still have files there: they disappear when it closes them.
        let ended = Command::new("umount").arg("--lazy").arg(&self.0).status();
        assert!(ended.unwrap().success());
    }
}

/// Moves new tables to the small disk once the server was asked for its locations.
struct MovesTables<'s>(&'s Server);

impl Observer for MovesTables<'_> {
    fn event(&self, event: Event<'_>) {
        if let Event::Creating = event {
            self.0.run("ALTER DATABASE postgres SET default_tablespace = 'small'");
        }
    }
}

#[test]
fn a_full_disk_stops_the_run_with_the_statements_name_and_the_server_survives() {
    let server = Server::start(Durability::Os);
    let Some(disk) = SmallDisk::mount_next_to(&server.data()) else {
        println!("skipped: this user may not mount a small file system");
        return;
    };
    // Only tables go there: without space for its log the server would stop.
    let place = disk.0.display();
    server.run(&format!("CREATE TABLESPACE small LOCATION '{place}'"));
    let target = server.target("");
    let plan = RunPlan {
        clients: 4,
        workers: Some(2),
        duration: Some(Duration::from_mins(5)),
        warm_up: Duration::ZERO,
        ..RunPlan::default()
    };
    let insert = AnyWorkload::parse("insert", &[]).unwrap();
    let never = AtomicBool::new(false);
    let result = run(&target, &insert, &plan, &never, &MovesTables(&server)).unwrap();
    let StopReason::Failure { kind, operation, what } = &result.stopped_by else {
        panic!("it never fills: {:?}", result.outcomes);
    };
    assert_eq!(*kind, FailureKind::DiskFull, "{what}");
    assert_eq!(operation.as_deref(), Some("insert row"));
    assert!(what.contains("\"insert row\"") && what.contains("No space left"), "{what}");
    assert!(result.outcomes.committed > 0);
    assert_eq!(result.reconnects, 0, "the server survives");
    ConflictingClients::held(&result);
    assert_eq!(server.run("SELECT 7"), ["7"]);
    assert_eq!(server.schemas(), [""; 0]);
    // B.F9: a tablespace that is known before the run is not filled.
    let refused = run(&server.target("live=yes"), &insert, &plan, &never, &()).unwrap_err();
    let why = refused.to_string();
    assert!(why.contains("in reserve") && why.contains(&place.to_string()), "{why}");
    assert_eq!(server.schemas(), [""; 0]);
}
