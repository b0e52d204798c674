//! Small runs of pgbench scripts, on SQLite: reading, branching, waiting and writing.
//!
//! A script reports a wrong value by dividing by zero, which ends the run.

use crate::run_on::{plan, run_on, workload};
use std::path::Path;
use std::time::Duration;
use syncline_contract::{CheckOutcome, Workload};
use syncline_instrument::clock;
use syncline_runner::{RunPlan, RunResult, StopReason};
use syncline_workloads::AnyWorkload;

const SQLITE: &str = "sqlite:{}?durability=os";

/// A file with a script, in its own directory.
fn script(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder for the script");
    let path = folder.path().join("a.sql");
    std::fs::write(&path, text).expect("the script is written");
    let path = path.display().to_string();
    (folder, path)
}

fn of(text: &str, options: &[(&str, &str)]) -> AnyWorkload {
    let (_folder, path) = script(text);
    let mut options = options.to_vec();
    options.push(("file", &path));
    workload("script", &options)
}

/// Runs a script a few times with one client.
fn runs(text: &str) -> RunResult {
    run_on(SQLITE, &of(text, &[]), &plan(1, 3))
}

/// Runs a script to its end; a wrong value fails the test.
fn holds(text: &str) {
    let result = runs(text);
    assert_eq!(
        (result.outcomes.committed, &result.stopped_by),
        (3, &StopReason::Transactions),
        "{text}"
    );
}

/// Runs a script that must end the run, and returns the reason.
fn fails(text: &str) -> String {
    match runs(text).stopped_by {
        StopReason::Failure { what, .. } => what,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn built_in_scripts_keep_their_sums_under_conflicts() {
    for builtin in
        ["tpcb-like", "simple-update", "select-only", "tpcb-like@2,simple-update,select-only@3"]
    {
        let load = workload("script", &[("builtin", builtin)]);
        let result = run_on(SQLITE, &load, &plan(4, 120));
        assert_eq!(result.outcomes.failed_all(), 0, "{:?}", result.stopped_by);
        assert!(result.outcomes.committed > 0, "{builtin}");
        assert_eq!(result.checks.len(), 2, "{builtin}");
        for check in &result.checks {
            assert_eq!(check.outcome, CheckOutcome::Held, "{builtin}: {}", check.name);
        }
        let counts = result.transactions.iter().map(|one| one.outcomes.committed);
        assert_eq!(counts.sum::<u64>(), result.outcomes.committed, "{builtin}");
        assert!(load.notice().is_some(), "it is derived from TPC-B");
    }
}

#[test]
fn on_null_nothing_is_checked_and_the_engine_refuses() {
    let load = workload("script", &[]);
    let result = run_on("null", &load, &plan(2, 50));
    assert_eq!(result.outcomes.committed, 50);
    let applies = |outcome: &CheckOutcome| !matches!(outcome, CheckOutcome::NotApplicable(_));
    assert!(!result.checks.iter().any(|check| applies(&check.outcome)));
    let engine = syncline_stores::AnyTarget::open("engine").expect("it opens nothing yet");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let refused = syncline_runner::run(&engine, &load, &plan(1, 1), &stop, &());
    let why = refused.expect_err("it takes no statements").to_string();
    assert!(why.contains("takes no user statements"), "{why}");
}

#[test]
fn rows_stay_for_a_later_run_that_finds_what_a_script_changed() {
    let folder = tempfile::tempdir().expect("a folder for the store");
    let url = format!("sqlite:{}?durability=os", folder.path().join("s").display());
    let keeping = RunPlan { reuse: true, ..plan(1, 1) };
    let breaks = of("UPDATE pgbench_tellers SET tbalance = 5 WHERE tid = 1;", &[("check", "none")]);
    let result = run_on(&url, &breaks, &keeping);
    assert_eq!(result.outcomes.committed, 1, "{:?}", result.stopped_by);
    let outcome = &result.checks[0].outcome;
    assert!(matches!(outcome, CheckOutcome::NotApplicable(why) if why.contains("user scripts")));
    let sees = of(
        "SELECT sum(tbalance) AS sum FROM pgbench_tellers \\gset\n\\if :sum <> 5\n\\set x 1 / 0\n\\endif",
        &[("check", "none")],
    );
    let result = run_on(&url, &sees, &keeping);
    assert!(result.head.workload.rows_kept);
    assert_eq!(result.outcomes.committed, 1, "{:?}", result.stopped_by);
}

#[test]
fn answers_go_to_variables_and_decide() {
    holds(
        "\\set aid random(1, 100000 * :scale)
SELECT aid AS a, bid, abalance, 'x' || aid AS text, NULL AS empty
  FROM pgbench_accounts WHERE aid = :aid \\gset p_
\\if :p_a = :aid and :p_bid = 1 and :p_abalance = 0 and :p_empty is null
  SELECT CASE WHEN 'x' || :aid = :p_text THEN 1 ELSE 0 END AS same \\gset
\\elif true
  \\set x 1 / 0
\\else
  \\set x 1 / 0
\\endif
\\if :same = 0
  \\set x 1 / 0
\\endif
\\if false
  \\set x 1 / 0
  \\if true
    \\set x 1 / 0
  \\endif
\\elif :client_id = 0
  \\set reached 1
\\else
  \\set x 1 / 0
\\endif
\\set x 1 / :reached",
    );
}

#[test]
fn each_statement_of_a_request_gives_its_last_row_and_none_changes_nothing() {
    holds(
        "\\set b 7
SELECT tid AS a FROM pgbench_tellers WHERE tid <= 3 ORDER BY tid \\;
SELECT tid AS b FROM pgbench_tellers WHERE tid < 0 \\;
SELECT 9 AS c \\aset
SELECT 1 AS d \\; SELECT 2 AS e \\gset g_
\\if :a <> 3 or :b <> 7 or :c <> 9 or :g_e <> 2
  \\set x 1 / 0
\\endif",
    );
    assert!(
        fails("SELECT 1 AS d \\; SELECT 2 AS e \\gset g_\n\\set x :g_d")
            .contains(":g_d has no value")
    );
}

#[test]
fn gset_requires_exactly_one_row() {
    let one = "SELECT tid FROM pgbench_tellers WHERE tid";
    assert!(fails(&format!("{one} < 0 \\gset")).contains("returns 0"));
    assert!(fails(&format!("{one} < 3 \\gset")).contains("returns 2"));
    let nothing = fails("DELETE FROM pgbench_history \\gset");
    assert!(nothing.contains("a.sql:1: \\gset needs one row"), "{nothing}");
    assert!(fails("SELECT count(*) FROM pgbench_tellers \\gset").contains("with AS"));
    holds("DELETE FROM pgbench_history \\aset");
    holds(
        "INSERT INTO pgbench_history (tid) VALUES (4) RETURNING tid AS t \\gset\n\\set x 1 / (:t - 3)",
    );
}

#[test]
fn a_request_of_several_statements_is_one_transaction() {
    // The second statement conflicts with an existing row, so the first must not stay.
    let folder = tempfile::tempdir().expect("a folder for the store");
    let url = format!("sqlite:{}?durability=os", folder.path().join("s").display());
    let keeping = RunPlan { reuse: true, ..plan(1, 1) };
    let run = |text: &str| run_on(&url, &of(text, &[("check", "none")]), &keeping);
    let broken = "INSERT INTO pgbench_history (tid) VALUES (1) \\; \
                  INSERT INTO pgbench_branches (bid) VALUES (1);";
    assert!(matches!(run(broken).stopped_by, StopReason::Failure { .. }));
    let count = |wanted: u64| {
        let text = format!(
            "SELECT count(*) AS n FROM pgbench_history \\gset\n\\if :n <> {wanted}\n\\set x 1/0\n\\endif"
        );
        let result = run(&text);
        assert_eq!(result.outcomes.committed, 1, "{:?}", result.stopped_by);
    };
    count(0);
    // As separate statements, the first stays.
    let apart = broken.replace("\\;", ";");
    assert!(matches!(run(&apart).stopped_by, StopReason::Failure { .. }));
    count(1);
    let whole =
        "INSERT INTO pgbench_history (tid) VALUES (1) \\; SELECT count(*) FROM pgbench_history;";
    assert_eq!(run(whole).outcomes.committed, 1);
    count(2);
}

#[test]
fn a_pipeline_is_a_sequence_on_an_embedded_store() {
    holds(
        "DELETE FROM pgbench_history;
\\startpipeline
INSERT INTO pgbench_history (tid, delta) VALUES (1, 2);
SELECT count(*) FROM pgbench_history;
INSERT INTO pgbench_history (tid, delta) VALUES (1, :client_id + 3);
\\syncpipeline
SELECT sum(delta) FROM pgbench_history;
\\endpipeline
SELECT sum(delta) AS sum FROM pgbench_history \\gset
\\set x 1 / (:sum - 4)
SELECT count(*) AS n FROM pgbench_history \\gset
\\if :n <> 2
\\set x 1 / 0
\\endif",
    );
    assert!(fails("\\startpipeline\nSELECT 1;").contains("\\endpipeline is missing"));
    let twice = "\\if true\n\\startpipeline\n\\endif\n\\if true\n\\startpipeline\n\\endif";
    assert!(fails(twice).contains("is inside a pipeline"));
    let nowhere = "\\if true\n\\endpipeline\n\\endif";
    assert!(fails(nowhere).contains("has not started"));
}

#[test]
fn conflicts_are_retried_and_nothing_is_lost() {
    // On SQLite, a transaction that reads first and then writes conflicts with any write in between; the
    // pause allows for one.
    let text = "\\set delta random(-5000, 5000)
BEGIN;
SELECT abalance FROM pgbench_accounts WHERE aid = 1;
\\sleep 1 ms
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = 1;
INSERT INTO pgbench_history (delta) VALUES (:delta);
END;
SELECT (SELECT sum(delta) FROM pgbench_history) - abalance AS differ
  FROM pgbench_accounts WHERE aid = 1 \\gset
\\if :differ <> 0
\\set x 1 / 0
\\endif";
    let load = of(text, &[]);
    let many = RunPlan { retries: 10_000, ..plan(4, 400) };
    let result = run_on(SQLITE, &load, &many);
    assert_eq!(result.outcomes.committed, 400, "{:?}", result.stopped_by);
    assert!(result.outcomes.retries() > 0, "{:?}", result.outcomes);
}

#[test]
fn a_sleep_lasts_inside_its_transaction_and_ends_with_the_run() {
    let load = of("\\set n 10\n\\sleep :n ms\nSELECT 1;\n\\sleep 20000us", &[]);
    let result = run_on(SQLITE, &load, &plan(2, 6));
    assert_eq!(result.outcomes.committed, 6, "{:?}", result.stopped_by);
    let times = result.transactions[0].service_ns.expect("six committed");
    assert!(times.p50 >= 30_000_000, "{times:?}");
    let short = RunPlan {
        duration: Some(Duration::from_millis(100)),
        drain: Duration::from_millis(100),
        transactions: None,
        ..plan(2, 1)
    };
    let began = clock::now();
    let result = run_on(SQLITE, &of("SELECT 1;\n\\sleep 1000", &[]), &short);
    assert_eq!(result.outcomes.unfinished, 2, "{:?}", result.outcomes);
    assert!(clock::now() - began < 60 * clock::SECOND, "nobody waits for it");
}

#[test]
fn shell_commands_take_and_return_values() {
    let folder = tempfile::tempdir().expect("a folder for what the shell writes");
    let file = folder.path().join("said");
    let text = format!(
        "\\set n 3\n\\setshell sum expr :n + 4\n\\if :sum <> 7\n\\set x 1 / 0\n\\endif\n\
         \\shell echo :sum ::n > {}\n",
        file.display()
    );
    holds(&text);
    let text = std::fs::read_to_string(&file).expect("the shell has written");
    assert_eq!(text, "7 :n\n");
    assert!(fails("\\shell false").contains("a.sql:1: the command \"false\" ended with"));
}

#[test]
fn variables_come_from_options_and_each_client_has_its_own() {
    let text = "SELECT :a + 1 AS a, :word AS word, :client_id AS me, :scale AS scale \\gset got_
\\set x 1 / (:got_a - 5)
\\if :got_a <> 6 or :got_me <> :client_id or :got_scale <> 2 or :random_seed <> 1
  \\set x 1 / 0
\\endif
SELECT CASE :got_word WHEN 'hi' THEN 1 ELSE 0 END AS same \\gset
\\set x 1 / :same
\\set x 1 / (hash(1) - hash(1, :default_seed) + 1)";
    let load = of(text, &[("define", "a=5,word=hi"), ("scale", "2")]);
    let result = run_on(SQLITE, &load, &plan(3, 30));
    assert_eq!(result.outcomes.committed, 30, "{:?}", result.stopped_by);
}

#[test]
fn the_same_seed_gives_the_same_draws_with_any_other_clients() {
    let text = "\\set v random(1, 1000000000)
INSERT INTO pgbench_history (tid, aid) VALUES (:client_id, :v);";
    let drawn = |seed: u64| {
        let folder = tempfile::tempdir().expect("a folder for the store");
        let url = format!("sqlite:{}?durability=os", folder.path().join("s").display());
        let plan = RunPlan { seed, reuse: true, ..plan(1, 5) };
        run_on(&url, &of(text, &[("check", "none")]), &plan);
        let out = folder.path().join("sum");
        let text = format!(
            "SELECT sum(aid) AS n FROM pgbench_history \\gset\n\\shell echo :n > {}",
            out.display()
        );
        run_on(
            &url,
            &of(&text, &[("check", "none")]),
            &RunPlan { reuse: true, ..crate::run_on::plan(1, 1) },
        );
        std::fs::read_to_string(out).expect("the sum was written")
    };
    assert_eq!(drawn(7), drawn(7));
    assert_ne!(drawn(7), drawn(8));
}

#[test]
fn a_script_may_create_its_own_tables() {
    holds(
        "CREATE TABLE IF NOT EXISTS mine (n INTEGER);
INSERT INTO mine VALUES (:client_id + 5);
SELECT min(n) AS n FROM mine \\gset
\\set x 1 / (:n - 4)",
    );
    let why = fails("SELECT n FROM nowhere;");
    assert!(why.contains("a.sql:1 SELECT n") && why.contains("no such table"), "{why}");
}

#[test]
fn errors_in_a_script_name_their_line() {
    for (text, expected) in [
        ("SELECT 1;\n\\set x 1 / 0", "a.sql:2: division by zero"),
        ("SELECT :nope;", "a.sql:1: the variable :nope has no value"),
        ("BEGIN;\nSELECT 1;", "left a transaction open"),
        ("\\sleep :nope s", "a.sql:1: the variable :nope has no value"),
        ("SELECT 1;\n\nINSERT INTO pgbench_branches (bid) VALUES (1);", "a.sql:3 INSERT INTO"),
    ] {
        let why = fails(text);
        assert!(why.contains(expected), "{text}: {why}");
    }
}

#[test]
fn bad_scripts_are_refused_before_anything_runs() {
    for (text, expected) in [
        ("SELECT 1;\n\\set x 1 @ 2", "a.sql:2:10: the character '@'"),
        ("\\set 1a 3", "a.sql:1:6: \"1a\" is not a valid name of a variable"),
        ("\\set x", "a.sql:1:7: an expression is expected"),
        ("\\set", "a.sql:1:1: \\set takes a variable and an expression"),
        ("\\foo", "a.sql:1:1: there is no command \\foo"),
        ("SELECT 1;\n\\if 1", "a.sql:2:1: this \\if has no \\endif"),
        ("\\endif", "a.sql:1:1: \\endif has no matching \\if"),
        ("\\elif 1", "a.sql:1:1: \\elif has no matching \\if"),
        ("\\if 1\n\\else\n\\else\n\\endif", "a.sql:3:1: \\else comes after an \\else"),
        ("\\sleep 3 h", "a.sql:1:10: \"h\" is not a unit of \\sleep"),
        ("\\sleep 1xs", "a.sql:1:9: \"xs\" is not a unit of \\sleep"),
        ("\\sleep", "a.sql:1:1: \\sleep takes a time"),
        ("\\sleep x ms", "a.sql:1:8: "),
        ("\\gset", "a.sql:1:1: \\gset follows no statement"),
        ("SELECT 1 AS a \\gset\n\\gset", "a.sql:2:1: \\gset follows no statement"),
        ("SELECT 1 AS x \\gset a b", "a.sql:1:23: \\gset takes at most one argument"),
        ("SELECT 1 AS a \\gset 1x", "a.sql:1:21: no valid name of a variable"),
        (
            "\\startpipeline\nSELECT 1 AS a \\gset\n\\endpipeline",
            "a.sql:2:15: \\gset cannot be used in a pipeline",
        ),
        ("\\endpipeline", "a.sql:1:1: \\endpipeline is outside a pipeline"),
        ("\\startpipeline x", "a.sql:1:16: \\startpipeline takes no argument"),
        ("\\setshell x", "a.sql:1:1: \\setshell takes a variable and a command"),
        ("SELECT 'a", "a.sql:1:8: this quote is not closed"),
        ("\\set id 1\nSELECT 'a:id';", "a.sql:2:10: the variable :id is in quotes"),
        ("-- nothing", "a script has no commands"),
    ] {
        let (_folder, path) = script(text);
        let options = [("file".to_owned(), path)];
        let refused = AnyWorkload::parse("script", &options).expect_err(text).to_string();
        assert!(refused.contains(expected), "{text}: {refused}");
        assert_eq!(refused.lines().count(), 1, "{refused}");
    }
}

#[test]
fn bad_options_are_refused_in_a_sentence() {
    for (options, expected) in [
        (&[("file", "no/such.sql")][..], "the script no/such.sql cannot be read"),
        (&[("builtin", "s")], "several built-in scripts begin with \"s\""),
        (&[("builtin", "none")], "no script is left to run"),
        (&[("builtin", "tpcb-like@0")], "no script is left to run"),
        (&[("builtin", "tpcb-like@x")], "is not a script or a script with its weight"),
        (&[("builtin", "tpcb-like@-1")], "is not a script or a script with its weight"),
        (&[("define", "1a=2")], "\"1a=2\" is not a variable with its value"),
        (&[("scale", "0")], "it takes a whole number from 1 to 20000"),
        (&[("check", "maybe")], "it takes sums or none"),
    ] {
        let owned = options.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
        let owned: Vec<_> = owned.collect();
        let refused = AnyWorkload::parse("script", &owned).expect_err(expected).to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn weights_choose_and_a_weight_of_zero_leaves_out() {
    let (folder, first) = script("SELECT 1;");
    let second = Path::new(folder.path()).join("b.sql").display().to_string();
    std::fs::write(&second, "SELECT 2;").expect("the script is written");
    let files = format!("{first}@3,{second},{first}@0");
    let load = workload("script", &[("file", &files)]);
    assert_eq!(load.transactions(), [first.as_str(), second.as_str()]);
    assert!(load.loads().is_empty(), "no script names a table of pgbench's");
    assert_eq!(load.notice(), None);
    let result = run_on("null", &load, &plan(2, 8_000));
    let share = result.transactions[0].outcomes.committed as f64 / 8_000.0;
    // Six standard deviations of the binomial distribution.
    assert!((share - 0.75).abs() < 0.03, "{share}");
}
