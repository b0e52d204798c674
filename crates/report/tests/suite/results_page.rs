//! The page of a folder of records from many machines.

use crate::fixture;
use crate::views::fitness_probes;
use std::fs;
use std::path::Path;
use syncline_record::{Record, list, share, units};
use syncline_report::html;

/// The records with file names that need escapes.
pub(crate) fn named(records: &[Record]) -> Vec<(String, Record)> {
    let numbered = records.iter().enumerate();
    numbered.map(|(number, record)| (format!("{number} a&b.jsonl"), record.clone())).collect()
}

#[test]
fn the_page_of_a_folder_has_a_row_with_a_link_for_each_probe_and_run() {
    let probes = fitness_probes().into_iter().map(Record::from);
    let records = named(&fixture::survey().into_iter().chain(probes).collect::<Vec<_>>());
    let page = html::results(&records);
    for (number, (_, record)) in records.iter().enumerate() {
        let link = format!("href=\"{number}%20a%26b.jsonl\"");
        assert_eq!(page.matches(&link).count(), 1, "{link}");
        if let Record::Run(run) = record {
            let rate = units::rate(run.end.throughput_per_s);
            assert!(page.contains(&format!("<b>{rate}</b>")), "{rate}");
        }
    }
    assert!(page.contains("<b>unfit</b>: etcd"), "{page}");
    assert!(!page.contains("id=\"records\""), "the records are in their files");
    let empty = html::results(&[]);
    assert!(empty.contains("No records."), "{empty}");
}

/// The records of `results/` and the page that is published with them.
#[test]
fn the_published_results_are_shared_records_and_their_page() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    let records: Vec<(String, Record)> = list(&folder)
        .unwrap()
        .into_iter()
        .map(|file| {
            let name = file.path.file_name().unwrap().to_string_lossy().into_owned();
            (name, file.record.unwrap())
        })
        .collect();
    assert!(!records.is_empty());
    for (name, record) in &records {
        assert_eq!(&share(record), record, "{name}: make it with syncline show --share --json");
    }
    let page = fs::read_to_string(folder.join("index.html")).unwrap();
    let remake = "syncline list runs --runs results --html results/index.html";
    assert!(page == html::results(&records), "the page is old: {remake}");
}
