//! Tests in processes of their own.
//!
//! Pages are freed when no thread of the process can be looking at one any more. So how many bytes are in
//! use, and which cells of blocks later pages get, depends on what other tests do at that moment. A test that
//! counts bytes to the page runs where no other does.

use std::process::Command;

/// Each frees a part of what waits for its last reader.
const FLUSHES: u32 = 10_000;

/// Runs `body`, which is the test of that path, in a process in which no other test runs.
pub(crate) fn in_own_process(path: &str, body: impl FnOnce()) {
    const PATH: &str = "SYNCLINE_TEST_ALONE";
    // libtest names a test without its crate.
    let (_, test) = path.split_once("::").expect("a path within the crate");
    if std::env::var_os(PATH).is_some_and(|alone| alone == test) {
        body();
        // Pages wait in the epoch's garbage: freed before the process ends, they are no leak to a sanitizer.
        for _ in 0..FLUSHES {
            crossbeam_epoch::pin().flush();
        }
        return;
    }
    let program = std::env::current_exe().expect("the program has a name");
    let mut process = Command::new(program);
    process.args(["--exact", test, "--nocapture"]).env(PATH, test);
    let output = process.output().expect("the program starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && printed.contains("1 passed"),
        "{printed}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
