//! MariaDB passes the contract's suite through a socket, over TCP and encrypted, at every isolation
//! level.
//!
//! By hand, on a MySQL server: `SYNCLINE_MYSQL='mysql://root@127.0.0.1:3306?durability=data' cargo test
//! -p syncline-stores --test mysql a_server_of_the_environment`.

use crate::certificates::Certificates;
use crate::server::Server;
use syncline_contract::conformance::conforms;
use syncline_stores::AnyTarget;

/// The number of cases for a target with all capabilities.
const CASES: usize = 32;

fn conforms_at(url: &str) {
    let outcome = conforms(|| AnyTarget::open(url).expect("a good URL"));
    assert!(outcome.findings.is_empty(), "{url}: {outcome}");
    assert!(outcome.tested.len() >= CASES, "{outcome:?}");
    assert_eq!(outcome.skipped.len(), 0, "{outcome:?}");
}

fn nothing_is_left(server: &Server) {
    let left = server.query("SHOW DATABASES LIKE 'syncline%'");
    assert_eq!(left, "", "databases are left");
}

#[test]
fn through_a_socket() {
    let server = Server::start(&[]);
    conforms_at(&server.by_socket("isolation=repeatable-read"));
    conforms_at(&server.by_socket("isolation=serializable&lock_wait_s=1"));
    nothing_is_left(&server);
}

#[test]
fn by_tcp() {
    let server = Server::start(&[]);
    conforms_at(&server.by_tcp("tls=disable&isolation=read-committed"));
    nothing_is_left(&server);
}

#[test]
fn encrypted() {
    let made = Certificates::new();
    let roots = made.root().display().to_string();
    let server = Server::start(&[
        &format!("--ssl-ca={roots}"),
        &format!("--ssl-cert={}", made.certificate().display()),
        &format!("--ssl-key={}", made.key().display()),
        "--require-secure-transport=ON",
    ]);
    conforms_at(&server.by_tcp(&format!("tls=verify-full&tls_roots={roots}&isolation=snapshot")));
    let open = AnyTarget::open(&server.by_tcp("tls=disable")).expect("a good URL");
    let refused = crate::account_fixture::now(syncline_contract::Target::preflight(&open));
    assert!(refused.is_err(), "the server accepts encrypted sessions only");
    // B.F16
    let other = Certificates::new();
    let url = server.by_tcp(&format!("tls=verify-full&tls_roots={}", other.root().display()));
    let refused = crate::account_fixture::now(syncline_contract::Target::preflight(
        &AnyTarget::open(&url).expect("a good URL"),
    ));
    let refused = refused.expect_err("another authority's").what;
    assert!(
        refused.contains("its certificate is not signed by the key of the trusted root"),
        "{refused}"
    );
    nothing_is_left(&server);
}

#[test]
fn a_server_of_the_environment() {
    if let Ok(url) = std::env::var("SYNCLINE_MYSQL") {
        conforms_at(&url);
    }
}
