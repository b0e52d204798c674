//! What the products say of their durability is what they are: a default that syncs nothing is reported
//! as such, and a word that cannot be honoured is refused.

use crate::support::{DerbyServer, derby_jars, jars, open};
use syncline_contract::conformance::block_on;
use syncline_contract::{Durability, LogLocation, Plan, ReportedSettings, StoreProcess, Target};

/// What a database at that URL says, made and removed for it.
fn said(url: &str) -> ReportedSettings {
    let target = open(url);
    block_on(&(), target.meet()).unwrap_or_else(|failure| panic!("{url}: {failure}"));
    block_on(&(), target.create(&Plan::new())).unwrap_or_else(|failure| panic!("{url}: {failure}"));
    let said = block_on(&(), target.evidence()).unwrap();
    block_on(&(), target.remove()).unwrap();
    said
}

#[test]
fn each_product_is_what_it_says_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("db").display().to_string();
    let (derby, h2, hsqldb) = (derby_jars(), jars(&["h2"]), jars(&["hsqldb"]));
    for (product, jars, option, durability, words) in [
        ("derby", &derby, "", Durability::Data, "SYNC), as the flags of the descriptor say"),
        ("derby", &derby, "&durability=none", Durability::None, "derby.system.durability=test"),
        // What was said of the one before does not stick to the JVM.
        ("derby", &derby, "&durability=data", Durability::Data, "SYNC), as the flags"),
        ("h2", &h2, "", Durability::None, "every 500 ms"),
        ("h2", &h2, "&durability=os", Durability::Os, "CHECKPOINT, which writes"),
        ("h2", &h2, "&durability=data", Durability::Data, "CHECKPOINT SYNC"),
        ("hsqldb", &hsqldb, "", Durability::None, "hsqldb.write_delay=true read back"),
        ("hsqldb", &hsqldb, "&durability=data", Durability::Data, "write_delay=false read back"),
    ] {
        let said = said(&format!("jdbc:{product}:{place}?driver={jars}{option}"));
        assert_eq!(said.durability, durability, "{product}{option}: {said:?}");
        let evidence = &said.durability_evidence;
        assert!(evidence.contains(words), "{product}{option}: {evidence}");
        let isolation = said.settings.iter().find(|one| one.name == "isolation");
        assert!(isolation.unwrap().said_by.contains("getTransactionIsolation"));
    }
}

#[test]
fn a_word_that_cannot_be_honoured_is_refused_before_anything_is_made() {
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
fn a_derby_server_of_this_machine_shows_its_log_and_how_it_is_open() {
    let server = DerbyServer::start();
    let target = open(&server.url(""));
    block_on(&(), target.create(&Plan::new())).unwrap();
    block_on(&(), target.meet()).unwrap();
    assert_eq!(target.process(), StoreProcess::Other(server.pid()));
    let log = target.log_place();
    assert!(matches!(&log, LogLocation::Directory(log) if log.ends_with("bench/log")), "{log:?}");
    let said = block_on(&(), target.evidence()).unwrap();
    assert_eq!(said.durability, Durability::Data, "{said:?}");
    assert!(said.version.starts_with("10."), "{said:?}");
    assert!(block_on(&(), target.round_trip_ns()).unwrap().unwrap() > 0);
    block_on(&(), target.remove()).unwrap();
    let none = open(&server.url("&durability=none"));
    let refused = block_on(&(), none.meet()).unwrap_err();
    assert!(refused.what.contains("durability=none was asked for"), "{refused}");
}
