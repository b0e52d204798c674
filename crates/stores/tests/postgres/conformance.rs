//! The contract's suite, over socket and TCP, at every isolation level.

use crate::server::Server;
use syncline_contract::Durability;
use syncline_contract::conformance::{conforms, refuses_unmanaged};
use syncline_stores::AnyTarget;

/// The number of cases for a target with all capabilities.
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
fn an_unmanaged_schema_with_a_managed_name_is_refused_and_left_unchanged() {
    let server = Server::start(Durability::Os);
    server.run("CREATE SCHEMA syncline_theirs");
    let target = server.target("schema=theirs");
    assert_eq!(refuses_unmanaged(&target).len(), 0);
    assert_eq!(server.schemas(), ["syncline_theirs"]);
}
