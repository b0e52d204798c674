//! Other roles of the server: their functions are not called, their schemas are neither reused nor
//! dropped, and their objects that depend on managed ones remain.

use crate::server::{Numbers, Server};
use syncline_contract::conformance::block_on;
use syncline_contract::{Durability, Target};
use syncline_stores::AnyTarget;

/// A server with a role that may create schemas, and functions in `public`, as every role may up to
/// PostgreSQL 14.
fn server() -> Server {
    let server = Server::start(Durability::Os);
    for statement in [
        "CREATE ROLE eve LOGIN",
        "GRANT CREATE ON DATABASE postgres TO eve",
        "GRANT CREATE ON SCHEMA public TO eve",
    ] {
        server.run(statement);
    }
    server
}

fn target(server: &Server, role: &str) -> AnyTarget {
    let url = server.url(1, "schema=keep&live=yes");
    let url = url.replace("postgres://postgres@", &format!("postgres://{role}@"));
    AnyTarget::open(&url).unwrap()
}

fn is_superuser(server: &Server) -> bool {
    server.run("SELECT rolsuper::text FROM pg_roles WHERE rolname = 'eve'") == ["true"]
}

// A.E3
#[test]
fn functions_of_others_are_never_called() {
    let (server, plan) = (server(), Numbers::new().plan);
    // Each matches the arguments better than the server's own function of that name.
    for (signature, result) in [
        ("obj_description(oid, text)", "text"),
        ("concat_ws(text, text, text)", "text"),
        ("pg_sleep(numeric)", "text"),
        ("pg_wal_lsn_diff(pg_lsn, text)", "text"),
        ("coalesce_text(text)", "text"),
    ] {
        server.run(&format!(
            "CREATE FUNCTION public.{signature} RETURNS {result} LANGUAGE plpgsql AS 'BEGIN EXECUTE ''ALTER ROLE \
             eve SUPERUSER''; RETURN NULL; END'"
        ));
    }
    let keep = target(&server, "postgres");
    block_on(&(), keep.preflight()).unwrap();
    block_on(&(), keep.create(&plan)).unwrap();
    assert!(block_on(&(), keep.reopen(&plan)).unwrap());
    block_on(&(), keep.reported_settings()).unwrap();
    block_on(&(), keep.counters()).unwrap();
    // The observing session stays connected until it is dropped.
    let observes = target(&server, "postgres");
    block_on(&(), observes.observe()).unwrap();
    drop(observes);
    block_on(&(), keep.self_check()).unwrap();
    assert_eq!(block_on(&(), keep.clean()).unwrap(), ["schema syncline_keep"]);
    assert!(!is_superuser(&server));
    // They would have been called by the superuser.
    server.run("SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace LIMIT 1");
    assert!(is_superuser(&server));
}

// A.E4
#[test]
fn a_schema_of_another_role_is_neither_reused_nor_cleaned() {
    let (server, plan) = (server(), Numbers::new().plan);
    let (eve, admin) = (target(&server, "eve"), target(&server, "postgres"));
    block_on(&(), eve.create(&plan)).unwrap();
    for refused in
        [block_on(&(), admin.reopen(&plan)).map(drop), block_on(&(), admin.create(&plan))]
    {
        let why = refused.unwrap_err().what;
        assert!(why.contains("belongs to role eve"), "{why}");
    }
    let kept = block_on(&(), admin.clean()).unwrap();
    assert!(kept.len() == 1 && kept[0].starts_with("kept schema syncline_keep"), "{kept:?}");
    assert_eq!(server.schemas(), ["syncline_keep"]);
    assert_eq!(block_on(&(), eve.clean()).unwrap(), ["schema syncline_keep"]);
    assert_eq!(server.schemas(), Vec::<String>::new());
    // In one of our own schemas, other roles' objects could act with our rights too.
    block_on(&(), admin.create(&plan)).unwrap();
    server.run("GRANT CREATE, USAGE ON SCHEMA syncline_keep TO eve");
    server.run("CREATE FUNCTION syncline_keep.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'");
    server.run("ALTER FUNCTION syncline_keep.mine() OWNER TO eve");
    let why = block_on(&(), admin.reopen(&plan)).unwrap_err().what;
    assert!(why.contains("function mine of eve"), "{why}");
}

// A.E7
#[test]
fn a_removal_takes_nothing_beyond_its_schema() {
    let (server, plan) = (server(), Numbers::new().plan);
    let keep = target(&server, "postgres");
    block_on(&(), keep.create(&plan)).unwrap();
    for (makes, drops, name) in [
        (
            "CREATE VIEW public.watching AS SELECT * FROM syncline_keep.numbers",
            "DROP VIEW public.watching",
            "view public.watching",
        ),
        (
            "CREATE TABLE public.pointing (id bigint REFERENCES syncline_keep.numbers)",
            "DROP TABLE public.pointing",
            "pointing",
        ),
        (
            "CREATE FUNCTION public.counting() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM \
             syncline_keep.numbers; END",
            "DROP FUNCTION public.counting()",
            "function public.counting()",
        ),
    ] {
        server.run(makes);
        for refused in [block_on(&(), keep.clean()).map(drop), block_on(&(), keep.remove())] {
            let why = refused.unwrap_err().what;
            assert!(why.contains(name) && why.contains("was not removed"), "{why}");
        }
        let rows = server.run("SELECT count(*)::text FROM syncline_keep.numbers");
        assert_eq!(rows, ["0"], "{name}");
        server.run(drops);
    }
    // Objects in the schema itself are removed with it.
    server.run("CREATE VIEW syncline_keep.inner AS SELECT * FROM syncline_keep.numbers");
    server.run("CREATE SEQUENCE syncline_keep.counting");
    block_on(&(), keep.remove()).unwrap();
    assert_eq!(server.schemas(), Vec::<String>::new());
}
