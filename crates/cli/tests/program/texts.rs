//! Help, lists, the model, the manual page and completions.

use crate::support::{folder, say};

#[test]
fn every_help_opens_with_two_examples() {
    let folder = folder();
    for verb in [
        "",
        "survey",
        "probe",
        "probe writetest",
        "model",
        "run",
        "run insert",
        "show",
        "compare",
        "list",
        "observe",
        "private",
        "clean",
        "ycsb",
        "pgbench",
        "sysbench",
        "verify",
        "verify durability",
        "verify isolation",
        "verify disk",
        "verify witness",
        "completions",
        "manual",
    ] {
        let said = say(folder.path(), &format!("{verb} --help"));
        assert_eq!(said.code, 0, "{verb}: {said:?}");
        let mut lines = said.out.lines();
        assert_eq!(lines.next(), Some("Examples:"), "{verb}: {said:?}");
        let examples: Vec<&str> = lines
            .take_while(|line| line.starts_with("  syncline "))
            .collect();
        assert!(examples.len() >= 2, "{verb}: {said:?}");
        // An example that a terminal breaks cannot be copied.
        assert!(
            examples.iter().all(|line| line.len() <= 80),
            "{verb}: {examples:?}"
        );
    }
}

#[test]
fn the_model_gives_the_article_s_figures() {
    let folder = folder();
    let said = say(
        folder.path(),
        "model seek=8.8ms,rpm=7200,transfer=96.4MB/s,block=16k",
    );
    assert_eq!(said.code, 0);
    assert!(
        said.out.contains("13.14 ms") && said.out.contains("76.1/s"),
        "{said:?}"
    );
}

#[test]
fn lists_name_what_there_is() {
    let folder = folder();
    for (what, words) in [
        ("targets", &["null", "sqlite", "engine", "durability"][..]),
        ("workloads", &["insert", "--commit-every"]),
        ("meters", &["sync calls", "flushes"]),
        ("runs", &["no records"]),
    ] {
        let said = say(folder.path(), &format!("list {what}"));
        assert_eq!(said.code, 0);
        assert!(
            words.iter().all(|word| said.out.contains(word)),
            "{what}: {said:?}"
        );
        let long: Vec<&str> = said.out.lines().filter(|line| line.len() > 100).collect();
        assert_eq!(long, Vec::<&str>::new(), "{what}");
    }
}

#[test]
fn the_flags_of_a_run_stand_in_groups() {
    let folder = folder();
    let said = say(folder.path(), "run tpcc --help");
    let headings = [
        "Options of the workload:",
        "Targets:",
        "Load:",
        "Repetition:",
    ];
    let places = headings.map(|heading| said.out.find(heading).expect(heading));
    assert!(places.is_sorted(), "{said:?}");
}

#[test]
fn manual_and_completions_know_the_verbs() {
    let folder = folder();
    for line in [
        "manual",
        "completions bash",
        "completions zsh",
        "completions fish",
    ] {
        let said = say(folder.path(), line);
        assert_eq!(said.code, 0);
        for verb in ["survey", "probe", "compare", "clients"] {
            assert!(said.out.contains(verb), "{line} lacks {verb}");
        }
    }
}
