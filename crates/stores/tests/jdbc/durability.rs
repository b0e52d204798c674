//! The durability that products report is correct: a default that does not sync is reported as such,
//! and a durability that is not supported is refused.

use crate::support::{DerbyServer, derby_jars, jars, open};
use syncline_contract::conformance::block_on;
use syncline_contract::{Durability, LogLocation, Plan, ReportedSettings, StoreProcess, Target};

/// The settings reported by a database at that URL, created and removed for this.
fn reported(url: &str) -> ReportedSettings {
    let target = open(url);
    block_on(&(), target.preflight()).unwrap_or_else(|failure| panic!("{url}: {failure}"));
    block_on(&(), target.create(&Plan::new())).unwrap_or_else(|failure| panic!("{url}: {failure}"));
    let reported = block_on(&(), target.reported_settings()).unwrap();
    block_on(&(), target.remove()).unwrap();
    reported
}

#[test]
fn each_product_reports_its_actual_durability() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("db").display().to_string();
    let (derby, h2, hsqldb) = (derby_jars(), jars(&["h2"]), jars(&["hsqldb"]));
    for (product, jars, option, durability, words) in [
        ("derby", &derby, "", Durability::Data, "SYNC), by the flags of the descriptor"),
        ("derby", &derby, "&durability=none", Durability::None, "derby.system.durability=test"),
        // Settings of the previous database must not remain in the JVM.
        ("derby", &derby, "&durability=data", Durability::Data, "SYNC), by the flags"),
        ("h2", &h2, "", Durability::None, "every 500 ms"),
        ("h2", &h2, "&durability=os", Durability::Os, "CHECKPOINT, which writes"),
        ("h2", &h2, "&durability=data", Durability::Data, "CHECKPOINT SYNC"),
        ("hsqldb", &hsqldb, "", Durability::None, "hsqldb.write_delay=true read back"),
        ("hsqldb", &hsqldb, "&durability=data", Durability::Data, "write_delay=false read back"),
    ] {
        let reported = reported(&format!("jdbc:{product}:{place}?driver={jars}{option}"));
        assert_eq!(reported.durability, durability, "{product}{option}: {reported:?}");
        let evidence = &reported.durability_evidence;
        assert!(evidence.contains(words), "{product}{option}: {evidence}");
        let isolation = reported.settings.iter().find(|one| one.name == "isolation");
        assert!(isolation.unwrap().source.contains("getTransactionIsolation"));
    }
}

#[test]
fn an_unsupported_durability_is_refused_before_anything_is_created() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("db").display().to_string();
    for (product, word) in
        [("derby", "os"), ("derby", "full"), ("h2", "full"), ("hsqldb", "os"), ("h2:mem", "data")]
    {
        let url = format!("jdbc:{product}:{place}?driver=/x.jar&durability={word}");
        let refused = syncline_stores::AnyTarget::open(&url).unwrap_err();
        assert!(refused.to_string().contains("cannot honour durability="), "{refused}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_local_derby_servers_log_and_its_open_flags_are_found() {
    let server = DerbyServer::start();
    let target = open(&server.url(""));
    block_on(&(), target.create(&Plan::new())).unwrap();
    block_on(&(), target.preflight()).unwrap();
    assert_eq!(target.process(), StoreProcess::Other(server.pid()));
    let log = target.log_location();
    assert!(matches!(&log, LogLocation::Directory(log) if log.ends_with("bench/log")), "{log:?}");
    let reported = block_on(&(), target.reported_settings()).unwrap();
    assert_eq!(reported.durability, Durability::Data, "{reported:?}");
    assert!(reported.version.starts_with("10."), "{reported:?}");
    assert!(block_on(&(), target.round_trip_ns()).unwrap().unwrap() > 0);
    block_on(&(), target.remove()).unwrap();
    let none = open(&server.url("&durability=none"));
    let refused = block_on(&(), none.preflight()).unwrap_err();
    assert!(refused.what.contains("sets durability=none"), "{refused}");
}
