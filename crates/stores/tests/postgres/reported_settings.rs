//! The settings that the server reports: durability, counters, the location of its log, its activity
//! under load.

use crate::server::{Numbers, Server};
use syncline_contract::conformance::block_on;
use syncline_contract::{
    AccessPattern, Counter, Durability, LogLocation, Meaning, RequestTracker, Session,
    StoreProcess, Target, Transaction,
};
use syncline_stores::AnyTarget;

#[test]
fn each_durability_is_read_back_or_refused_before_anything_is_touched() {
    let plan = Numbers::new().plan;
    for (of_server, asked, good) in [
        (Durability::Data, "data", Ok("synchronous_commit=on")),
        (Durability::Data, "none", Ok("synchronous_commit=off")),
        (Durability::Data, "os", Err("fsync=on")),
        (Durability::Data, "full", Err("wal_sync_method")),
        (Durability::Full, "full", Ok("wal_sync_method=fsync")),
        (Durability::Os, "os", Ok("fsync=off")),
        (Durability::Os, "data", Err("fsync=off")),
    ] {
        let server = Server::start(of_server);
        let (port, password) = (server.port(), server.password());
        let url =
            format!("postgres://postgres:{password}@127.0.0.1:{port}/postgres?durability={asked}");
        let target = AnyTarget::open(&url).unwrap();
        let preflight = block_on(&(), target.preflight());
        match good {
            Ok(words) => {
                preflight.unwrap();
                block_on(&(), target.create(&plan)).unwrap();
                let reported = block_on(&(), target.reported_settings()).unwrap();
                assert_eq!(reported.durability.word(), asked);
                assert!(reported.durability_evidence.contains(words), "{reported:?}");
                assert!(reported.version.starts_with("PostgreSQL"), "{reported:?}");
                let names = ["fsync", "full_page_writes", "wal_level", "synchronous_standby_names"];
                for name in names {
                    assert!(reported.settings.iter().any(|setting| setting.name == name), "{name}");
                }
                block_on(&(), target.remove()).unwrap();
            }
            Err(words) => {
                let refused = preflight.unwrap_err().what;
                assert!(refused.contains(words), "{refused}");
                assert_eq!(server.schemas(), [""; 0]);
            }
        }
    }
}

#[test]
fn its_log_and_its_process_are_found() {
    let server = Server::start(Durability::Data);
    for way in [0, 1] {
        let target = AnyTarget::open(&server.url(way, "")).unwrap();
        block_on(&(), target.preflight()).unwrap();
        let wal = server.data().join("pg_wal").canonicalize().unwrap();
        assert_eq!(target.log_location(), LogLocation::Directory(wal));
        assert_eq!(target.process(), StoreProcess::Other(server.0.private.pid()));
    }
}

fn value(counters: &[Counter], meaning: Meaning) -> u64 {
    let counter = counters.iter().find(|counter| counter.meaning == meaning);
    counter.unwrap().value.clone().unwrap()
}

#[test]
fn its_counters_and_an_observation_count_the_work() {
    let server = Server::start(Durability::Data);
    let numbers = Numbers::new();
    let target = server.target("");
    block_on(&(), target.preflight()).unwrap();
    block_on(&(), target.create(&numbers.plan)).unwrap();
    let before = block_on(&(), target.counters()).unwrap();
    let looked = block_on(&(), target.observe()).unwrap();
    for meaning in Meaning::ALL {
        assert!(looked.counter(meaning).is_some(), "{meaning:?} is missing");
    }
    let worker = target.worker().unwrap();
    block_on(&worker, async {
        let mut session = target.connect(&numbers.plan, &worker).await.unwrap();
        for id in 0..500 {
            session.begin(AccessPattern::Single);
            let mut asked = RequestTracker::new(false);
            let mut tx = Transaction::new(&mut session, &mut asked);
            tx.write(&numbers.insert, (id, id)).unwrap();
            session.commit().await.unwrap();
        }
    });
    // A backend reports its counters when it ends, which takes the server a moment.
    let mut after = block_on(&(), target.counters()).unwrap();
    let grown = |after: &[Counter], meaning| value(after, meaning) - value(&before, meaning);
    while grown(&after, Meaning::Commits) < 500 {
        after = block_on(&(), target.counters()).unwrap();
    }
    let commits = grown(&after, Meaning::Commits);
    assert!((500..700).contains(&commits), "{commits}");
    assert!(grown(&after, Meaning::LogBytes) > 500 * 50);
    // Reads, such as those of an observation, take no transaction id.
    let ids = grown(&after, Meaning::TransactionIds);
    assert!((500..520).contains(&ids), "{ids} transaction ids of 500 writers");
    let syncs = grown(&after, Meaning::LogSyncs);
    assert!((500..600).contains(&syncs), "{syncs} syncs of 500 lone commits");
    assert!(grown(&after, Meaning::SyncTime) > 0);
    let again = block_on(&(), target.observe()).unwrap();
    assert!(again.own_commits > looked.own_commits);
    assert_eq!(again.replication, Ok(Vec::new()));
    assert!(again.settings.iter().any(|setting| setting.name == "fsync"));
    assert!(block_on(&(), target.round_trip_ns()).unwrap().unwrap() > 1_000);
    block_on(&(), target.remove()).unwrap();
}
