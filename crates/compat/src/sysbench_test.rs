//! sysbench's tests and commands by name, and why other tests are not supported.

use syncline_console::CannotRun;
use syncline_workloads::oltp::Test;

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Prepare,
    Run,
    Cleanup,
    Help,
}

/// Tests of sysbench that are not supported, and why.
const NO_TESTS: [(&str, &str); 9] = [
    (
        "oltp",
        "it belongs to sysbench 0.4 and 0.5; oltp_read_write replaces it, with options without the prefix \
         oltp-",
    ),
    ("tpcc", "it is a Lua script, which is not supported; `syncline run tpcc` is a TPC-C load"),
    (
        "select_random_points",
        "no store here takes a list of ids in one statement; oltp_point_select reads them one by one",
    ),
    (
        "select_random_ranges",
        "no store here takes several ranges in one statement; oltp_read_only reads them one by one",
    ),
    ("fileio", "`syncline probe DIR` measures what a directory completes"),
    ("cpu", "Syncline does not test processors"),
    ("memory", "Syncline does not test memory"),
    ("threads", "Syncline does not test the scheduler"),
    ("mutex", "Syncline does not test locks"),
];

/// The test of a script's name.
pub(super) fn test_of(typed: &str) -> Result<Test, CannotRun> {
    let file = typed.rsplit('/').next().unwrap_or(typed);
    let script = file.strip_suffix(".lua").unwrap_or(file);
    let found = Test::ALL.into_iter().find(|test| test.script() == script);
    found.ok_or_else(|| {
        if let Some((_, why)) = NO_TESTS.iter().find(|(name, _)| *name == script) {
            return CannotRun(format!("{script} does not apply: {why}"));
        }
        let known: Vec<_> = Test::ALL.iter().map(|test| test.script()).collect();
        let known = known.join(", ");
        if script != file {
            return CannotRun(format!(
                "{file} is a Lua script, which is not supported; `syncline run script --file` runs \
                 files of SQL; the tests are: {known}"
            ));
        }
        CannotRun(format!("syncline sysbench has no test \"{typed}\"; it has: {known}"))
    })
}

/// The command of a word.
pub(super) fn command_of(typed: &str) -> Result<Command, CannotRun> {
    match typed {
        "prepare" => Ok(Command::Prepare),
        "run" => Ok(Command::Run),
        "cleanup" => Ok(Command::Cleanup),
        "help" => Ok(Command::Help),
        "prewarm" | "warmup" => Err(CannotRun(format!(
            "{typed} does not apply: --warmup-time runs the test before it is measured"
        ))),
        other => Err(CannotRun(format!(
            "there is no command \"{other}\"; the commands are prepare, run, cleanup and help"
        ))),
    }
}
