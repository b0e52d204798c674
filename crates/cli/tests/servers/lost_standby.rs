//! A synchronous standby that goes while a run waits for its commits.

use crate::foreign_server::ForeignServer;
use crate::support::{ProgramOutput, folder, interrupt, left_behind, say, start};
use std::path::Path;
use std::process::Child;
use std::time::Duration;

/// How often, and how far apart, it is looked whether a stopped run has ended: far beyond what that takes.
const LOOKS: usize = 12_000;
const LOOKS_EVERY: Duration = Duration::from_millis(10);

const WAITING: &str = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

/// Names a standby that is not there, as one that has gone looks.
fn lose_the_standby(world: &ForeignServer) {
    world.ask("ALTER SYSTEM SET synchronous_standby_names = 'standby1'");
    world.ask("SELECT pg_reload_conf()");
}

/// A run whose load waits for a standby that has gone.
fn waits_for_a_lost_standby(world: &ForeignServer, folder: &Path) -> Child {
    let line = format!(
        "run select --rows 3000000 --warm-up 0 --transactions 20 --line none --on {}?live=yes",
        world.url()
    );
    let mut child = start(folder, &line);
    let loads = "SELECT coalesce(sum(pg_relation_size(c.oid)), 0) > 1000000 FROM pg_class c JOIN pg_namespace n \
                 ON n.oid = relnamespace WHERE nspname LIKE 'syncline\\_%' AND relkind = 'r'";
    while world.ask(loads) != "t" {
        assert_eq!(child.try_wait().unwrap(), None, "it loads for long");
    }
    lose_the_standby(world);
    while world.ask(WAITING) == "0" {
        assert_eq!(child.try_wait().unwrap(), None, "it loads for long");
    }
    child
}

fn ended(mut child: Child) -> ProgramOutput {
    for _ in 0..LOOKS {
        if child.try_wait().unwrap().is_some() {
            return ProgramOutput::after(child);
        }
        std::thread::sleep(LOOKS_EVERY);
    }
    child.kill().unwrap();
    panic!("it hangs: {:?}", ProgramOutput::after(child));
}

// B.F6
#[test]
fn one_ctrl_c_ends_a_load_that_waits_for_a_lost_standby_and_leaves_nothing() {
    let (world, folder) = (ForeignServer::new(), folder());
    let child = waits_for_a_lost_standby(&world, folder.path());
    interrupt(&child);
    let said = ended(child);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(
        said.err.contains("stopped while rows were loaded") && said.err.contains("SyncRep"),
        "{said:?}"
    );
    assert_eq!(world.ours(), Vec::<String>::new(), "{said:?}");
    assert_eq!(world.ask(WAITING), "0", "{said:?}");
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}

// B.F6
#[test]
fn clean_ends_the_sessions_that_a_killed_program_has_left_waiting() {
    let (world, folder) = (ForeignServer::new(), folder());
    let mut child = waits_for_a_lost_standby(&world, folder.path());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(world.ask(WAITING), "0", "the server has not noticed");
    assert_eq!(world.ours().len(), 1);
    let said = say(folder.path(), &format!("clean {}", world.url()));
    assert_eq!(said.code, 0, "{said:?}");
    let ended = "of a program that has ended, which waits in SyncRep for a synchronous standby";
    assert!(said.out.contains(ended) && said.out.contains("schema syncline_"), "{said:?}");
    assert_eq!(world.ours(), Vec::<String>::new());
    assert_eq!(world.ask(WAITING), "0");
}

// B.F6
#[test]
fn clean_names_the_sessions_of_programs_that_it_does_not_know() {
    let (world, folder) = (ForeignServer::new(), folder());
    world.ask("CREATE SCHEMA syncline_other; COMMENT ON SCHEMA syncline_other IS 'made by Syncline, which may drop it'");
    let other = world.session_named("syncline");
    let said = say(folder.path(), &format!("clean {}", world.url()));
    assert_eq!(said.code, 2, "{said:?}");
    assert!(
        said.err.contains("which waits in PgSleep, is of a program that is not on this machine")
            && said.err.contains("SELECT pg_terminate_backend("),
        "{said:?}"
    );
    assert_eq!(world.ours(), ["syncline_other"]);
    drop(other);
}
