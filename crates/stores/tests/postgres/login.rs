//! Passwords and encryption: SCRAM bound to the certificate, md5, clear text where it is allowed.

use crate::server::Server;
use syncline_contract::conformance::{block_on, conforms};
use syncline_contract::{Durability, FailureKind, Target};
use syncline_stores::AnyTarget;

const SECRET: &str = "correct-horse";

/// A server that requires passwords over TCP, with another method for each database, and encrypts.
fn server() -> Server {
    let server = Server::start(Durability::Os);
    let key = rcgen::KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned()];
    let mut certificate = rcgen::CertificateParams::new(names).unwrap();
    // As `openssl req -x509` makes them.
    certificate.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let certificate = certificate.self_signed(&key).unwrap();
    server.write("server.key", &key.serialize_pem());
    server.write("server.crt", &certificate.pem());
    server.run(&format!("CREATE ROLE scram LOGIN SUPERUSER PASSWORD '{SECRET}'"));
    server.run("ALTER SYSTEM SET password_encryption = 'md5'");
    server.run("ALTER SYSTEM SET ssl = on");
    server.run("SELECT pg_reload_conf()::text");
    // A reload takes effect soon, not at once.
    while server.run("SHOW ssl") != ["on"] || server.run("SHOW password_encryption") != ["md5"] {
        std::thread::yield_now();
    }
    server.run(&format!("CREATE ROLE md5 LOGIN SUPERUSER PASSWORD '{SECRET}'"));
    server.write(
        "pg_hba.conf",
        "local all all trust\n\
         host all postgres all trust\n\
         hostssl all scram all scram-sha-256\n\
         host all md5 all md5\n\
         host all clear all password\n\
         hostssl all postgres all trust\n",
    );
    server.run(&format!("CREATE ROLE clear LOGIN SUPERUSER PASSWORD '{SECRET}'"));
    server.run("SELECT pg_reload_conf()::text");
    server
}

fn url(server: &Server, login: &str, options: &str) -> String {
    let port = server.port();
    format!("postgres://{login}@127.0.0.1:{port}/postgres?durability=os&live=yes{options}")
}

fn connects(url: &str) -> Result<(), String> {
    let target = AnyTarget::open(url).map_err(|error| error.to_string())?;
    block_on(&(), target.preflight()).map_err(|failure| {
        assert!(!failure.what.contains(SECRET), "{failure}");
        failure.what
    })
}

#[test]
fn passwords_are_sent_as_required_and_never_in_clear_by_accident() {
    let server = server();
    let scram = url(&server, &format!("scram:{SECRET}"), "&tls=require");
    while connects(&scram).is_err() {
        // Until the new rules are in effect.
        std::thread::yield_now();
    }
    // Bound to the certificate, as the server verified it: it offers SCRAM-SHA-256-PLUS over TLS, and
    // the protocol refuses a client that could bind and did not.
    let outcome = conforms(|| AnyTarget::open(&scram).unwrap());
    assert!(outcome.findings.is_empty(), "{outcome}");
    let certificate = server.data().join("server.crt");
    let trusting_itself = format!("&tls=verify-full&root={}", certificate.display());
    for (login, options, good) in [
        ("md5:correct-horse", "&tls=disable", Ok(())),
        ("md5:wrong", "&tls=disable", Err("28P01")),
        ("md5", "&tls=disable", Err("none is set")),
        ("scram:wrong", "&tls=require", Err("28P01")),
        ("clear:correct-horse", "&tls=disable", Err("cleartext=yes")),
        ("clear:correct-horse", "&tls=disable&cleartext=yes", Ok(())),
        // A.E10: encryption without verification does not identify the peer.
        ("clear:correct-horse", "&tls=require", Err("cleartext=yes")),
        ("clear:correct-horse", "", Err("cleartext=yes")),
        ("clear:correct-horse", "&tls=require&cleartext=yes", Ok(())),
        ("scram:correct-horse", "&tls=prefer", Ok(())),
        ("scram:correct-horse", "&tls=disable", Err("28000")),
        ("postgres", "&tls=verify-full", Err("")),
        // B.F16
        ("postgres", &trusting_itself, Err("its certificate is self-signed")),
    ] {
        let result = connects(&url(&server, login, options));
        match good {
            Ok(()) => assert_eq!(result, Ok(()), "{login} {options}"),
            Err(word) => {
                let result = result.unwrap_err();
                assert!(result.contains(word), "{login} {options}: {result}");
            }
        }
    }
}

#[test]
fn a_server_that_does_not_encrypt_is_refused_if_encryption_is_required() {
    let server = Server::start(Durability::Os);
    let target = AnyTarget::open(&server.url(0, "tls=require")).unwrap();
    let refused = block_on(&(), target.preflight()).unwrap_err();
    assert_eq!(refused.kind, FailureKind::Limit);
    assert!(refused.what.contains("does not encrypt"), "{refused}");
}
