//! Does no harm: everything that was in a server before a run is there after it, however the run ends.

use crate::support::{ProgramOutput, folder, interrupt, program, records, start, syncline};
use crate::unmanaged_server::UnmanagedServer;
use crate::unmanaged_server::first_interval;
use std::process::Stdio;

const UNMANAGED: &str = "CREATE SCHEMA syncline_like; \
    CREATE TABLE public.insert_rows (id int); INSERT INTO public.insert_rows VALUES (7); \
    CREATE TABLE syncline_like.theirs (id int)";

#[test]
fn a_run_leaves_unmanaged_tables_unchanged_and_nothing_of_its_own() {
    let (server, folder) = (UnmanagedServer::new(), folder());
    server.ask(UNMANAGED);
    let before = server.everything();
    let line = format!("run tpcb --on {} --transactions 20 --warm-up 0 --line none", server.url())
        .replace("tpcb", "debit-credit");
    let result = syncline(folder.path(), &line);
    assert_eq!(result.code, 0, "{result:?}");
    assert_eq!(server.everything(), before);
    assert_eq!(server.ask("SELECT id FROM public.insert_rows"), "7");
}

#[test]
fn a_dry_run_prints_its_whole_plan_and_changes_nothing() {
    let (server, folder) = (UnmanagedServer::new(), folder());
    let before = server.everything();
    let line = format!("run debit-credit --on {} --clients 4 --dry-run", server.url());
    let result = syncline(folder.path(), &line);
    assert_eq!(result.code, 0, "{result:?}");
    for words in
        ["CREATE TABLE", "UPDATE", "connections", "would load about", "nothing was changed"]
    {
        let all = format!("{}{}", result.out, result.err);
        assert!(all.contains(words), "{words}: {all}");
    }
    assert_eq!(server.everything(), before);
    assert!(records(folder.path()).is_empty());
}

#[test]
fn a_server_with_other_sessions_is_refused_unless_live_is_given() {
    let (server, folder) = (UnmanagedServer::new(), folder());
    let session = server.other_session();
    let line = format!("run insert --on {} --transactions 5 --warm-up 0 --line none", server.url());
    let result = syncline(folder.path(), &line);
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.err.contains("other session"), "{result:?}");
    assert!(server.managed_schemas().is_empty());
    let result = syncline(folder.path(), &format!("{line} --live"));
    assert_eq!(result.code, 0, "{result:?}");
    assert!(server.managed_schemas().is_empty());
    drop(session);
}

/// A run that has started and connected.
fn under_way(server: &UnmanagedServer, folder: &std::path::Path) -> std::process::Child {
    let line = format!("run insert --on {} --duration 60s --warm-up 0 --line none", server.url());
    let child = start(folder, &line);
    first_interval(folder);
    child
}

#[test]
fn tables_in_use_by_a_run_are_not_recreated() {
    let (server, folder) = (UnmanagedServer::new(), folder());
    let url = format!("{}?schema=bench", server.url());
    let make = || syncline(folder.path(), &format!("pgbench -i -q --on {url}"));
    assert_eq!(make().code, 0);
    let mut child = program(folder.path(), &format!("pgbench -S -T 60 --on {url}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    first_interval(folder.path());
    let refused = make();
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("a run of syncline is in progress"), "{refused:?}");
    assert!(child.try_wait().unwrap().is_none(), "the run goes on");
    child.kill().unwrap();
    child.wait().unwrap();
    let again = make();
    assert_eq!(again.code, 0, "{again:?}");
}

#[test]
fn clean_removes_what_a_killed_run_left_and_nothing_else() {
    let (server, folder) = (UnmanagedServer::new(), folder());
    server.ask(UNMANAGED);
    let before = server.everything();
    let mut child = under_way(&server, folder.path());
    assert_eq!(
        server.managed_schemas().len(),
        2,
        "Syncline's schema, and an unmanaged one with a similar name"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    let result = syncline(folder.path(), &format!("clean {}", server.url()));
    assert_eq!(result.code, 0, "{result:?}");
    assert!(result.out.contains("syncline_"), "{result:?}");
    assert!(!result.out.contains("syncline_like"), "an unmanaged schema was dropped: {result:?}");
    assert_eq!(server.everything(), before);
    let again = syncline(folder.path(), &format!("clean {}", server.url()));
    assert_eq!((again.code, again.out.as_str()), (0, ""), "{again:?}");
}

#[test]
fn a_stopped_run_removes_its_tables() {
    let (server, folder) = (UnmanagedServer::new(), folder());
    let before = server.everything();
    let child = under_way(&server, folder.path());
    interrupt(&child);
    let result = ProgramOutput::after(child);
    assert_eq!(result.code, 2, "{result:?}");
    assert_eq!(server.everything(), before);
}

#[test]
fn a_record_keeps_the_statements_and_an_alias_keeps_the_product_out_of_it() {
    let (server, folder) = (UnmanagedServer::new(), folder());
    let line = format!("run insert --on {} --transactions 5 --warm-up 0 --line none", server.url());
    assert_eq!(syncline(folder.path(), &line).code, 0);
    let file = records(folder.path()).remove(0);
    let shown = syncline(folder.path(), &format!("show {} --statements", file.display()));
    assert!(shown.out.contains("INSERT INTO"), "{shown:?}");
    std::fs::remove_file(&file).unwrap();
    let result = syncline(folder.path(), &format!("{line} --alias A"));
    assert_eq!(result.code, 0, "{result:?}");
    let text = std::fs::read_to_string(records(folder.path()).remove(0)).unwrap().to_lowercase();
    for name in ["postgres", "pg_", "wal_"] {
        assert!(!text.contains(name), "{name} is in {text}");
    }
}
