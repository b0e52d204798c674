//! Runs calls like those of pgbench's own regression tests with pgbench and with Syncline on the same tables:
//! both run the same calls, transaction for transaction, and refuse the same calls.

use crate::support::{ProgramOutput, folder, program};
use crate::unmanaged_server::UnmanagedServer;
use std::path::Path;

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Ran,
    Refused,
    BrokeOff,
}

/// Options that run built-in scripts, or that require no script.
const PLAIN: &[&str] = &[
    "-t 5 -c 2 -M simple",
    "-t 5 -c 2 -M extended",
    "-t 5 -c 2 -M prepared",
    "-S -t 7",
    "-N -t 7",
    "-S -N -t 4 -c 2",
    "-S -S -t 4",
    "-b tpcb-like@3 -b select-only@1 -t 6",
    "-b si@0 -b se -t 6",
    "-C -t 5",
    "-C -c 2 -j 2 -t 3 -S",
    "-c 4 -j 2 -t 3 -S --max-tries=3",
    "-S -t 5 -r",
    "-S -t 5 -l --log-prefix=a",
    "-S -t 20 -l --log-prefix=b --sampling-rate=0.5",
    "-S -t 20 -l --log-prefix=c --aggregate-interval=1",
    "-S -t 5 -R 1000",
    "-S -t 5 -R 1000 -L 500",
    "-S -t 5 -L 500",
    "-S -t 5 --failures-detailed",
    "-S -t 5 --verbose-errors",
    "-S -t 5 --random-seed=7",
    "-S -t 5 --random-seed=time",
    "-S -t 5 -P 1",
    "-S -t 5 -P 1 --progress-timestamp",
    // f07: the last value of a repeated option counts.
    "-S -c 1 -c 2 -t 1 -t 3",
    "-S -n -n -t 2",
    "-S -Mprepared -t2 -c2 -j2",
    "-S --transactions 3 --client=2",
    "-S -s 1 -t 3",
    "-S -D x=1 -t 3",
    "-b list",
    "--show-script se",
    "--show-script=tpcb",
    // Refused calls.
    "-c 0",
    "-c many",
    "-j 0",
    "-t 0",
    "-T 0",
    "-t 5 -T 5",
    "-P 0",
    "-s 0",
    "-R 0",
    "-R fast",
    "-L 0",
    "-M fancy",
    "-D x",
    "-b",
    "-b nosuch",
    "-b s",
    "-b se@-1",
    "-b se@x",
    "-b se@0",
    "-f nosuch.sql",
    // f23.
    "-i -S",
    "-i -c 2",
    "-i -T 5",
    "-q -t 1",
    "-I dtg -t 1",
    "-i -I x",
    // f27.
    "--progress-timestamp -t 1",
    "--aggregate-interval=1 -t 1",
    "-l --aggregate-interval=5 -T 2",
    "-l --aggregate-interval=2 -T 3",
    "-l --aggregate-interval=1 --sampling-rate=0.5 -t 1",
    "-l --sampling-rate=0 -t 1",
    "-l --sampling-rate=2 -t 1",
    "--sampling-rate=0.5 -t 1",
    "--log-prefix=x -t 1",
    "--random-seed=fancy -t 1",
    "--max-tries=-1",
    "--max-tries=0 -t 1",
    "--show-script=nosuch",
    "--show-script=s",
    "--no-such-option",
    "-S -t 1 one-word-too-many",
];

/// Scripts, each run with `-t 3` and the options after the bar.
const SCRIPTS: &[(&str, &str)] = &[
    ("", "SELECT 1;"),
    ("", "-- only SQL\nBEGIN;\nSELECT 1;\nEND;"),
    ("-M extended", "\\set a 1\nSELECT :a::int;"),
    ("-M prepared", "\\set a 1\nSELECT :a::int;"),
    ("-D a=7", "SELECT :a;"),
    ("", "\\set a 1 + \\\n 2\nSELECT :a;"),
    ("", "\\if true\nSELECT 1;\n\\elif false\nSELECT x;\n\\else\nSELECT y;\n\\endif"),
    ("", "\\if false\n\\if true\nSELECT x;\n\\endif\n\\else\nSELECT 1;\n\\endif"),
    ("", "\\if null\nSELECT x;\n\\endif\nSELECT 1;"),
    ("", "SELECT 1 AS a \\gset\nSELECT :a;"),
    ("", "SELECT 1 AS a, 2 AS b \\gset p_\nSELECT :p_a + :p_b;"),
    ("", "SELECT 1 AS a \\; SELECT 2 AS b \\aset\nSELECT :a + :b;"),
    ("", "SELECT 1 WHERE false \\aset\nSELECT 1;"),
    ("", "SELECT \\gset\nSELECT 1;"),
    ("", "\\sleep 1 us\n\\sleep 1ms\nSELECT 1;"),
    ("", "\\setshell a expr 1 + 1\nSELECT :a;"),
    ("", "\\shell true\nSELECT 1;"),
    ("-M extended", "\\startpipeline\nSELECT 1;\nSELECT 2;\n\\endpipeline"),
    ("-M prepared", "\\startpipeline\nSELECT 1;\nSELECT 2;\n\\endpipeline"),
    (
        "",
        "\\set r random(1, 10)\n\\set g random_gaussian(1, 10, 2.5)\n\\set e random_exponential(1, 10, 2.5)\n\\set z random_zipfian(1, 10, 1.5)\nSELECT :r, :g, :e, :z;",
    ),
    ("", "\\set h hash(:client_id)\n\\set p permute(0, 10)\nSELECT :h, :p;"),
    ("", "\\set d debug(1)\nSELECT :d;"),
    (
        "",
        "CREATE TEMP TABLE IF NOT EXISTS t_:client_id (a int);\nINSERT INTO t_:client_id VALUES (1);",
    ),
    ("-c 2 -j 2", "DO $$ BEGIN PERFORM 1; END $$;"),
    ("", "SELECT ';' AS \"a;b\", $$;$$, E'\\\\';"),
    ("", "SELECT 1\\; SELECT 2;"),
    ("", "SELECT 1"),
    ("-c 2", "SELECT :client_id, :scale, :random_seed;"),
    (
        "--max-tries=5",
        "BEGIN ISOLATION LEVEL SERIALIZABLE;\nUPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1;\nEND;",
    ),
    // Refused or aborted scripts.
    ("", ""),
    ("", "-- nothing\n"),
    ("", "SELECT 1 + ;"),
    ("", "SELECT x FROM nosuch;"),
    ("-M prepared", "SELECT x FROM nosuch;"),
    ("", "\\nosuch"),
    ("", "\\set"),
    ("", "\\set a"),
    ("", "\\set a 1 +"),
    ("", "\\set 1a 1"),
    ("", "\\set a 1/0\nSELECT 1;"),
    ("", "\\set a nosuch(1)"),
    ("", "\\set a random(1)"),
    ("", "\\set a random(5, 1)\nSELECT 1;"),
    ("", "\\set a 9223372036854775807 + 1\nSELECT 1;"),
    ("", "\\set a 99999999999999999999"),
    ("", "\\set a :nosuch\nSELECT 1;"),
    ("", "\\set a case when true then 1"),
    ("", "\\set a (1"),
    ("", "\\set a exp()"),
    ("", "\\set a int(1, 2)"),
    ("", "\\set a true + 1\nSELECT 1;"),
    ("", "\\set a hash_murmur2()"),
    ("", "\\set a random_zipfian(1, 10, 0.1)\nSELECT 1;"),
    ("", "\\if true\nSELECT 1;"),
    ("", "\\else\n\\endif"),
    ("", "\\elif true\n\\endif"),
    ("", "\\endif"),
    ("", "\\if\nSELECT 1;\n\\endif"),
    ("", "\\if true\n\\else\n\\elif true\n\\endif"),
    ("", "\\if true\n\\else\n\\else\n\\endif"),
    ("", "\\sleep"),
    ("", "\\sleep a lot"),
    ("", "\\sleep 1 week"),
    ("", "\\setshell"),
    ("", "\\setshell a"),
    ("", "\\setshell a echo word\nSELECT 1;"),
    ("", "\\shell"),
    ("", "\\gset"),
    ("", "SELECT 1 WHERE false \\gset\nSELECT 1;"),
    ("", "SELECT 1 UNION SELECT 2 \\gset\nSELECT 1;"),
    ("", "SELECT 1 AS \"a b\" \\gset\nSELECT 1;"),
    ("", "BEGIN \\gset"),
    ("-M extended", "\\startpipeline\nSELECT 1;"),
    ("-M extended", "\\startpipeline\n\\startpipeline\n\\endpipeline"),
    ("-M extended", "\\endpipeline"),
    ("-M simple", "\\startpipeline\nSELECT 1;\n\\endpipeline"),
    ("-M extended", "\\startpipeline\nSELECT 1 AS a \\gset\n\\endpipeline"),
    ("", "COPY pgbench_branches TO STDOUT;"),
];

fn end(code: Option<i32>, pgbench: bool) -> End {
    match (code, pgbench) {
        (Some(0), _) => End::Ran,
        (Some(1), true) | (Some(2), false) => End::Refused,
        (Some(2), true) | (Some(1), false) => End::BrokeOff,
        other => panic!("{other:?}"),
    }
}

/// The transactions that a summary counts, if there is one.
fn processed(out: &str) -> Option<String> {
    let label = "number of transactions actually processed: ";
    let line = out.lines().find_map(|line| line.strip_prefix(label));
    line.map(|line| line.split('/').next().unwrap_or_default().to_owned())
}

/// Runs the same call with both; returns how pgbench's ended.
fn replay(server: &UnmanagedServer, folder: &Path, call: &str) -> Result<End, String> {
    let words: Vec<_> = call.split_whitespace().chain(["postgres"]).collect();
    let theirs = server.try_pgbench(folder, &words);
    let port = server.port();
    let mut own = program(folder, "pgbench -h 127.0.0.1 -U postgres");
    let own = own.env("PGPASSWORD", server.password());
    let own = own.args(["-p", &port]).args(&words);
    let own = ProgramOutput::of(own.output().unwrap());
    let (there, here) = (end(theirs.status.code(), true), end(Some(own.code), false));
    let result = String::from_utf8_lossy(&theirs.stderr);
    // Errors that pgbench finds during the run may be found here before it.
    let same = there == here || there == End::BrokeOff && here == End::Refused;
    if !same {
        return Err(format!("{call}: {there:?} there ({result}), {here:?} here: {own:?}"));
    }
    let counts = processed(&String::from_utf8_lossy(&theirs.stdout));
    if there == End::Ran && counts != processed(&own.out) {
        return Err(format!("{call}: {counts:?} there: {own:?}"));
    }
    if here == End::Refused && !own.err.contains("error: ") {
        return Err(format!("{call}: no sentence: {own:?}"));
    }
    Ok(there)
}

/// The servers that share the calls: most of a call is waiting for the server and the kernel.
const SERVERS: usize = 3;

/// Runs every n-th call on its own server.
fn replay_share(folder: &Path, calls: &[String], first: usize) -> Vec<Result<End, String>> {
    let server = UnmanagedServer::new();
    server.pgbench(&["-i", "-q", "postgres"]);
    let share = calls.iter().skip(first).step_by(SERVERS);
    let ends = share.map(|call| replay(&server, folder, call)).collect();
    assert_eq!(server.managed_schemas(), Vec::<String>::new(), "nothing is left");
    ends
}

#[test]
fn calls_like_those_of_pgbench_s_own_tests_end_as_in_pgbench() {
    let folder = folder();
    let mut calls: Vec<String> = PLAIN.iter().map(|call| format!("-n {call}")).collect();
    for (number, (flags, script)) in SCRIPTS.iter().enumerate() {
        std::fs::write(folder.path().join(format!("{number}.sql")), script).unwrap();
        calls.push(format!("-n -t 3 {flags} -f {number}.sql"));
    }
    let ends: Vec<_> = std::thread::scope(|scope| {
        let shares: Vec<_> = (0..SERVERS)
            .map(|first| {
                let (folder, calls) = (folder.path(), &calls);
                scope.spawn(move || replay_share(folder, calls, first))
            })
            .collect();
        let shares = shares.into_iter();
        shares.flat_map(|share| share.join().unwrap()).collect()
    });
    assert_eq!(ends.len(), calls.len());
    let wrong: Vec<_> = ends.iter().filter_map(|end| end.as_ref().err()).collect();
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), calls.len());
    let count = |wanted: End| ends.iter().filter(|end| **end == Ok(wanted)).count();
    let counts = [End::Ran, End::Refused, End::BrokeOff].map(count);
    println!("{} calls: {counts:?} ran, were refused, broke off, each as by pgbench", calls.len());
}
