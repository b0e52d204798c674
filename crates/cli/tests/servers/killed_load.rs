//! A load into PostgreSQL that is killed (SIGKILL) half-way: the next run with that schema is refused with
//! advice, whether or not it wants the rows; `clean` removes them.

use crate::support::{folder, left_behind, program, syncline};
use crate::unmanaged_server::UnmanagedServer;
use std::process::Stdio;

/// Every workload whose rows may stay, with options of a slow load and of a small one.
const KEPT: [(&str, &str, &str); 8] = [
    ("select", "--rows 3000000", "--rows 100"),
    ("short", "--do read --rows 3000000", "--rows 20"),
    ("join", "--rows 3000000", "--rows 50 --joined 10"),
    (
        "debit-credit",
        "--profile pgbench-select-only --scale 30",
        "--profile pgbench-select-only --accounts 50",
    ),
    ("tpcc", "--warehouses 10", "--items 100 --customers 30"),
    ("ycsb", "--records 3000000", "--records 100"),
    ("oltp", "--test read_only --table-size 3000000", "--table-size 100"),
    ("script", "--check none --scale 30", "--builtin select-only"),
];

#[test]
fn runs_after_a_killed_load_are_refused_until_it_is_cleaned() {
    let server = UnmanagedServer::new();
    let folder = folder();
    for (name, long, small) in KEPT {
        let schema = name.replace('-', "_");
        let flags = "--warm-up 0 --transactions 20 --line none";
        let line = |options: &str| {
            let url = server.url();
            // The session that checks the progress of the load uses the server too.
            format!("run {name} {options} {flags} --on {url}?schema={schema}&live=yes")
        };
        let mut load = program(folder.path(), &line(&format!("{long} --reuse")))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let loaded = format!(
            "SELECT coalesce(sum(pg_relation_size(c.oid)), 0) > 1000000 FROM pg_class c JOIN pg_namespace n \
             ON n.oid = relnamespace WHERE nspname = 'syncline_{schema}' AND relkind = 'r'"
        );
        while server.ask(&loaded) != "t" {
            assert_eq!(load.try_wait().unwrap(), None, "{name} ended before it was killed");
        }
        load.kill().unwrap();
        load.wait().unwrap();
        server.wait_while("count(*) > 0");
        let refused = syncline(folder.path(), &line(&format!("{long} --reuse")));
        assert_eq!(refused.code, 2, "{name}: {refused:?}");
        let why =
            "its rows were not loaded to the end; remove it (in a server: syncline clean URL)";
        assert!(refused.err.contains(why), "{name}: {refused:?}");
        let other = syncline(folder.path(), &line(small));
        assert_eq!(other.code, 2, "{name}: {other:?}");
        let why = format!("schema syncline_{schema} exists already; name another with schema=");
        assert!(other.err.contains(&why), "{name}: {other:?}");
    }
    server.wait_while("count(*) > 0");
    let cleaned = syncline(folder.path(), &format!("clean {}", server.url()));
    assert_eq!(cleaned.code, 0, "{cleaned:?}");
    assert_eq!(server.managed_schemas(), Vec::<String>::new());
    let (name, _, small) = KEPT[0];
    let url = server.url();
    let anew = format!("run {name} {small} --transactions 20 --line none --on {url}?schema={name}");
    let anew = syncline(folder.path(), &anew);
    assert_eq!(anew.code, 0, "{anew:?}");
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}
