//! The committed object is built from the committed source.

use crate::bpf::programs::OBJECT;
use sha2::{Digest, Sha256};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn source_and_object_agree() {
    let source = std::fs::read(repository_path("src/bpf/program.bpf.c")).unwrap();
    let script = std::fs::read(repository_path("../../scripts/build-bpf")).unwrap();
    let digest = Sha256::new().chain_update(source).chain_update(script).finalize();
    let mut wanted = b"source sha256 ".to_vec();
    for byte in digest {
        write!(wanted, "{byte:02x}").unwrap();
    }
    let is_in_it = OBJECT.windows(wanted.len()).any(|part| part == wanted);
    assert!(is_in_it, "program.o is of another source: run scripts/build-bpf");
}

#[test]
fn the_compiler_builds_the_same_object_if_it_is_installed() {
    if Command::new("clang-14").arg("--version").output().is_err() {
        // `./test` installs the compiler and compares; here the hash above must suffice.
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let built = folder.path().join("program.o");
    let script = repository_path("../../scripts/build-bpf");
    let status = Command::new(script).arg(&built).status().unwrap();
    assert!(status.success());
    assert!(std::fs::read(&built).unwrap() == OBJECT, "run scripts/build-bpf");
}
