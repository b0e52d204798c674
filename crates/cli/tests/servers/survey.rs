//! A survey with servers and embedded stores: one table, each compared with the sync line of its own log.

use crate::support::{folder, left_behind, syncline};
use serde_json::Value;

#[test]
fn a_survey_compares_private_servers_with_the_sync_line_of_their_own_log() {
    let folder = folder();
    let line = "survey --on postgres:private --on mariadb:private --clients 1,2 --repeat 1 --duration 300ms \
                --warm-up 100ms --json";
    let result = syncline(folder.path(), line);
    assert!(result.code < 2, "{result:?}");
    let records = result.json();
    let records = records.as_array().unwrap();
    let runs: Vec<&Value> = records.iter().filter(|one| one["kind"] == "run").collect();
    for name in ["engine", "sqlite", "postgres", "mariadb"] {
        let of: Vec<_> = runs.iter().filter(|run| run["target"]["name"] == name).collect();
        assert!(of.len() >= 2, "{name}: {} steps", of.len());
        for run in of {
            assert_eq!(run["target"]["durability"], "data", "{name}");
            assert!(run["outcomes"]["committed"].as_u64().unwrap() > 0, "{name}");
            let line = &run["sync_line"];
            assert!(line["line_1"].as_f64().is_some(), "{name}: {line}");
            assert_eq!(line["directory"], run["target"]["log_directory"], "{name}");
        }
    }
    let probed: Vec<&Value> = records.iter().filter(|one| one["kind"] == "probe").collect();
    assert_eq!(probed.len(), 3, "the current directory and two log directories");
    let shown = syncline(folder.path(), &format!("show {}", all_records(folder.path())));
    let table = shown.out.as_str();
    let (_, together) = table
        .split_once("every store with the sync rate of its log's disk")
        .unwrap_or_else(|| panic!("no table of all stores: {table}"));
    for name in ["engine", "sqlite", "postgres", "mariadb"] {
        let rows = together.lines().filter(|line| line.starts_with(name));
        assert!(rows.count() >= 2, "{name}: {together}");
    }
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}

fn all_records(folder: &std::path::Path) -> String {
    let paths = crate::support::records(folder);
    let paths = paths.iter().map(|path| path.display().to_string());
    paths.collect::<Vec<_>>().join(" ")
}
