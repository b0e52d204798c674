//! The contract's suite, over every way in, at every isolation.

use crate::server::Server;
use syncline_contract::Durability;
use syncline_contract::conformance::{conforms, refuses_foreign};
use syncline_stores::AnyTarget;

/// Cases that a target which claims everything runs.
const CASES: usize = 32;

#[test]
fn it_conforms_by_socket_and_tcp_at_every_isolation() {
    let server = Server::start(Durability::Os);
    for (way, options) in [
        (1, ""),
        (0, "isolation=read_committed&tls=disable"),
        (1, "isolation=repeatable_read"),
        (1, "isolation=serializable"),
    ] {
        let url = server.url(way, options);
        let outcome = conforms(|| AnyTarget::open(&url).unwrap());
        assert!(outcome.findings.is_empty(), "{url}: {outcome}");
        let counts = (outcome.tested.len(), outcome.skipped.len());
        assert_eq!(counts, (CASES, 0), "{outcome:?}");
        assert_eq!(server.schemas(), [""; 0], "{url} leaves schemas");
    }
}

#[test]
fn a_schema_of_our_name_that_is_not_ours_is_refused_and_left() {
    let server = Server::start(Durability::Os);
    server.run("CREATE SCHEMA syncline_theirs");
    let target = server.target("schema=theirs");
    assert_eq!(refuses_foreign(&target).len(), 0);
    assert_eq!(server.schemas(), ["syncline_theirs"]);
}
