//! A server with tables and sessions of other programs: the target changes none of them and leaves nothing
//! of its own.

use crate::account_fixture::{AccountFixture, now, plan};
use crate::server::Server;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use syncline_contract::conformance::refuses_unmanaged;
use syncline_contract::{FailureKind, Kind, Table, Target};
use syncline_stores::AnyTarget;
use syncline_stores::server::MARK;

fn open(server: &Server, options: &str) -> AnyTarget {
    AnyTarget::open(&server.by_socket(options)).expect("a good URL")
}

/// A session of another program.
struct OtherSession(Child);

impl OtherSession {
    fn on(server: &Server) -> OtherSession {
        let child = Command::new("mariadb")
            .args(["--no-defaults", "-uroot", "-e", "SELECT SLEEP(600)"])
            .arg(format!("--socket={}", server.socket().display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("mariadb, of Debian's package mariadb-client");
        let other_session = OtherSession(child);
        let sleeps =
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP%'";
        let comes = (0..3_000).any(|_| {
            let there = server.query(sleeps).trim() == "1";
            if !there {
                thread::sleep(Duration::from_millis(10));
            }
            there
        });
        assert!(comes, "the other session does not appear");
        other_session
    }
}

impl Drop for OtherSession {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn an_unmanaged_database_with_a_managed_name_is_refused_and_stays() {
    let server = Server::start(&[]);
    server.query("CREATE DATABASE syncline_theirs; CREATE TABLE syncline_theirs.t (i INT)");
    let target = open(&server, "schema=theirs&live=yes");
    let findings = refuses_unmanaged(&target);
    assert!(findings.is_empty(), "{findings:?}");
    let refused = now(target.reopen(&plan(true))).unwrap_err();
    assert!(refused.what.contains("not made by syncline"), "{refused}");
    assert_eq!(server.query("SHOW TABLES IN syncline_theirs").trim(), "t");
}

#[test]
fn other_active_sessions_are_refused_unless_allowed() {
    let server = Server::start(&[]);
    now(open(&server, "").preflight()).expect("there are no other sessions");
    let other_session = OtherSession::on(&server);
    let refused = now(open(&server, "").preflight()).unwrap_err();
    assert!(
        refused.what.contains("others work on this server") && refused.what.contains("live=yes"),
        "{refused}"
    );
    assert_eq!(server.query("SHOW DATABASES LIKE 'syncline%'"), "");
    now(open(&server, "live=yes").preflight()).expect("other sessions are allowed");
    // Observations are never refused.
    now(open(&server, "").observe()).expect("a look");
    drop(other_session);
}

#[test]
fn clients_are_capped_by_free_connections() {
    let server = Server::start(&["--max-connections=20"]);
    let target = open(&server, "");
    assert_eq!(target.capabilities().clients_max, None, "the server was not contacted");
    now(target.preflight()).unwrap();
    let room = target.capabilities().clients_max.expect("the server reported it");
    assert!((10..20).contains(&room), "{room}");
}

#[test]
fn clean_drops_only_managed_and_unused_databases() {
    let server = Server::start(&[]);
    server.query("CREATE DATABASE syncline_theirs");
    // A run that was killed between the creation of its database and that of its mark.
    let cut_off = format!("CREATE DATABASE syncline_cut COMMENT='{MARK}'");
    server.query(&cut_off);
    let kept = AccountFixture::on(&server, "schema=kept");
    let comment = "SELECT SCHEMA_COMMENT FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = \
                   'syncline_kept'";
    assert_eq!(server.query(comment).trim(), MARK);
    now(kept.target.keep()).unwrap();
    let used = AccountFixture::on(&server, "schema=used");
    let session = used.session();
    let lines = now(kept.target.clean()).unwrap();
    assert_eq!(
        lines,
        [
            "dropped database syncline_cut",
            "dropped database syncline_kept",
            "kept database syncline_used: a session uses it"
        ]
    );
    let left = server.query("SHOW DATABASES LIKE 'syncline%'");
    assert_eq!(left, "syncline_theirs\nsyncline_used\n");
    drop(session);
}

#[test]
fn kept_rows_are_reopened_and_other_tables_are_refused() {
    let server = Server::shared();
    // The runner adds a table of its own, which records that every row is loaded.
    let with = |name: &'static str| {
        let mut plan = plan(true);
        plan.table(Table::new(name).column("id", Kind::Int));
        plan
    };
    let kept = with("syncline_mark");
    let first = AccountFixture::with(server, "schema=stays", kept.clone()).filled();
    now(first.target.keep()).unwrap();
    now(first.target.remove()).expect("a released database stays");
    let again = open(server, "schema=stays&live=yes");
    assert!(again.capabilities().reopens);
    assert!(now(again.reopen(&kept)).unwrap());
    let refused = now(open(server, "schema=stays&live=yes").create(&kept)).unwrap_err();
    assert!(refused.what.contains("exists already"), "{refused}");
    assert_eq!(refused.kind, FailureKind::Storage);
    assert!(now(again.reopen(&kept)).unwrap(), "its rows stay");
    let other = with("more");
    let refused = now(again.reopen(&other)).unwrap_err();
    assert_eq!(refused.kind, FailureKind::Storage);
    assert!(refused.what.contains("other tables"), "{refused}");
    now(again.remove()).unwrap();
    assert!(!now(again.reopen(&kept)).unwrap(), "it is gone");
}

// A.E4
#[test]
fn a_database_with_code_in_it_is_not_reused() {
    let server = Server::shared();
    for (makes, name) in [
        ("CREATE VIEW syncline_NAME.peeps AS SELECT * FROM syncline_NAME.accounts", "view peeps"),
        (
            "CREATE TRIGGER syncline_NAME.bites BEFORE UPDATE ON syncline_NAME.accounts FOR EACH ROW SET @x = 1",
            "trigger bites",
        ),
        ("CREATE FUNCTION syncline_NAME.calls() RETURNS INT RETURN 1", "routine calls"),
    ] {
        let own = name.replace(' ', "_");
        let plan = plan(true);
        let first = AccountFixture::with(server, &format!("schema={own}"), plan.clone()).filled();
        now(first.target.keep()).unwrap();
        let again = open(server, &format!("schema={own}&live=yes"));
        server.query(&makes.replace("NAME", &own));
        let refused = now(again.reopen(&plan)).unwrap_err();
        assert!(refused.what.contains(name), "{refused}");
        server.query(&format!("DROP DATABASE syncline_{own}"));
    }
}

#[test]
fn a_dry_run_lists_the_statements_and_changes_nothing() {
    let server = Server::start(&[]);
    let target = open(&server, "schema=dry&live=yes&lock_wait_s=3");
    let before = server.query("SHOW DATABASES");
    let dry_run = target.dry_run(&plan(true), 8).unwrap();
    assert_eq!(server.query("SHOW DATABASES"), before);
    let makes = dry_run.makes.join("\n");
    assert!(makes.contains("CREATE DATABASE `syncline_dry`"), "{makes}");
    let count = makes.matches("CREATE TABLE `accounts`").count();
    assert_eq!(count, 1, "{makes}");
    assert_eq!(dry_run.operations.len(), 4);
    assert_eq!(dry_run.operations[1].statements.len(), 1);
    assert!(dry_run.settings.iter().any(|text| text.contains("innodb_lock_wait_timeout=3")));
    // The version is not known yet, which is noted where it matters; afterwards it is known.
    assert!(makes.contains("utf8mb4_nopad_bin") && makes.contains("utf8mb4_0900_bin"), "{makes}");
    let depends =
        |settings: &[String]| settings.iter().any(|text| text.starts_with("-- by version"));
    assert!(depends(&dry_run.settings), "{:?}", dry_run.settings);
    now(target.preflight()).unwrap();
    let dry_run = target.dry_run(&plan(true), 8).unwrap();
    assert!(!depends(&dry_run.settings) && !depends(&dry_run.makes), "{dry_run:?}");
    assert_eq!(dry_run.connections, Some(9));
    assert_eq!(dry_run.removes, ["DROP DATABASE `syncline_dry`"]);
}

// B.F9
#[test]
fn separate_directories_of_binary_and_undo_logs_are_reported() {
    let elsewhere = tempfile::tempdir().unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(elsewhere.path(), open).unwrap();
    let server = Server::start(&[
        &format!("--log-bin={}/binary", elsewhere.path().display()),
        "--server-id=1",
        "--sync-binlog=1",
    ]);
    let target = AnyTarget::open(&server.by_tcp("live=yes")).unwrap();
    now(target.preflight()).unwrap();
    let place = syncline_contract::LogLocation::Directory(elsewhere.path().canonicalize().unwrap());
    assert!(target.other_locations().contains(&place), "{:?}", target.other_locations());
}
