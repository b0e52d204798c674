//! `syncline sysbench` on servers: tables of the real sysbench are refused, and a test that inserts leaves
//! prepared tables alone.

use crate::support::{folder, syncline};
use crate::unmanaged_server::UnmanagedServer;
use syncline_launcher::{LaunchSpec, PrivateServer, Product};

/// f02, f22.
#[test]
fn tables_of_sysbench_are_refused_and_a_loop_over_all_tests_needs_one_prepare() {
    let (world, folder) = (UnmanagedServer::new(), folder());
    let flags = format!(
        "--pgsql-host=127.0.0.1 --pgsql-port={} --pgsql-user=postgres --pgsql-password={} \
         --pgsql-db=postgres --tables=2 --table-size=100 --events=10 --time=0",
        world.port(),
        world.password()
    );
    let run = |line: &str| syncline(folder.path(), &format!("sysbench {flags} {line}"));
    world.ask("CREATE TABLE public.sbtest1 (id int PRIMARY KEY, k int, c char(120), pad char(60))");
    let everything = world.everything();
    for command in ["prepare", "run", "cleanup"] {
        let result = run(&format!("oltp_read_write {command}"));
        assert_eq!(result.code, 2, "{command}: {result:?}");
        assert!(result.err.contains("public.sbtest1 is at"), "{command}: {result:?}");
    }
    assert_eq!(world.everything(), everything);
    world.ask("DROP TABLE public.sbtest1");
    let alone = run("oltp_read_only run");
    assert_eq!(alone.code, 0, "{alone:?}");
    assert_eq!(world.managed_schemas(), Vec::<String>::new(), "without prepare nothing is left");
    assert_eq!(run("oltp_read_write prepare").code, 0);
    for test in [
        "oltp_point_select",
        "oltp_insert",
        "oltp_read_write",
        "bulk_insert",
        "oltp_insert --auto_inc=off",
        "oltp_update_index",
    ] {
        let result = run(&format!("{test} run"));
        assert_eq!(result.code, 0, "{test}: {result:?}");
        assert_eq!(world.managed_schemas(), ["syncline_sysbench"], "{test}");
    }
    assert_eq!(run("oltp_read_write cleanup").code, 0);
    assert_eq!(world.managed_schemas(), Vec::<String>::new());
}

/// f02, on MariaDB: the database of the URL is the user's, in which sysbench makes its tables.
#[test]
fn tables_of_sysbench_are_refused_on_mariadb_too() {
    let folder = folder();
    let server = PrivateServer::start(&LaunchSpec {
        directory: Some(folder.path().to_owned()),
        ..LaunchSpec::new(Product::Mariadb)
    });
    let server = server.unwrap();
    let (place, options) = server.url().split_once('?').unwrap_or((server.url(), ""));
    let place = place.trim_end_matches('/');
    let of = |database: &str| format!("{place}{database}?{options}");
    let script = |text: &str| {
        std::fs::write(folder.path().join("s.sql"), text).unwrap();
        let line = format!("pgbench -n -t 1 -f s.sql --on {}", of(""));
        let result = syncline(folder.path(), &line);
        assert_eq!(result.code, 0, "{result:?}");
    };
    script("CREATE DATABASE other;\nCREATE TABLE other.sbtest1 (id int);\n");
    let run = |database: &str| {
        let flags = "--table-size=50 --events=5 --time=0";
        let line = format!("sysbench oltp_point_select {flags} --on={} run", of(database));
        syncline(folder.path(), &line)
    };
    let refused = run("/other");
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("other.sbtest1 is at"), "{refused:?}");
    script("DROP TABLE other.sbtest1;\n");
    let ran = run("/other");
    assert_eq!(ran.code, 0, "{ran:?}");
}
