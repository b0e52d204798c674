//! Servers behind a JDBC driver, which decodes the protocol in a JVM within this process.

use crate::server::{Close, Drip, Forever, Reads, Silence, all_end_within, send};
use std::path::{Path, PathBuf};

/// Longer than for the others, since a driver's classes are loaded meanwhile.
const DEADLINE_MS: u64 = 500;
/// The additional memory for a JVM's heap, in KiB.
const MEMORY_MAX_KIB: u64 = 1024 * 1024;

/// The jar file of a driver, in the folder that `scripts/fetch-jdbc-drivers` fills.
fn jar(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("jdbc-drivers");
    let files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let found = files.map(|file| file.path()).find(|path| {
        let file = path.file_name().unwrap().to_string_lossy();
        file.starts_with(name)
    });
    found.unwrap_or_else(|| panic!("no {name}: run scripts/fetch-jdbc-drivers first"))
}

// A.E6
#[test]
fn a_hostile_postgresql_behind_jdbc_ends_in_a_sentence() {
    let let_in = [
        &b"R\0\0\0\x08\0\0\0\0"[..],
        b"S\0\0\0\x19client_encoding\0UTF8\0",
        b"S\0\0\0\x18server_version\x0015.1\0",
        b"Z\0\0\0\x05I",
    ]
    .concat();
    let cases = vec![
        ("silent", vec![Silence]),
        ("closes at once", vec![Close]),
        ("closes after the first words", vec![Reads, Close]),
        ("speaks HTTP", vec![Reads, send("HTTP/1.1 400 Bad Request\r\n\r\n"), Close]),
        ("garbage", vec![Reads, send([0xA5; 4096]), Close]),
        ("a byte now and then", vec![Reads, Drip(vec![b'R', 0, 0, 0])]),
        ("a log-in of 2 GB", vec![Reads, send(b"R\x7f\xff\xff\xff"), Silence]),
        ("a notice of 2 GB", vec![Reads, send(b"N\x7f\xff\xff\xff"), Silence]),
        ("a negative length", vec![Reads, send([b'R', 255, 255, 255, 255]), Close]),
        ("half a message", vec![Reads, send(b"R\0\0\0\x08"), Silence]),
        ("an unknown log-in", vec![Reads, send(b"R\0\0\0\x08\0\0\0\x63"), Silence]),
        ("let in, then silent", vec![Reads, send(&let_in), Silence]),
        ("let in, then closed", vec![Reads, send(&let_in), Reads, Close]),
        (
            "let in, then a row of 2 GB",
            vec![Reads, send(&let_in), Reads, send(b"D\x7f\xff\xff\xff"), Silence],
        ),
    ];
    assert!(cases.len() >= 10);
    let jar = jar("postgresql-");
    all_end_within(cases, MEMORY_MAX_KIB, |port| {
        format!(
            "jdbc:postgresql://127.0.0.1:{port}/d?user=ann&password=secret&driver={}\
             &connect_timeout_ms={DEADLINE_MS}&property.sslmode=disable",
            jar.display()
        )
    });
}

// A.E6
#[test]
fn a_hostile_mariadb_behind_jdbc_ends_in_a_sentence() {
    let cases = vec![
        ("silent", vec![Silence]),
        ("closes at once", vec![Close]),
        ("speaks HTTP", vec![send("HTTP/1.1 400 Bad Request\r\n\r\n"), Close]),
        ("a greeting of 16 MB", vec![send([255, 255, 255, 0, 10]), Silence]),
        ("a greeting that drips", vec![Drip(vec![70, 0, 0, 0, 10, b'1'])]),
        ("an empty greeting", vec![send([0, 0, 0, 0]), Silence]),
        ("zeros for ever", vec![Forever(vec![0; 512])]),
    ];
    let jar = jar("mariadb-java-client-");
    all_end_within(cases, MEMORY_MAX_KIB, |port| {
        format!(
            "jdbc:mariadb://127.0.0.1:{port}/?user=ann&driver={}&connect_timeout_ms={DEADLINE_MS}",
            jar.display()
        )
    });
}
