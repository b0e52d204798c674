//! `probe --for`: the form of its answer on real directories, and its exit codes. No test expects a speed.

use crate::support::{folder, left_behind, records, syncline};

#[test]
fn a_verdict_has_a_word_figures_and_the_exit_code_that_belongs_to_it() {
    let folder = folder();
    let result = syncline(folder.path(), "probe --for etcd,hana . --duration 300ms --json");
    let record = result.json();
    let verdicts = record["fitness"].as_array().unwrap();
    let names: Vec<_> = verdicts.iter().map(|verdict| &verdict["product"]).collect();
    assert_eq!(names, ["etcd", "hana"]);
    let words: Vec<_> = verdicts.iter().map(|verdict| verdict["word"].as_str().unwrap()).collect();
    let expected = match () {
        () if words.contains(&"unfit") => 1,
        () if words.contains(&"not known") => 2,
        () => 0,
    };
    assert_eq!(result.code, expected, "{words:?}: {}", result.err);
    let wal = &verdicts[0]["shapes"][0];
    assert_eq!(wal["windows"].as_array().unwrap().len(), 3, "{wal}");
    assert_eq!(wal["operation"], "2300 B, fdatasync");
    assert!(wal["thresholds"][0]["source"].as_str().unwrap().contains("etcd FAQ"));
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
    assert_eq!(records(folder.path()).len(), 1);
}

#[test]
fn several_directories_are_in_one_table_and_one_in_memory_is_unfit() {
    let folder = folder();
    let memory = std::path::Path::new("/dev/shm");
    if !memory.is_dir() {
        return;
    }
    let result = syncline(folder.path(), "probe --for postgres --duration 200ms . /dev/shm");
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.out.contains("PostgreSQL in /dev/shm: unfit"), "{result:?}");
    assert!(result.out.contains("not durable: tmpfs keeps its files in memory"), "{result:?}");
    assert_eq!(result.out.matches("verdict").count(), 1, "one table: {result:?}");
    assert_eq!(records(folder.path()).len(), 2);
}

#[test]
fn all_products_are_measured_by_one_word() {
    let folder = folder();
    let result = syncline(folder.path(), "probe --for all --duration 500ms --json");
    let record = result.json();
    let names = record["fitness"].as_array().unwrap().len();
    assert_eq!(names, 9, "{record}");
}
