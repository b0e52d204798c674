//! sysbench's command lines: accepted, warned about and refused.

use super::{CannotRun, Command, Flags};
use syncline_workloads::oltp::Test;

fn parse(line: &str) -> Result<Flags, String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let parsed = Flags::parse(&words, |path| match path {
        "itself" => Ok("config-file=itself\n".to_owned()),
        "file" => Ok("# comment\nthreads=3\n--table-size=70\n\n".to_owned()),
        other => Err(CannotRun(format!("no file {other}"))),
    });
    parsed.map_err(|why| why.0)
}

#[test]
fn options_are_accepted_anywhere_with_dashes_or_underscores() {
    let line = "oltp_read_write --tables=10 --table_size=500 --threads=8 --time=60 --skip-trx \
                --range-selects=false --rand-type=uniform --on=engine:x run --rate=50";
    let flags = parse(line).unwrap();
    assert_eq!((flags.test, flags.command), (Test::ReadWrite, Command::Run));
    assert_eq!((flags.threads, flags.time_s, flags.percentile), (8, 60, 95));
    assert!((flags.rate_per_s - 50.0).abs() < 1e-9);
    let pairs: Vec<_> =
        flags.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(
        pairs,
        ["tables=10", "table_size=500", "skip_trx=on", "range_selects=off", "rand_type=uniform"]
    );
    assert_eq!(flags.url.as_deref(), Some("engine:x"));
    assert!(flags.warnings.is_empty());
}

#[test]
fn sysbench_s_defaults_hold() {
    let flags = parse("oltp_insert run --on=null").unwrap();
    assert_eq!((flags.threads, flags.events, flags.time_s), (1, 0, 10));
    assert_eq!((flags.report_interval_s, flags.percentile), (0, 95));
    assert_eq!(flags.forced_shutdown_s, None);
}

#[test]
fn files_hold_options_and_the_last_one_counts() {
    let flags = parse("--config-file=file --table-size=9 /x/oltp_delete.lua prepare").unwrap();
    assert_eq!((flags.threads, flags.test), (3, Test::Delete));
    assert_eq!(flags.options, [("table_size".to_owned(), "9".to_owned())]);
}

#[test]
fn bulk_insert_fills_one_table_per_thread() {
    let flags = parse("bulk_insert --threads=4 run").unwrap();
    assert_eq!(flags.options, [("tables".to_owned(), "4".to_owned())]);
}

#[test]
fn deprecated_options_and_options_without_effect_cause_warnings() {
    let flags = parse("oltp_insert run --num-threads=2 --max-time=3 --verbosity=5").unwrap();
    assert_eq!((flags.threads, flags.time_s), (2, 3));
    assert_eq!(flags.warnings.len(), 3, "{:?}", flags.warnings);
}

/// f18, f19, f20.
#[test]
fn common_command_lines_are_accepted() {
    let line = "--test=/usr/share/sysbench/oltp_read_write.lua --db-ps-mode=disable \
                --mysql-storage-engine=InnoDB run";
    let flags = parse(line).unwrap();
    assert_eq!((flags.test, flags.command), (Test::ReadWrite, Command::Run));
    assert_eq!(flags.warnings.len(), 2, "{:?}", flags.warnings);
    assert!(parse("--version").unwrap().version);
    assert!(parse("oltp_insert --version").unwrap().version);
}

/// f17: the reason for an unsupported test is reported before its options are parsed.
#[test]
fn unsupported_tests_are_refused_before_their_options() {
    for (line, expected) in [
        ("./tpcc.lua --tables=2 --scale=2 --on=sqlite run", "`syncline run tpcc`"),
        ("fileio --file-total-size=1G prepare", "`syncline probe DIR`"),
        ("--random-points=10 select_random_points --on=sqlite run", "takes a list of ids"),
        ("cpu --cpu-max-prime=20000 run", "does not test processors"),
        ("/home/me/wide_update.lua --columns=3 run", "wide_update.lua is a Lua script, which"),
        ("--test=/usr/share/doc/sysbench/tests/db/oltp.lua --oltp-table-size=5 run", "replaces it"),
    ] {
        let why = parse(line).err().unwrap_or_default();
        assert!(why.contains(expected) && !why.contains("no option"), "{line}: {why}");
    }
}

#[test]
fn errors_are_one_sentence() {
    for (line, expected) in [
        ("", "no test was named"),
        ("oltp_insert", "no command was named"),
        ("cpu run", "cpu does not apply"),
        ("oltp_foo run", "has no test \"oltp_foo\""),
        ("oltp_insert go", "there is no command \"go\""),
        ("oltp_insert prewarm", "--warmup-time"),
        ("oltp_insert run 8", "one word too many"),
        ("oltp_insert run --threads", "requires =VALUE"),
        ("oltp_insert run --threads=0", "a whole number from 1"),
        ("oltp_insert run --tables", "requires =VALUE"),
        ("oltp_insert run --percentile=101", "from 1 to 100"),
        ("oltp_insert run --reconnect=5", "does not apply"),
        ("oltp_insert run --fancy=1", "has no option --fancy"),
        ("oltp_insert run --kept=on", "has no option --kept"),
        ("oltp_insert run -t", "two dashes"),
        ("oltp_insert run --time=0", "would never end"),
        ("oltp_insert run --config-file=none", "no file none"),
        ("oltp_insert run --config-file=itself", "cannot name another"),
        ("oltp_insert run --threads=1000001", "at most 1000000 clients"),
        ("oltp_insert run --threads=99999999999999999", "at most 1000000 clients"),
        ("oltp_insert run --on=a --db-driver=mysql", "use only one of them"),
    ] {
        let why = parse(line).err().unwrap_or_default();
        assert!(why.contains(expected), "{line}: {why}");
    }
}
