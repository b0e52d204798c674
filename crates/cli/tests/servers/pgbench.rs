//! Compares `syncline pgbench` with pgbench on one server: the same scripts leave the same rows.

use crate::support::{ProgramOutput, folder, syncline};
use crate::unmanaged_server::UnmanagedServer;

const FRESH: &str =
    "DROP TABLE IF EXISTS public.answers; CREATE TABLE public.answers (n int, said text)";
const ANSWERS: &str = "SELECT n, said FROM public.answers ORDER BY n";

/// The rows that a script leaves with pgbench, and with Syncline.
fn both(server: &UnmanagedServer, protocol: &str, script: &str) -> [String; 2] {
    let folder = folder();
    let path = folder.path().join("a.sql");
    std::fs::write(&path, script).unwrap();
    let path = path.display().to_string();
    server.ask(FRESH);
    let flags = ["-n", "-t", "1", "-D", "default_seed=5432", "-M", protocol];
    server.pgbench(&[&flags[..], &["-f", &path, "postgres"]].concat());
    let theirs = server.ask(ANSWERS);
    server.ask(FRESH);
    let flags = flags.join(" ");
    let result =
        syncline(folder.path(), &format!("pgbench {flags} -f a.sql --on {}", server.url()));
    assert_eq!(result.code, 0, "{protocol}: {result:?}");
    assert_mode(&result, protocol);
    [theirs, server.ask(ANSWERS)]
}

fn assert_mode(result: &ProgramOutput, protocol: &str) {
    let mode = format!("\nquery mode: {protocol}\n");
    assert!(result.out.contains(&mode), "{result:?}");
}

/// A row contains the request that wrote it, as the server sees it, and whether anything is prepared.
#[test]
fn each_protocol_is_that_of_pgbench() {
    let server = UnmanagedServer::new();
    let script = "\\set x 7
INSERT INTO public.answers SELECT 1, rtrim(current_query(), ';') || \
                  (SELECT count(*) > 0 FROM pg_prepared_statements) || :x::int;
";
    for (protocol, value, prepared) in [
        ("simple", "7::int", "false7"),
        ("extended", "$1::int", "false7"),
        ("prepared", "$1::int", "true7"),
    ] {
        let [theirs, ours] = both(&server, protocol, script);
        assert_eq!(ours, theirs, "{protocol}");
        assert!(ours.contains(value) && ours.ends_with(prepared), "{ours}");
    }
    // Several statements of a request are one message, as in pgbench.
    let joined = "SELECT 1\\;INSERT INTO public.answers SELECT 1, rtrim(current_query(), ';');\n";
    let [theirs, ours] = both(&server, "simple", joined);
    assert_eq!(ours, theirs);
    assert!(ours.starts_with("1|SELECT 1;INSERT"), "{ours}");
    // Built-in scripts with each protocol, and without -M with pgbench's default.
    let folder = folder();
    for (flags, mode) in [
        ("", "simple"),
        ("-M simple", "simple"),
        ("-M extended", "extended"),
        ("-M prepared", "prepared"),
        ("-M simple -C", "simple"),
    ] {
        let line = format!("pgbench -c 3 -t 20 --max-tries 100 {flags} --on {}", server.url());
        let result = syncline(folder.path(), &line);
        assert_eq!(result.code, 0, "{flags}: {result:?}");
        assert_mode(&result, mode);
        assert!(result.out.contains("actually processed: 60/60"), "{result:?}");
    }
}

/// A write is answered long after it was sent, but the query before it does not wait for it. f10: under the
/// heading of pgbench 15, statements with their semicolon.
#[test]
fn each_statement_has_the_time_to_its_own_answer() {
    let server = UnmanagedServer::new();
    server.ask(FRESH);
    let folder = folder();
    let script =
        "SELECT 1;\nINSERT INTO public.answers SELECT 1, 'x' FROM pg_sleep(0.1);\nSELECT 2;\n";
    std::fs::write(folder.path().join("a.sql"), script).unwrap();
    for protocol in ["simple", "extended", "prepared"] {
        let url = server.url();
        let result = syncline(
            folder.path(),
            &format!("pgbench -n -r -t 3 -M {protocol} -f a.sql --on {url}"),
        );
        assert_eq!(result.code, 0, "{result:?}");
        let (_, lines) =
            result.out.split_once("statement latencies in milliseconds and failures:").unwrap();
        let times: Vec<f64> =
            lines.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect();
        let [first, insert, last] = times[..] else { panic!("three statements: {result:?}") };
        assert!(insert >= 100.0, "{protocol}: {result:?}");
        assert!(first < 80.0 && last < 80.0, "{protocol}: {result:?}");
    }
}

#[test]
fn a_script_reaches_its_user_s_tables_after_syncline_s() {
    let (server, folder) = (UnmanagedServer::new(), folder());
    server.ask("CREATE TABLE t17 (n int)");
    let script = folder.path().join("own.sql");
    std::fs::write(&script, "INSERT INTO t17 VALUES (1);\n").unwrap();
    let line = format!("pgbench -n -f {} -c 1 -t 5 --on {}", script.display(), server.url());
    let result = syncline(folder.path(), &line);
    assert_eq!(result.code, 0, "{result:?}");
    assert_eq!(server.ask("SELECT count(*) FROM t17"), "5");
    assert_eq!(server.managed_schemas(), Vec::<String>::new());
}

/// Results of `\set`, for every operator and every function that is not random.
const EXPRESSIONS: &[&str] = &[
    "10 / 4",
    "10.0 / 4",
    "-7 / 2",
    "-7 % 3",
    "7 % -3",
    "mod(-7, 3)",
    "2 + 3 * 4 % 5",
    "-(-3)",
    "1 - 2 - 3",
    "9223372036854775807",
    "-9223372036854775808",
    "1e3",
    ".5",
    "1.5e-7",
    "0.1 + 0.2",
    "2.0 / 3",
    "1e15",
    "123456789012345678.0",
    "1 << 3 + 1",
    "1 << 65",
    "-1 >> 1",
    "5 # 3",
    "5 & 3 | 8",
    "~5",
    "~5 & 3",
    "1 = 1",
    "1 <> 2",
    "1 != 1",
    "1 < 2.5",
    "2 <= 1",
    "2 > 1",
    "1 >= 1.0",
    "not true",
    "not 1 = 2",
    "1 = 1 and 2 < 1 or true",
    "true and null",
    "false and null",
    "null and false",
    "null and true",
    "true or null",
    "false or null",
    "null or true",
    "not null",
    "null",
    "null + 1",
    "null = null",
    "null is null",
    "1 is null",
    "1 is not null",
    "null isnull",
    "1 notnull",
    "true is true",
    "1 is true",
    "false is not true",
    "null is not false",
    "1 + 1 is null",
    "case when 1 > 2 then 3 else 4 end",
    "case when null then 1 when true then 2 end",
    "case when false then 1 end",
    "case when 2 then 0.5 else 1 end",
    "abs(-3)",
    "abs(-3.5)",
    "debug(4)",
    "double(3)",
    "double(3) / 2",
    "int(3.5)",
    "int(2.5)",
    "int(-2.5)",
    "exp(1)",
    "ln(10)",
    "sqrt(2)",
    "sqrt(-1)",
    "-ln(0)",
    "pi()",
    "pow(2, 10)",
    "power(0.5, 3)",
    "pow(2, -1)",
    "pow(0, 0)",
    "greatest(1, 2, 3)",
    "greatest(1, 2.5)",
    "least(4, 2, 3)",
    "least(4, 2.5, 3)",
    "hash(10)",
    "hash(10, 5432)",
    "hash(9223372036854775807, 0)",
    "hash_murmur2(-1, -1)",
    "hash_fnv1a(10, 5432)",
    "hash_fnv1a(-9223372036854775808)",
    "permute(0, 4)",
    "permute(0, 4, 5432)",
    "permute(3, 10, 7)",
    "permute(11, 10, 7)",
    "permute(-1, 10, 7)",
    "permute(1000000, 1000003, 42)",
    "permute(9223372036854775806, 9223372036854775807, 1)",
    "permute(5, 1, 9)",
    "random(5, 5)",
    "random_exponential(7, 7, 2.0)",
    "random_gaussian(8, 8, 2.5)",
    "random_zipfian(9, 9, 1.5)",
    ":client_id + :scale",
    ":default_seed",
];

#[test]
fn expressions_have_the_values_of_pgbench() {
    let server = UnmanagedServer::new();
    let lines = EXPRESSIONS.iter().enumerate();
    let lines = lines.map(|(number, expression)| {
        format!("\\set v {expression}\nINSERT INTO public.answers VALUES ({number}, ':v');\n")
    });
    let [theirs, ours] = both(&server, "simple", &lines.collect::<String>());
    assert_eq!(theirs.lines().count(), EXPRESSIONS.len(), "{theirs}");
    for ((theirs, ours), expression) in theirs.lines().zip(ours.lines()).zip(EXPRESSIONS) {
        assert_eq!(ours, theirs, "{expression}");
    }
    assert_eq!(theirs.lines().count(), ours.lines().count());
}

/// Branches, answers assigned to variables, shell commands and transactions, which every protocol supports.
const ALL_PROTOCOLS: &str = "-- a comment
\\set a 1 + \\
  2
\\if :a > 2 and false
  INSERT INTO public.answers VALUES (1, 'wrong');
\\elif :a = 3
  INSERT INTO public.answers VALUES (1, 'elif');
  \\if null
    INSERT INTO public.answers VALUES (2, 'wrong');
  \\else
    INSERT INTO public.answers VALUES (2, 'inner else');
  \\endif
\\elif true
  INSERT INTO public.answers VALUES (1, 'wrong');
\\else
  INSERT INTO public.answers VALUES (1, 'wrong');
\\endif
SELECT 5 AS five, 2.50 AS num, 0.125::float8 AS eighth, 1 AS \"Big\" \\gset p_
\\set six :p_five + 1
INSERT INTO public.answers VALUES (3, :p_five::text || :six::text || :p_num::text || :p_eighth::text);
INSERT INTO public.answers VALUES (4, (:p_Big + 1)::text) -- and another
;
\\set kept 41
SELECT 1 AS kept WHERE false \\aset
SELECT 7 AS seven UNION ALL SELECT 8 ORDER BY 1 \\aset
INSERT INTO public.answers VALUES (5, (:kept + :seven::int)::text);
\\setshell nine expr :a + 6
INSERT INTO public.answers VALUES (6, (:nine)::text);
\\shell true :a ::a
\\sleep 1 ms
\\sleep :a us
BEGIN;
INSERT INTO public.answers VALUES (7, 'undone');
ROLLBACK;
BEGIN;
INSERT INTO public.answers VALUES (8, 'done');
END;
INSERT INTO public.answers VALUES (9, 'without a semicolon')
\\set b 2
INSERT INTO public.answers VALUES (10, /* ; */ (:b::int + :client_id + :scale)::text || $$;$$)";

#[test]
fn commands_work_as_in_pgbench() {
    let server = UnmanagedServer::new();
    for protocol in ["simple", "extended", "prepared"] {
        let [theirs, ours] = both(&server, protocol, ALL_PROTOCOLS);
        assert_eq!(ours, theirs, "{protocol}");
        assert_eq!(theirs.lines().count(), 9, "{theirs}");
    }
    let pipeline = "\\startpipeline
INSERT INTO public.answers VALUES (1, 'one');
SELECT 1;
INSERT INTO public.answers VALUES (2, 'two');
\\endpipeline
";
    for protocol in ["extended", "prepared"] {
        let [theirs, ours] = both(&server, protocol, pipeline);
        assert_eq!((ours.as_str(), theirs.as_str()), ("1|one\n2|two", "1|one\n2|two"));
    }
    // Only in the simple protocol: values in quotes and as parts of names, and several statements at once.
    let texts = "SELECT 5 AS five, 'two words' AS words, true AS yes \\gset p_
INSERT INTO public.answers VALUES (1, ':p_five|:p_words|:p_yes|12:30|:nobody');
SELECT 1 AS one \\; SELECT 7 AS seven UNION ALL SELECT 8 ORDER BY 1 \\; SELECT 9 AS n WHERE false \\aset
INSERT INTO public.answers VALUES (2, ':one|:seven|:n');
SELECT 0.1::float8 + 0.2::float8 AS f, 1e20::float8 AS large, 0.00001::float8 AS small \\gset
INSERT INTO public.answers VALUES (7, ':f|:large|:small');
SELECT 3 AS first \\; SELECT 4 AS last \\gset
INSERT INTO public.answers VALUES (3, ':first|:last');
\\set name 2
SELECT 6 AS column_:name \\gset
\\set name 1
SELECT 5 AS column_:name \\gset
INSERT INTO public.answers VALUES (4, ':column_1|:column_2');
INSERT INTO public.answers VALUES (5, 'a') \\; INSERT INTO public.answers VALUES (6, 'b');
SELECT (ARRAY[1, 2])[1:2];
";
    let [theirs, ours] = both(&server, "simple", texts);
    assert_eq!(ours, theirs);
    assert!(theirs.contains("5|two words|t|12:30|:nobody"), "{theirs}");
    let folder = folder();
    std::fs::write(folder.path().join("p.sql"), pipeline).unwrap();
    let line = format!("pgbench -t 1 -f p.sql --on {}", server.url());
    let refused = syncline(folder.path(), &line);
    assert_eq!(refused.code, 2, "{refused:?}");
    let why = "p.sql:1:1: \\startpipeline needs the extended or the prepared protocol";
    assert!(refused.err.contains(why), "{refused:?}");
}

/// `-i` drops the tables it created before, and a script that names none of Syncline's tables needs no
/// schema.
#[test]
fn tables_are_recreated_and_a_script_without_them_creates_no_schema() {
    let server = UnmanagedServer::new();
    let folder = folder();
    std::fs::write(folder.path().join("one.sql"), "SELECT 1;\n").unwrap();
    let url = server.url();
    let sign = if url.contains('?') { '&' } else { '?' };
    let run = |line: &str| {
        let line = format!("pgbench {line} --on {url}{sign}schema=pgbench");
        let result = syncline(folder.path(), &line);
        assert_eq!(result.code, 0, "{line}: {result:?}");
        server.managed_schemas()
    };
    let nothing: [String; 0] = [];
    assert_eq!(run("-f one.sql -t 2"), nothing);
    let made = run("-i -q");
    assert_eq!(made.len(), 1, "{made:?}");
    for line in ["-i -q -s 2", "-t 5", "-f one.sql -t 2", "-i -q", "-t 5"] {
        assert_eq!(run(line), made, "{line}");
    }
}
