//! Tests in processes of their own.
//!
//! Pages are freed once no thread of the process can still access them. The number of bytes in use, and the
//! cells of blocks that later pages get, therefore depend on the other tests that run at that moment. A test
//! that counts bytes exactly runs in a process of its own.

use std::process::Command;

/// Each frees a part of the garbage that waits for its last reader.
const FLUSHES: u32 = 10_000;

/// Runs `body`, the body of the test at `path`, in a process in which no other test runs.
pub(crate) fn in_own_process(path: &str, body: impl FnOnce()) {
    const PATH: &str = "SYNCLINE_TEST_ALONE";
    // libtest names a test without its crate.
    let (_, test) = path.split_once("::").expect("a path within the crate");
    if std::env::var_os(PATH).is_some_and(|alone| alone == test) {
        body();
        // Frees the epoch's garbage before the process ends, so that a sanitizer does not report it as a
        // leak.
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
