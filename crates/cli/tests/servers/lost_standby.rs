//! A synchronous standby that disappears while a run waits for its commits.

use crate::support::{ProgramOutput, folder, interrupt, left_behind, start, syncline};
use crate::unmanaged_server::UnmanagedServer;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

/// How often, and at which interval, the end of a stopped run is polled: far longer than it takes.
const POLLS: usize = 12_000;
const POLL_INTERVAL: Duration = Duration::from_millis(10);

const WAITING: &str = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

/// Names a standby that does not exist, like one that has disappeared.
fn lose_the_standby(server: &UnmanagedServer) {
    server.ask("ALTER SYSTEM SET synchronous_standby_names = 'standby1'");
    server.ask("SELECT pg_reload_conf()");
}

/// A run whose load waits for a lost standby.
fn waits_for_a_lost_standby(server: &UnmanagedServer, folder: &Path) -> Child {
    let line = format!(
        "run select --rows 3000000 --warm-up 0 --transactions 20 --line none --on {}?live=yes",
        server.url()
    );
    let mut child = start(folder, &line);
    let loads = "SELECT coalesce(sum(pg_relation_size(c.oid)), 0) > 1000000 FROM pg_class c JOIN pg_namespace n \
                 ON n.oid = relnamespace WHERE nspname LIKE 'syncline\\_%' AND relkind = 'r'";
    while server.ask(loads) != "t" {
        assert_eq!(child.try_wait().unwrap(), None, "it loads for long");
    }
    lose_the_standby(server);
    while server.ask(WAITING) == "0" {
        assert_eq!(child.try_wait().unwrap(), None, "it loads for long");
    }
    child
}

fn ended(mut child: Child) -> ProgramOutput {
    for _ in 0..POLLS {
        if child.try_wait().unwrap().is_some() {
            return ProgramOutput::after(child);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    child.kill().unwrap();
    panic!("it hangs: {:?}", ProgramOutput::after(child));
}

// B.F6
#[test]
fn one_ctrl_c_ends_a_load_that_waits_for_a_lost_standby_and_leaves_nothing() {
    let (server, folder) = (UnmanagedServer::new(), folder());
    let child = waits_for_a_lost_standby(&server, folder.path());
    interrupt(&child);
    let result = ended(child);
    assert_eq!(result.code, 2, "{result:?}");
    assert!(
        result.err.contains("stopped while rows were loaded") && result.err.contains("SyncRep"),
        "{result:?}"
    );
    assert_eq!(server.managed_schemas(), Vec::<String>::new(), "{result:?}");
    assert_eq!(server.ask(WAITING), "0", "{result:?}");
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}

// B.F6
#[test]
fn clean_ends_the_waiting_sessions_of_a_killed_program() {
    let (server, folder) = (UnmanagedServer::new(), folder());
    let mut child = waits_for_a_lost_standby(&server, folder.path());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(server.ask(WAITING), "0", "the server has not noticed");
    assert_eq!(server.managed_schemas().len(), 1);
    let result = syncline(folder.path(), &format!("clean {}", server.url()));
    assert_eq!(result.code, 0, "{result:?}");
    let ended = "of a program that has ended, which waits in SyncRep for a synchronous standby";
    assert!(result.out.contains(ended) && result.out.contains("schema syncline_"), "{result:?}");
    assert_eq!(server.managed_schemas(), Vec::<String>::new());
    assert_eq!(server.ask(WAITING), "0");
}

// B.F6
#[test]
fn clean_names_the_sessions_of_unknown_programs() {
    let (server, folder) = (UnmanagedServer::new(), folder());
    server.ask("CREATE SCHEMA syncline_other; COMMENT ON SCHEMA syncline_other IS 'made by Syncline, which may drop it'");
    let other = server.session_named("syncline");
    let result = syncline(folder.path(), &format!("clean {}", server.url()));
    assert_eq!(result.code, 2, "{result:?}");
    assert!(
        result.err.contains("which waits in PgSleep, is of a program that is not on this machine")
            && result.err.contains("SELECT pg_terminate_backend("),
        "{result:?}"
    );
    assert_eq!(server.managed_schemas(), ["syncline_other"]);
    drop(other);
}
