//! `syncline pgbench`: its summary, exit codes and refusals, and tables that stay.

use crate::support::{ProgramOutput, figure, folder, left_behind, program, records, syncline};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

/// The number after a label of the summary.
fn number(result: &ProgramOutput, label: &str) -> f64 {
    let line = result.out.lines().find_map(|line| line.strip_prefix(label));
    let line = line.unwrap_or_else(|| panic!("no \"{label}\" in {result:?}"));
    let figure = line.trim_start_matches([' ', '=', ':']);
    let end = figure.find(|sign: char| !sign.is_ascii_digit() && sign != '.');
    figure[..end.unwrap_or(figure.len())].parse().unwrap()
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).unwrap();
}

#[test]
fn the_summary_has_the_lines_that_programs_parse() {
    let folder = folder();
    let line =
        "pgbench -c 3 -t 40 --max-tries 100 --failures-detailed -r --on sqlite?durability=os";
    let result = syncline(folder.path(), line);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(result.out.contains("transaction type: <builtin: TPC-B (sort of)>"));
    assert!(result.out.contains("number of transactions actually processed: 120/120"));
    for (label, least) in [
        ("number of failed transactions", 0.0),
        ("number of serialization failures", 0.0),
        ("number of deadlock failures", 0.0),
        ("number of transactions retried", 0.0),
        ("total number of retries", 0.0),
        ("scaling factor", 1.0),
        ("number of clients", 3.0),
        ("latency average", 0.000_001),
        ("latency stddev", 0.0),
        ("initial connection time", 0.000_001),
        ("tps", 0.01),
    ] {
        assert!(number(&result, label) >= least, "{label}: {result:?}");
    }
    assert!(result.out.contains("(without initial connection time)"));
    let insert = "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES";
    assert!(result.out.contains(insert), "one statement per line: {result:?}");
    assert_eq!(records(folder.path()).len(), 1);
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}

#[test]
fn several_scripts_have_a_part_each() {
    let folder = folder();
    write(
        folder.path(),
        "a.sql",
        "\\set x random(1, 10)\nSELECT :x AS x \\gset got_\nSELECT :got_x + 1;\n",
    );
    let line = "pgbench -f a.sql@3 -b select-only@1 -t 200 --on sqlite?durability=os";
    let result = syncline(folder.path(), line);
    assert_eq!(result.code, 0, "{result:?}");
    for words in [
        "transaction type: multiple scripts",
        "SQL script 1: a.sql\n - weight: 3 (targets 75.0% of total)",
        "SQL script 2: <builtin: select only>\n - weight: 1 (targets 25.0% of total)",
        " - latency average = ",
    ] {
        assert!(result.out.contains(words), "{words}: {result:?}");
    }
}

#[test]
fn tables_made_by_i_stay_and_later_runs_find_them() {
    let folder = folder();
    let on = "--on sqlite:bench.db?durability=os";
    let made = syncline(folder.path(), &format!("pgbench -i {on}"));
    assert_eq!(made.code, 0, "{made:?}");
    assert!(made.err.contains("done in"), "{made:?}");
    let run = syncline(folder.path(), &format!("pgbench -N -t 7 {on}"));
    assert_eq!(run.code, 0, "{run:?}");
    let counts =
        "SELECT count(*) AS n FROM pgbench_history \\gset\n\\if :n <> WANTED\n\\set x 1/0\n\\endif";
    let count = |wanted: &str| {
        write(folder.path(), "count.sql", &counts.replace("WANTED", wanted));
        syncline(folder.path(), &format!("pgbench -f count.sql -t 1 {on}"))
    };
    assert_eq!(count("7").code, 0, "the rows of the run are there");
    let refused = count("8");
    assert_eq!(refused.code, 1, "what breaks off a run is 1: {refused:?}");
    assert!(refused.err.contains("count.sql:3: division by zero"), "{refused:?}");
    assert!(refused.err.contains("results above are incomplete"), "{refused:?}");
    assert!(refused.out.contains("actually processed: 0/1"), "{refused:?}");
    for bad in ["-s 0", "-s 30000", "-D 1x=2"] {
        let refused = syncline(folder.path(), &format!("pgbench -i {bad} {on}"));
        assert_eq!(refused.code, 2, "{bad}: {refused:?}");
        let there = syncline(folder.path(), &format!("pgbench -S -t 1 {on}"));
        assert_eq!(there.code, 0, "{bad} did harm: {there:?}");
    }
    assert_eq!(syncline(folder.path(), &format!("pgbench -i -q {on}")).code, 0);
    assert_eq!(count("0").code, 0, "-i makes them anew");
    let other = syncline(folder.path(), &format!("pgbench -s 2 -t 1 {on}"));
    assert_eq!(other.code, 2, "{other:?}");
    assert!(other.err.contains("at scale 1") && other.err.contains("at scale 2"));
    write(folder.path(), "unmanaged.db", "not a managed database");
    let unmanaged = syncline(folder.path(), "pgbench -i --on sqlite:unmanaged.db");
    assert_eq!(unmanaged.code, 2, "{unmanaged:?}");
    assert!(unmanaged.err.contains("was not made by syncline"), "{unmanaged:?}");
    let bare = syncline(folder.path(), "pgbench -i --on sqlite");
    assert_eq!(bare.code, 2);
    assert!(bare.err.contains("name a place that stays"), "{bare:?}");
}

#[test]
fn a_rate_and_progress_are_followed_and_the_record_is_for_machines() {
    let folder = folder();
    let line = "pgbench -S -T 2 -P 1 -R 100 --random-seed 7 --on sqlite?durability=os";
    let result = syncline(folder.path(), line);
    assert_eq!(result.code, 0, "reads alone promise no syncs: {result:?}");
    assert!(result.err.contains("progress: 1.0 s, "), "{result:?}");
    assert!(result.out.contains("duration: 2 s"));
    assert!(number(&result, "rate limit schedule lag: avg") >= 0.0);
    let json =
        syncline(folder.path(), "pgbench -S -t 5 --json --random-seed 7 --on sqlite?durability=os");
    let record = json.json();
    assert!((figure(&record, "outcomes.committed") - 5.0).abs() < 0.5);
    assert_eq!(record["workload"]["name"], "script");
    assert_eq!(record["workload"]["seed"], 7);
}

#[test]
fn listings_need_no_store() {
    let folder = folder();
    let list = syncline(folder.path(), "pgbench -b list");
    assert_eq!(list.code, 0);
    assert!(list.out.contains("simple-update: <builtin: simple update>"), "{list:?}");
    let show = syncline(folder.path(), "pgbench --show-script se");
    assert_eq!(show.code, 0);
    assert!(show.out.starts_with("-- select-only: <builtin: select only>\n\\set aid"), "{show:?}");
}

/// The lines of the log files in a directory, by file.
fn logs(folder: &Path, prefix: &str) -> Vec<Vec<Vec<String>>> {
    let names = left_behind(folder).into_iter();
    let mut names: Vec<_> = names.filter(|name| name.starts_with(prefix)).collect();
    names.sort();
    let words = |line: &str| line.split(' ').map(str::to_owned).collect();
    names
        .iter()
        .map(|name| {
            let text = std::fs::read_to_string(folder.join(name)).unwrap();
            text.lines().map(words).collect()
        })
        .collect()
}

#[test]
fn the_log_has_one_line_per_transaction_and_one_file_per_thread() {
    let folder = folder();
    let line =
        "pgbench -c 4 -j 2 -t 25 -l --log-prefix mine --max-tries 500 --on sqlite?durability=os";
    let result = syncline(folder.path(), line);
    assert_eq!(result.code, 0, "{result:?}");
    let files = logs(folder.path(), "mine.");
    assert_eq!(files.len(), 2, "{files:?}");
    let all: Vec<_> = files.concat();
    assert_eq!(all.len(), 100);
    assert!(all.iter().all(|line| line.len() == 7), "{:?}", all[0]);
    for client in ["0", "1", "2", "3"] {
        let of = all.iter().filter(|line| line[0] == client);
        let numbers: Vec<usize> = of.map(|line| line[1].parse().unwrap()).collect();
        // f11: as pgbench counts, from 1.
        assert!(numbers.iter().copied().eq(1..=numbers.len()), "{numbers:?}");
    }
    let epoch = |line: &Vec<String>| line[4].parse::<u64>().unwrap() > 1_700_000_000;
    assert!(all.iter().all(epoch));
    let sum_us: f64 = all.iter().map(|line| line[2].parse::<f64>().unwrap()).sum();
    let mean_ms = number(&result, "latency average");
    assert!((sum_us / 100.0 / 1e3 - mean_ms).abs() < 0.01 + mean_ms / 50.0);
}

#[test]
fn the_log_of_intervals_sums_up_to_all_transactions() {
    let folder = folder();
    let line = "pgbench -S -c 2 -T 2 -l --aggregate-interval 1 --on sqlite?durability=os";
    let result = syncline(folder.path(), line);
    assert_eq!(result.code, 0, "{result:?}");
    let files = logs(folder.path(), "pgbench_log.");
    let lines = files.concat();
    assert!(lines.iter().all(|line| line.len() == 15), "{lines:?}");
    let logged: f64 = lines.iter().map(|line| line[1].parse::<f64>().unwrap()).sum();
    let done = number(&result, "number of transactions actually processed");
    assert!((logged - done).abs() < 0.5, "{logged} of {done}");
}

#[test]
fn an_unsustainable_rate_skips_and_counts_late_transactions() {
    let folder = folder();
    write(folder.path(), "slow.sql", "\\sleep 20 ms\nSELECT 1;\n");
    let line = "pgbench -f slow.sql -c 1 -T 2 -R 500 -L 30 -P 1 -l --on sqlite?durability=os";
    let result = syncline(folder.path(), line);
    assert_eq!(result.code, 0, "{result:?}");
    let skipped = number(&result, "number of transactions skipped");
    let done = number(&result, "number of transactions actually processed");
    assert!(skipped > done && done > 0.0, "{skipped} and {done}: {result:?}");
    assert!(result.out.contains("above the 30.0 ms latency limit: "));
    assert!(result.out.contains("rate limit schedule lag: avg "));
    let progress = result.err.lines().find(|line| line.starts_with("progress: "));
    let progress = progress.unwrap_or_else(|| panic!("{result:?}"));
    for part in [" tps, lat ", " stddev ", " failed, lag ", " skipped"] {
        assert!(progress.contains(part), "{progress}");
    }
    let lines = logs(folder.path(), "pgbench_log.").concat();
    let logged = lines.iter().filter(|line| line[2] == "skipped").count();
    assert!((logged as f64 - skipped).abs() < 0.5, "{logged}");
}

/// f24: - is standard input, which is read once, wherever and however often it is named.
#[test]
fn a_script_comes_from_standard_input() {
    let folder = folder();
    let run = |line: &str, script: &str| {
        let line = format!("pgbench -n {line} -t 3 --on sqlite?durability=os");
        let mut child = program(folder.path(), &line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(script.as_bytes()).unwrap();
        drop(input);
        ProgramOutput::after(child)
    };
    let result = run("-f -", "\\set a 1 + 1\nSELECT :a;\n");
    assert_eq!(result.code, 0, "{result:?}");
    assert!(result.out.contains("transaction type: -\n"), "{result:?}");
    let done = number(&result, "number of transactions actually processed");
    assert!((done - 3.0).abs() < 0.5, "{result:?}");
    write(folder.path(), "one.sql", "SELECT 1;\n");
    let result = run("-f one.sql -f -@2", "SELECT 2;\n");
    assert_eq!(result.code, 0, "{result:?}");
    assert!(
        result.out.contains("SQL script 2: -\n - weight: 2 (targets 66.7% of total)"),
        "{result:?}"
    );
    for (script, why) in [("", "a script has no commands"), ("SELECT 1;\n\\nosuch\n", "-:2")] {
        let result = run("-f -", script);
        assert_eq!(result.code, 2, "{result:?}");
        assert!(result.err.contains(why), "{why}: {result:?}");
    }
}

/// f01: four clients that sleep 0.7 s per transaction do at most 5.72 per second, however the run ends.
#[test]
fn transactions_in_progress_at_the_end_count_with_their_time() {
    let folder = folder();
    write(folder.path(), "slow.sql", "\\sleep 700 ms\nSELECT 1;\n");
    let line = "pgbench -n -f slow.sql -c 4 -T 1 --on sqlite?durability=os";
    let result = syncline(folder.path(), line);
    assert_eq!(result.code, 0, "{result:?}");
    let done = number(&result, "number of transactions actually processed");
    let tps = number(&result, "tps");
    assert!((4.0..=8.0).contains(&done), "{result:?}");
    assert!(tps > 0.0 && tps <= 4.0 / 0.7, "{tps}: {result:?}");
}

#[test]
fn an_error_may_fail_only_its_transaction() {
    let folder = folder();
    // The smaller of the two numbers has no absolute value.
    write(
        folder.path(),
        "half.sql",
        "\\set x random(0, 1)\nSELECT abs(-9223372036854775807 - :x);\n",
    );
    let line = "pgbench -f half.sql -t 200 --on sqlite?durability=os";
    let broken = syncline(folder.path(), line);
    assert_eq!(broken.code, 1, "{broken:?}");
    let result =
        syncline(folder.path(), &format!("{line} --continue-on-error --failures-detailed"));
    assert_eq!(result.code, 0, "{result:?}");
    let failed = number(&result, "number of failed transactions");
    assert!((50.0..150.0).contains(&failed), "{result:?}");
    let other = number(&result, "number of other failures");
    assert!((other - failed).abs() < 0.5, "{result:?}");
    let done = number(&result, "number of transactions actually processed");
    assert!((done + failed - 200.0).abs() < 0.5, "{result:?}");
}

#[test]
fn transactions_per_client_and_lateness_are_repeated_like_the_record() {
    let folder = folder();
    let line = "pgbench -S -c 2 -t 30 -R 2000 -L 700 --on sqlite --json";
    let result = syncline(folder.path(), line);
    assert_eq!(result.code, 0, "{result:?}");
    let record = records(folder.path()).remove(0);
    let line = format!("run --like {} --json", record.display());
    let again = syncline(folder.path(), &line);
    assert_eq!(again.code, 0, "{again:?}");
    let (result, again) = (result.json(), again.json());
    for (name, value) in [
        ("transactions", 60),
        ("transactions_each", 30),
        ("skip_after_ns", 700_000_000),
        ("retry_within_ns", 700_000_000),
    ] {
        assert_eq!(result["plan"][name], value, "{name}");
        assert_eq!(again["plan"][name], value, "{name}");
    }
}

#[test]
fn each_transaction_may_connect() {
    let folder = folder();
    let result = syncline(folder.path(), "pgbench -C -S -c 2 -t 30 --on sqlite --json");
    assert_eq!(result.code, 0, "{result:?}");
    assert_eq!(result.json()["plan"]["connects_each"], true);
    let record = records(folder.path()).remove(0);
    let again = syncline(folder.path(), &format!("run --like {} --json", record.display()));
    assert_eq!(again.json()["plan"]["connects_each"], true, "{again:?}");
    let result = syncline(folder.path(), "pgbench -C -S -c 2 -t 30 --on sqlite");
    assert!(result.out.contains("(including reconnection times)"), "{result:?}");
    assert!(!result.out.contains("initial connection time"), "{result:?}");
}

#[test]
fn unsupported_options_are_refused_by_name() {
    let folder = folder();
    write(folder.path(), "bad.sql", "SELECT 1;\n\\set x 1 +\n");
    for (flags, expected) in [
        ("-L 0", "must be above zero"),
        ("--sampling-rate 0.1", "--log"),
        ("--aggregate-interval 1", "--log"),
        ("-l --sampling-rate 2", "above 0 and at most 1"),
        ("-l --log-prefix no/such/folder", "cannot create the log"),
        ("-l --sampling-rate 0.1 --aggregate-interval 1", "cannot be used with"),
        ("-h host", "both name the store"),
        ("-p 5432", "both name the store"),
        ("-U me", "both name the store"),
        ("-d base", "both name the store"),
        ("base", "both name the store"),
        ("-M simple", "has no simple protocol; choose prepared"),
        ("-M extended", "has no extended protocol; choose prepared"),
        ("-i -F 90", "-F does not apply"),
        ("-i --foreign-keys", "--foreign-keys does not apply"),
        ("-i -I dtx", "\"x\" is not a step"),
        ("-i -I dt", "give both t and g"),
        ("-i -I dtgf", "-I f does not apply"),
        ("--max-tries 0", "give -T to end the run"),
        ("--random-seed x", "is not an integer, time or rand"),
        ("-f bad.sql", "bad.sql:2:11: an expression is expected here"),
        ("-D 1x=2", "is not a variable with its value"),
        ("-t 1 -T 1", "cannot be used with"),
    ] {
        let got = syncline(folder.path(), &format!("pgbench {flags} --on sqlite"));
        assert_eq!(got.code, 2, "{flags}: {got:?}");
        assert!(got.err.contains(expected), "{flags}: {got:?}");
        assert_eq!(got.out, "", "{flags}");
    }
    let nowhere = syncline(folder.path(), "pgbench -t 1");
    assert!(nowhere.code == 2 && nowhere.err.contains("give --on TARGET"), "{nowhere:?}");
    assert_eq!(left_behind(folder.path()), ["bad.sql"]);
    let nobody = syncline(folder.path(), "pgbench -t 1 -h 127.0.0.1 -p 1 bench");
    assert!(nobody.code == 2 && nobody.err.contains("127.0.0.1:1"), "{nobody:?}");
    let warned = syncline(folder.path(), "pgbench -M prepared -v -n -t 1 -S --on sqlite");
    assert_eq!(warned.code, 0, "{warned:?}");
    assert!(warned.out.contains("\nquery mode: prepared\n"), "{warned:?}");
    let default = syncline(folder.path(), "pgbench -n -t 1 -S --on sqlite");
    assert!(default.out.contains("\nquery mode: prepared\n"), "{default:?}");
    assert!(
        warned.err.contains("--vacuum-all has no effect here: nothing is vacuumed here"),
        "{warned:?}"
    );
}

#[test]
fn scripts_without_pgbench_s_tables_leave_a_place_unchanged() {
    let folder = folder();
    write(folder.path(), "two.sql", "SELECT 1 AS one;\n");
    let on = "--on sqlite:store.db?durability=os";
    let run = |line: &str| syncline(folder.path(), &format!("pgbench {line} {on}"));
    let alone = run("-f two.sql -t 2");
    assert_eq!(alone.code, 0, "{alone:?}");
    assert!(!folder.path().join("store.db").exists(), "nothing was there");
    assert_eq!(run("-i -q -s 2").code, 0);
    let mixed = run("-f two.sql -t 2");
    assert_eq!(mixed.code, 0, "{mixed:?}");
    // The scale is read from the store, and built-in scripts are checked by what they have added.
    for line in ["-t 5 --json", "-S -t 5 --json", "-N -c 2 -t 5 --json"] {
        let result = run(line);
        assert_eq!(result.code, 0, "{line}: {result:?}");
        let record = result.json();
        assert_eq!(record["workload"]["rows_kept"], true, "{line}");
        assert_eq!(record["workload"]["options"]["scale"], "2", "{line}");
        let checks = record["checks"].as_array().unwrap();
        assert_eq!(checks.len(), 2, "{checks:?}");
        let held = checks.iter().all(|check| check["outcome"] == "held");
        assert!(held, "{line}: {checks:?}");
    }
    let other = run("-s 3 -t 1");
    assert_eq!(other.code, 2, "{other:?}");
    assert!(other.err.contains("omit -s"), "{other:?}");
}

#[test]
fn each_client_performs_its_own_transactions() {
    let folder = folder();
    write(folder.path(), "two,3.sql", "SELECT :list AS one;\n");
    for flags in ["", "-R 1000000"] {
        let line = format!(
            "pgbench -f two,3.sql -D list=1,2 -c 3 -t 5 -l {flags} --on sqlite?durability=os"
        );
        let result = syncline(folder.path(), &line);
        assert_eq!(result.code, 0, "{result:?}");
        assert!(result.out.contains("actually processed: 15/15"), "{result:?}");
        let mut clients: Vec<String> = Vec::new();
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.starts_with("pgbench_log") {
                let text = std::fs::read_to_string(&path).unwrap();
                let first = |line: &str| line.split(' ').next().unwrap().to_owned();
                clients.extend(text.lines().map(first));
                std::fs::remove_file(path).unwrap();
            }
        }
        clients.sort();
        let wanted: Vec<String> = (0..15).map(|one| (one / 5).to_string()).collect();
        assert_eq!(clients, wanted, "{flags}");
    }
}

#[test]
fn statements_that_pgbench_refuses_are_refused_with_their_line() {
    let folder = folder();
    write(folder.path(), "copy.sql", "SELECT 1;\ncopy (SELECT 1) TO STDOUT;\n");
    let result = syncline(folder.path(), "pgbench -f copy.sql -t 1 --on sqlite");
    assert_eq!(result.code, 2, "{result:?}");
    assert!(result.err.contains("copy.sql:2:1: COPY"), "{result:?}");
    let many = syncline(folder.path(), "pgbench -c 99999999999 --on null");
    assert_eq!(many.code, 2, "{many:?}");
    assert!(many.err.contains("at most 1000000 clients"), "{many:?}");
}
