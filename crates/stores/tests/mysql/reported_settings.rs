//! The settings that the server reports: durability, isolation, locations, counters.

use crate::account_fixture::{ADD, AccountFixture, now, plan, send};
use crate::server::Server;
use syncline_contract::{
    AccessPattern, Durability, Isolation, LogLocation, Meaning, Session, StoreProcess, Target,
};
use syncline_stores::AnyTarget;

#[test]
fn a_durability_that_is_not_in_force_is_refused_at_first() {
    let server = Server::start(&["--innodb-flush-log-at-trx-commit=2"]);
    let lax = AnyTarget::open(&server.by_socket("durability=data")).unwrap();
    for refused in [now(lax.preflight()), now(lax.create(&plan(true)))] {
        let what = refused.unwrap_err().what;
        assert!(
            what.contains("SET GLOBAL innodb_flush_log_at_trx_commit=1")
                && what.contains("durability=os"),
            "{what}"
        );
    }
    assert_eq!(server.query("SHOW DATABASES LIKE 'syncline%'"), "");
    let fixture = AccountFixture::on(&server, "durability=os");
    let reported = now(fixture.target.reported_settings()).unwrap();
    assert_eq!(reported.durability, Durability::Os);
    let why = &reported.durability_evidence;
    assert!(why.contains("innodb_flush_log_at_trx_commit=2"), "{why}");
}

#[test]
fn a_changed_setting_is_reported() {
    let server = Server::start(&[]);
    let fixture = AccountFixture::on(&server, "");
    assert_eq!(now(fixture.target.reported_settings()).unwrap().durability, Durability::Data);
    server.query("SET GLOBAL innodb_flush_log_at_trx_commit=0");
    assert_eq!(now(fixture.target.reported_settings()).unwrap().durability, Durability::None);
}

#[test]
fn a_binary_log_that_is_not_synced_is_not_durable() {
    let server = Server::start(&["--log-bin=binlog", "--server-id=1"]);
    let target = AnyTarget::open(&server.by_socket("")).unwrap();
    let what = now(target.preflight()).unwrap_err().what;
    assert!(what.contains("SET GLOBAL sync_binlog=1"), "{what}");
    server.query("SET GLOBAL sync_binlog=1");
    let fixture = AccountFixture::on(&server, "").filled();
    let reported = now(fixture.target.reported_settings()).unwrap();
    assert_eq!(reported.durability, Durability::Data);
    assert!(reported.durability_evidence.contains("sync_binlog=1"));
    commits_are_counted(&fixture, "Binlog_commits");
}

#[test]
fn isolation_is_read_back_from_the_session() {
    let server = Server::shared();
    for (word, isolation, expected) in [
        ("read-committed", Isolation::ReadCommitted, "READ-COMMITTED"),
        ("repeatable-read", Isolation::RepeatableRead, "REPEATABLE-READ"),
        ("snapshot", Isolation::Snapshot, "REPEATABLE-READ"),
        ("serializable", Isolation::Serializable, "SERIALIZABLE"),
    ] {
        let fixture = AccountFixture::on(server, &format!("isolation={word}"));
        let reported = now(fixture.target.reported_settings()).unwrap();
        assert_eq!(reported.isolation, isolation);
        let read_back = &reported.settings[0];
        assert_eq!(read_back.value, expected);
        assert!(read_back.source.starts_with("SELECT @@session."));
        assert_eq!((fixture.target.name().as_str(), &*reported.product), ("mariadb", "MariaDB"));
        assert!(reported.version.contains("MariaDB"), "{}", reported.version);
    }
}

#[test]
fn the_log_and_the_process_are_those_of_the_server() {
    let server = Server::shared();
    for url in [server.by_socket("live=yes"), server.by_tcp("live=yes")] {
        let target = AnyTarget::open(&url).unwrap();
        assert_eq!(target.process(), StoreProcess::REMOTE, "the server was not contacted");
        now(target.preflight()).unwrap();
        assert_eq!(target.process(), StoreProcess::Other(server.pid()), "{url}");
        let data = server.data().canonicalize().unwrap();
        assert_eq!(target.log_location(), LogLocation::Directory(data));
        let round_trip = now(target.round_trip_ns()).unwrap().expect("a server");
        assert!((500..1_000_000_000).contains(&round_trip), "{round_trip}");
    }
}

/// Commits a known number of transactions and checks that they are counted.
fn commits_are_counted(fixture: &AccountFixture, name: &str) {
    let reading = || {
        let counters = now(fixture.target.counters()).expect("counters");
        let commits = counters.into_iter().find(|counter| counter.meaning == Meaning::Commits);
        commits.expect("commits are among them")
    };
    let mut session = fixture.session();
    let before = reading();
    assert_eq!(before.name, name);
    fixture.run(async {
        for round in 0..30 {
            session.begin(if round % 2 == 0 {
                AccessPattern::Single
            } else {
                AccessPattern::Several
            });
            send(&mut session, ADD, &[round % 9 + 1, 1]).expect("a command");
            if round % 2 == 1 {
                send(&mut session, ADD, &[9, 1]).expect("a command");
            }
            session.commit().await.expect("a commit");
        }
    });
    let counted = reading().grown_since(&before).expect("a difference");
    assert!((30..=32).contains(&counted), "30 commits, counted {counted}");
}

#[test]
fn commits_are_counted_or_reported_as_unknown() {
    let server = Server::start(&["--innodb-monitor-enable=trx_rw_commits"]);
    let fixture = AccountFixture::on(&server, "").filled();
    commits_are_counted(&fixture, "trx_rw_commits");
    let off = AccountFixture::on(Server::shared(), "");
    let counters = now(off.target.counters()).unwrap();
    for meaning in Meaning::ALL {
        let of = counters.iter().find(|counter| counter.meaning == meaning);
        let counter = of.unwrap_or_else(|| panic!("{} is not there", meaning.name()));
        if meaning == Meaning::Commits {
            let why = counter.value.as_ref().unwrap_err();
            assert!(why.contains("innodb_monitor_enable"), "{why}");
        }
    }
}

#[test]
fn an_observation_includes_the_log_position() {
    let server = Server::shared();
    let target = AnyTarget::open(&server.by_socket("")).unwrap();
    let position = || {
        let observed = now(target.observe()).unwrap();
        assert_eq!(observed.product, "MariaDB");
        assert_eq!(observed.replication, Ok(Vec::new()));
        assert_eq!(observed.process, StoreProcess::Other(server.pid()));
        let counters = observed.counters;
        let found = counters.iter().find(|counter| counter.name == "log sequence number");
        found.expect("the log position").value.clone().unwrap()
    };
    let before = position();
    let fixture = AccountFixture::on(server, "").filled();
    assert!(position() > before, "creating tables adds to the log");
    drop(fixture);
}
