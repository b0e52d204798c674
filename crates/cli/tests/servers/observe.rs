//! `syncline observe` reports what happens in a store under another program's load.

use crate::support::{ProgramOutput, figure, folder, interrupt, program, records, start, syncline};
use crate::unmanaged_server::UnmanagedServer;

/// Transactions of the load.
const LOAD: u32 = 3_000;

#[test]
fn an_observation_agrees_with_pgbench_and_the_traced_sync_calls() {
    let (server, folder) = (UnmanagedServer::new(), folder());
    server.pgbench(&["-i", "-q", "-n", "postgres"]);
    let line = format!("observe {} --for 60s --every 500ms --json", server.url());
    let child = start(folder.path(), &line);
    // The first samples follow each other at once, the third half a second later.
    server.wait_while("count(query_start) = 0");
    wait_for_sample_after(&server, now(&server) + 0.4);
    let each = (LOAD / 2).to_string();
    server.pgbench(&["-n", "-N", "-c", "2", "-t", &each, "postgres"]);
    // Sessions that have ended have reported all their work; a later sample includes it.
    server.wait_while("count(*) > 1");
    wait_for_sample_after(&server, now(&server) + 0.6);
    interrupt(&child);
    let result = ProgramOutput::after(child);
    assert_eq!(result.code, 0, "{result:?}");
    let record = result.json();
    let seen = figure(&record, "commits_per_s") * figure(&record, "span_ns") / 1e9;
    let off = (seen - f64::from(LOAD)).abs() / f64::from(LOAD);
    assert!(off < 0.02, "{seen} commits seen of {LOAD}");
    let by_store = figure(&record, "commits_per_sync.value");
    assert!((1.0..=2.0).contains(&by_store), "{by_store} commits a sync from two clients");
    match record["commits_per_sync_call"]["value"].as_f64() {
        Some(by_kernel) => {
            let off = (by_store - by_kernel).abs() / by_store;
            assert!(off < 0.1, "{by_store} by the store, {by_kernel} by the kernel");
        }
        // If tracing is not allowed, the record says so.
        None => assert!(record["commits_per_sync_call"]["source"].as_str().unwrap().len() > 10),
    }
    let schema = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/record.schema.json"
    ));
    let schema = serde_json::from_str(&schema.unwrap()).unwrap();
    let valid = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = valid.iter_errors(&record).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

/// The server's clock, in seconds.
fn now(server: &UnmanagedServer) -> f64 {
    let now = server.ask("SELECT extract(epoch FROM clock_timestamp())");
    now.parse().unwrap()
}

/// Waits until the observer has sampled after that time.
fn wait_for_sample_after(server: &UnmanagedServer, seconds: f64) {
    server.wait_while(&format!("coalesce(max(extract(epoch FROM query_start)), 0) < {seconds}"));
}

#[test]
fn an_observation_changes_nothing_and_is_shown_again_from_its_record() {
    let (server, folder) = (UnmanagedServer::new(), folder());
    let before = server.everything();
    let result =
        syncline(folder.path(), &format!("observe {} --for 1s --every 500ms", server.url()));
    assert_eq!(result.code, 0, "{result:?}");
    assert!(result.out.contains("commits per sync"), "{result:?}");
    assert_eq!(server.everything(), before);
    let file = records(folder.path()).remove(0);
    let shown = syncline(folder.path(), &format!("show {}", file.display()));
    assert_eq!(shown.out, result.out);
    let none = syncline(folder.path(), "observe sqlite:x.db --for 1s");
    assert_eq!(none.code, 2);
    assert!(none.err.contains("cannot be observed"), "{none:?}");
}

#[test]
fn a_read_only_load_is_not_counted_as_commits_of_the_log() {
    let (server, folder) = (UnmanagedServer::new(), folder());
    server.pgbench(&["-i", "-q", "-n", "postgres"]);
    let line = format!("observe {} --for 60s --every 500ms --json", server.url());
    let child = start(folder.path(), &line);
    server.wait_while("count(query_start) = 0");
    wait_for_sample_after(&server, now(&server) + 0.4);
    server.pgbench(&["-n", "-S", "-t", "2000", "postgres"]);
    server.wait_while("count(*) > 1");
    wait_for_sample_after(&server, now(&server) + 0.6);
    interrupt(&child);
    let record = ProgramOutput::after(child).json();
    let seconds = figure(&record, "span_ns") / 1e9;
    assert!(figure(&record, "commits_per_s") * seconds > 1_900.0);
    let wrote = figure(&record, "writing_commits_per_s.value") * seconds;
    assert!(wrote < 50.0, "{wrote} transactions that wrote");
    if let Some(shared) = record["commits_per_sync"]["value"].as_f64() {
        assert!(shared < 10.0, "{shared} commits a sync where all read");
    }
}

#[test]
fn an_alias_keeps_product_user_and_place_out_of_every_line_of_the_record() {
    let (server, folder) = (UnmanagedServer::new(), folder());
    let mut observe =
        program(folder.path(), &format!("observe {} --for 200ms --every 100ms", server.url()));
    let result = ProgramOutput::of(observe.args(["--alias", "Store A"]).output().unwrap());
    assert_eq!(result.code, 0, "{result:?}");
    let text = std::fs::read_to_string(records(folder.path()).remove(0)).unwrap();
    assert!(text.lines().count() == 2 && text.contains("Store A"), "{text}");
    for name in ["postgres", "PostgreSQL", "127.0.0.1", "pg_", "xact"] {
        assert!(!text.contains(name), "{name}: {text}");
        assert!(!result.out.contains(name), "{name}: {result:?}");
    }
}
