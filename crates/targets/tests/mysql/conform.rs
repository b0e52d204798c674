//! MariaDB passes the contract's suite through a socket, by TCP and encrypted, at every isolation.
//!
//! By hand, on a MySQL server: `SYNCLINE_MYSQL='mysql://root@127.0.0.1:3306?durability=data' cargo test
//! -p syncline-targets --test mysql a_server_of_the_environment`.

use crate::server::Server;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use syncline_contract::conformance::conforms;
use syncline_targets::AnyTarget;

/// Cases that a target which claims everything runs.
const CASES: usize = 32;

fn conforms_at(url: &str) {
    let outcome = conforms(|| AnyTarget::open(url).expect("a good URL"));
    assert!(outcome.findings.is_empty(), "{url}: {outcome}");
    assert!(outcome.tested.len() >= CASES, "{outcome:?}");
    assert_eq!(outcome.skipped.len(), 0, "{outcome:?}");
}

fn nothing_is_left(server: &Server) {
    let left = server.says("SHOW DATABASES LIKE 'syncline%'");
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

/// A root and a certificate for 127.0.0.1 that it has signed, in a folder that the server may enter.
fn certificates(folder: &Path) {
    let mut params = CertificateParams::new(Vec::<String>::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key"));
    let root = root.expect("a root");
    let key = KeyPair::generate().expect("a key");
    let server = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a name");
    let server = server.signed_by(&key, &root).expect("a certificate");
    for (name, text) in [
        ("root.pem", root.pem()),
        ("server.pem", server.pem()),
        ("server.key", key.serialize_pem()),
    ] {
        let file = folder.join(name);
        fs::write(&file, text).expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("a mode");
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("a mode");
}

#[test]
fn encrypted() {
    let folder = tempfile::tempdir().expect("a folder");
    certificates(folder.path());
    let at = |name: &str| folder.path().join(name).display().to_string();
    let server = Server::start(&[
        &format!("--ssl-ca={}", at("root.pem")),
        &format!("--ssl-cert={}", at("server.pem")),
        &format!("--ssl-key={}", at("server.key")),
        "--require-secure-transport=ON",
    ]);
    let roots = at("root.pem");
    conforms_at(&server.by_tcp(&format!(
        "tls=verify-full&tls_roots={roots}&isolation=snapshot"
    )));
    let open = AnyTarget::open(&server.by_tcp("tls=disable")).expect("a good URL");
    let refused = crate::desk::now(syncline_contract::Target::meet(&open));
    assert!(refused.is_err(), "the server takes encrypted sessions only");
    nothing_is_left(&server);
}

#[test]
fn a_server_of_the_environment() {
    if let Ok(url) = std::env::var("SYNCLINE_MYSQL") {
        conforms_at(&url);
    }
}
