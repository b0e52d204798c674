//! Runs a small verification and prints its finding.

use std::sync::atomic::AtomicBool;
use std::time::Duration;
use syncline_verify::durability::{
    ChildProgram, Finding, RECORDED_BYTES_MAX, Request, VERB, parse, verify,
};
use tempfile::TempDir;

/// The argument that makes a test's program a child.
pub(crate) const CHILD: &str = "verify-child";

/// A small verification of a target.
pub(crate) fn request(target: &str, scratch: &TempDir) -> Request {
    let (store, options) = parse(VERB, target).unwrap();
    Request {
        store,
        options,
        images: 40,
        control_images: 20,
        kills: 2,
        load: Duration::from_millis(600),
        must_hold: false,
        tears: true,
        faults: false,
        recorded_bytes_max: RECORDED_BYTES_MAX,
        seed: 7,
        scratch: scratch.path().join("scratch"),
        keep: scratch.path().join("kept"),
        like: None,
    }
}

/// Verifies, and prints the finding.
pub(crate) fn verified(request: &Request) -> Finding {
    let program = ChildProgram::this(CHILD).unwrap();
    let finding = verify(request, &program, &AtomicBool::new(false), &|_| {}).unwrap();
    println!("{}\n", finding.sentences().join("\n"));
    finding
}
