//! A small survey: probe, load, probe again, table, sentences, report, records.

use crate::support::{figure, folder, left_behind, records, syncline};

#[test]
fn an_alias_withholds_the_product_of_its_target_only() {
    let folder = folder();
    let line = "survey --clients 1 --repeat 1 --duration 100ms --warm-up 0 --alias StoreA --on \
                lmdb:there --json";
    let result = syncline(folder.path(), line);
    assert_eq!(result.code, 0, "{result:?}");
    let all = result.json();
    let runs = &all.as_array().unwrap()[1..];
    let named = |name: &str| runs.iter().filter(|run| run["target"]["name"] == name).count();
    assert_eq!((runs.len(), named("StoreA")), (4, 1));
    for file in records(folder.path()) {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.display().to_string();
        for word in ["lmdb", "LMDB"] {
            assert!(!text.contains(word) && !name.contains(word), "{word} in {name}: {text}");
        }
    }
}

#[test]
fn a_survey_compares_stores_with_the_sync_line_of_a_real_disk() {
    let folder = folder();
    let line = "survey --clients 1,4 --repeat 2 --duration 200ms --warm-up 0 --json";
    let result = syncline(folder.path(), line);
    assert_eq!(result.code, 0, "{result:?}");
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
    let all = result.json();
    let (probe, runs) = all.as_array().unwrap().split_first().unwrap();
    assert_eq!(probe["kind"], "probe");
    assert!(figure(probe, "sync_line.line_1") > 0.0);
    assert!(figure(probe, "sync_line.line_max") > 0.0);
    assert_eq!(
        runs.len(),
        6,
        "the engine, SQLite by threads and by queue, with two numbers of clients"
    );
    for run in runs {
        assert_eq!(run["survey"], probe["survey"]);
        assert!(figure(run, "throughput_per_s") > 0.0);
        assert!(figure(run, "sync_line.line_1") > 0.0);
        assert!(!run["sync_line"]["after"].as_array().unwrap().is_empty());
        assert!(
            run["checks"].as_array().unwrap().iter().all(|check| check["outcome"] != "violated")
        );
    }
    assert_eq!(records(folder.path()).len(), all.as_array().unwrap().len());
    let files: Vec<String> =
        records(folder.path()).iter().map(|path| path.display().to_string()).collect();
    let shown = syncline(folder.path(), &format!("show {}", files.join(" ")));
    assert_eq!(shown.code, 0, "{shown:?}");
    for words in ["disk syncs", "x disk (max)", "sqlite", "engine", "Not known here"] {
        assert!(shown.out.contains(words), "{words}: {}", shown.out);
    }
    // D15: the survey has its own id, which names all its records.
    let id = probe["survey"].as_str().unwrap();
    assert!(all.as_array().unwrap().iter().all(|one| one["id"] != id), "{id}");
    let again = syncline(folder.path(), &format!("show --json {id}"));
    assert_eq!(again.json().as_array().unwrap().len(), all.as_array().unwrap().len());
    assert_eq!(again.json()[0]["kind"], "probe", "its probe comes first");
    let member = runs[0]["id"].as_str().unwrap();
    assert_eq!(syncline(folder.path(), &format!("show --json {member}")).json()["id"], member);
    let listed = syncline(folder.path(), "list runs");
    let row = |line: &&str| line.contains("survey: ") && line.trim_end().ends_with(id);
    assert!(listed.out.lines().any(|line| row(&line)), "{listed:?}");
    let page = syncline(folder.path(), &format!("show --html survey.html {id}"));
    assert_eq!(page.code, 0, "{page:?}");
    let text = std::fs::read_to_string(folder.path().join("survey.html")).unwrap();
    assert!(text.contains("<title>Syncline survey: "), "{text}");
    let page = std::fs::read_dir(folder.path().join("syncline-runs")).unwrap();
    let page = page.map(|entry| entry.unwrap().path());
    assert_eq!(page.filter(|path| path.extension().is_some_and(|e| e == "html")).count(), 1);
}
