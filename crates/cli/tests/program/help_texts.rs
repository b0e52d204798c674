//! Help, lists, the disk model, manual pages and completions.

use crate::support::{folder, syncline};

/// Every command with its own help; two workloads of `run`.
const VERBS: &[&str] = &[
    "",
    "survey",
    "probe",
    "probe writetest",
    "model",
    "run",
    "run insert",
    "run ycsb",
    "show",
    "compare",
    "list",
    "observe",
    "private",
    "clean",
    "engine",
    "engine inspect",
    "engine verify",
    "engine dump",
    "engine load",
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
];

#[test]
fn every_help_ends_with_two_examples() {
    let folder = folder();
    for verb in VERBS {
        let result = syncline(folder.path(), &format!("{verb} --help"));
        assert_eq!(result.code, 0, "{verb}: {result:?}");
        // At the end, where a terminal still shows them.
        let mut lines = result.out.trim_end().lines();
        let heading = lines.by_ref().find(|line| *line == "Examples:");
        assert!(heading.is_some(), "{verb}: {result:?}");
        let examples: Vec<&str> = lines.collect();
        assert!(
            examples.iter().all(|line| line.starts_with("  syncline ")),
            "{verb}: {examples:?}"
        );
        assert!(examples.len() >= 2, "{verb}: {result:?}");
        // A wrapped example could not be copied.
        assert!(examples.iter().all(|line| line.len() <= 80), "{verb}: {examples:?}");
    }
}

#[test]
fn the_model_gives_the_article_s_figures() {
    let folder = folder();
    let result = syncline(folder.path(), "model seek=8.8ms,rpm=7200,transfer=96.4MB/s,block=16k");
    assert_eq!(result.code, 0);
    assert!(result.out.contains("13.14 ms") && result.out.contains("76.1/s"), "{result:?}");
}

#[test]
fn lists_name_their_entries() {
    let folder = folder();
    for (what, words) in [
        ("targets", &["null", "sqlite", "engine", "durability"][..]),
        ("workloads", &["insert", "--commit-every"]),
        ("meters", &["sync calls", "flushes"]),
        ("runs", &["no records"]),
    ] {
        let result = syncline(folder.path(), &format!("list {what}"));
        assert_eq!(result.code, 0);
        assert!(words.iter().all(|word| result.out.contains(word)), "{what}: {result:?}");
        let long: Vec<&str> = result.out.lines().filter(|line| line.len() > 100).collect();
        assert_eq!(long, Vec::<&str>::new(), "{what}");
    }
}

// Section 5 of the users' page
#[test]
fn no_help_text_contains_a_private_word() {
    let folder = folder();
    for verb in VERBS {
        let text = syncline(folder.path(), &format!("{verb} --help")).out.to_lowercase();
        let words: Vec<&str> = text.split(|sign: char| !sign.is_alphanumeric()).collect();
        for word in [
            "look",
            "looks",
            "slice",
            "slices",
            "rung",
            "rungs",
            "spell",
            "door",
            "laboratory",
            "stands",
        ] {
            assert!(!words.contains(&word), "{verb}: {word}: {text}");
        }
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for phrase in ["in place of", "so many", "in mid-load", "drawn from", "what would be"] {
            assert!(!flat.contains(phrase), "{verb}: {phrase}: {text}");
        }
    }
}

// Section 5 of the users' page: old option names stay as hidden aliases.
#[test]
fn renamed_flags_keep_their_old_names_and_help_shows_the_new_ones() {
    let folder = folder();
    for (line, new) in [
        ("run insert --on null --meter --looks 0", "--sampling-hz"),
        ("run insert --on null --meter --sampling-hz 0", "--sampling-hz"),
        ("ycsb run --on null --meter --looks 0", "--sampling-hz"),
        ("sysbench oltp_point_select --on=null --meter --looks=0 run", "--sampling-hz"),
        ("pgbench --on null --meter --looks 0", "--sampling-hz"),
        ("survey --slices 0", "--repeat"),
        ("survey --slice 0", "--duration"),
    ] {
        let result = syncline(folder.path(), line);
        assert_eq!(result.code, 2, "{line}: {result:?}");
        assert!(result.err.contains(new), "{line}: {result:?}");
        assert!(!result.err.contains("unexpected"), "{line}: {result:?}");
    }
}

#[test]
fn the_options_of_a_run_are_in_groups() {
    let folder = folder();
    let result = syncline(folder.path(), "run tpcc --help");
    let headings = ["Options of the workload:", "Targets:", "Load:", "Repetition:"];
    let places = headings.map(|heading| result.out.find(heading).expect(heading));
    assert!(places.is_sorted(), "{result:?}");
}

#[test]
fn manual_and_completions_contain_the_commands() {
    let folder = folder();
    for line in ["manual", "completions bash", "completions zsh", "completions fish"] {
        let result = syncline(folder.path(), line);
        assert_eq!(result.code, 0);
        for verb in ["survey", "probe", "compare", "clients"] {
            assert!(result.out.contains(verb), "{line} lacks {verb}");
        }
    }
}

/// The pages that a page refers to: "syncline-run(1)".
fn references(page: &str) -> Vec<String> {
    let plain = page.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "");
    let parts = plain.match_indices("(1)").map(|(end, _)| {
        let name = plain[..end].rsplit(|sign: char| !(sign.is_alphanumeric() || sign == '-'));
        name.take(1).collect::<String>()
    });
    parts.collect()
}

// D16
#[test]
fn every_verb_has_a_manual_page_and_every_page_referred_to_exists() {
    let folder = folder();
    let result = syncline(folder.path(), "manual --to man");
    assert_eq!(result.code, 0, "{result:?}");
    let files = std::fs::read_dir(folder.path().join("man")).unwrap();
    let pages: std::collections::BTreeMap<String, String> = files
        .map(|file| {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    for verb in VERBS {
        let page = match *verb {
            "" => "syncline".to_owned(),
            verb => format!("syncline-{}", verb.replace(' ', "-")),
        };
        assert!(pages.contains_key(&page), "{page}");
    }
    let mut referred = 0;
    for (name, page) in &pages {
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "VERSION"] {
            let heading = format!(".SH {section}\n");
            assert_eq!(page.matches(&heading).count(), 1, "{section} of {name}: {page}");
        }
        let described = page.split(".SH NAME\n").nth(1).unwrap().lines().next().unwrap();
        let described = described.replace("\\-", "-");
        assert!(described.starts_with(&format!("{name} - ")), "{described}");
        let title = page.lines().find(|line| line.starts_with(".TH")).unwrap();
        assert!(title.contains(env!("CARGO_PKG_VERSION")), "{title}");
        let synopsis = page.split(".SH SYNOPSIS\n").nth(1).unwrap().lines().next().unwrap();
        let synopsis = synopsis.replace("\\-", "-");
        assert!(
            synopsis.contains(&name.replacen('-', " ", 1)) || synopsis.contains("syncline"),
            "{synopsis}"
        );
        for other in references(page) {
            assert!(pages.contains_key(&other), "{name} refers to {other}");
            referred += 1;
        }
    }
    assert!(referred > 20, "{referred}");
    let one = syncline(folder.path(), "manual run insert");
    assert_eq!(one.out, pages["syncline-run-insert"]);
    let none = syncline(folder.path(), "manual nothing");
    assert_eq!((none.code, none.out.as_str()), (2, ""), "{none:?}");
}

// 2.1 and 2.2 of the users' page
#[test]
fn the_help_of_the_program_groups_its_verbs() {
    let folder = folder();
    let result = syncline(folder.path(), "--help");
    let groups = ["Measure:", "Verify:", "Read results:", "Commands of other tools:", "Shell:"];
    let places = groups.map(|group| result.out.find(group).expect(group));
    assert!(places.is_sorted(), "{result:?}");
}
