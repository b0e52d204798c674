//! Finds the files that a user names by a path, a record's id or a survey's id, as lists and headings print
//! them.
//!
//! Record ids are searched first: where a survey of an older version has the same id as its first probe, the
//! id names that probe.

use super::writer::RUNS_FOLDER;
use crate::{Error, Result};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The file that `word` names: an existing path, or else the one record in the folder for records with that
/// id. A word that cannot be an id is a path, whether the file exists or not.
pub fn named(word: &Path) -> Result<PathBuf> {
    named_in(word, Path::new(RUNS_FOLDER))
}

/// The files that `word` names: the file of [`named`], or those of the survey with that id, its probes first.
pub fn all_named(word: &Path) -> Result<Vec<PathBuf>> {
    all_named_in(word, Path::new(RUNS_FOLDER))
}

fn named_in(word: &Path, folder: &Path) -> Result<PathBuf> {
    let mut found = all_named_in(word, folder)?;
    match found.len() {
        1 => Ok(found.remove(0)),
        count => Err(Error::SurveyNamed { id: word.display().to_string(), count }),
    }
}

fn all_named_in(word: &Path, folder: &Path) -> Result<Vec<PathBuf>> {
    let id = word.to_str().filter(|word| is_id(word));
    let Some(id) = id.filter(|_| !word.exists()) else {
        return Ok(vec![word.to_owned()]);
    };
    let found = records_with_id(id, folder);
    if found.is_empty() {
        let members = records_of_survey(id, folder);
        if !members.is_empty() {
            return Ok(members);
        }
    }
    let (id, folder) = (id.to_owned(), folder.to_owned());
    match found.len() {
        0 => Err(Error::NoRecord { id, folder }),
        1 => Ok(found),
        count => Err(Error::SameId { id, folder, count }),
    }
}

fn is_id(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The records of a folder whose names end with that id; empty if the folder does not exist.
fn records_with_id(id: &str, folder: &Path) -> Vec<PathBuf> {
    let end = format!("-{id}.jsonl");
    // A finding that an older verify wrote by itself; reading refuses it with the reason.
    let alone = format!("{id}.json");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let has_id = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.ends_with(&end) || name == alone)
    };
    paths.filter(has_id).collect()
}

/// The most bytes of a head that are read to find its survey: a head with all statements of its store needs a
/// hundredth of it.
const HEAD_MAX: u64 = 1 << 22;

/// The records of a survey, its probes first, each kind by name; empty if the folder does not exist.
fn records_of_survey(id: &str, folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let records = paths.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    let mut found: Vec<(bool, PathBuf)> = records
        .filter_map(|path| {
            let head = head(&path)?;
            let is_run = head["kind"] == "run";
            (head["survey"] == id).then_some((is_run, path))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

/// The first line of a record's file; `None` if the file cannot be read as a record.
fn head(path: &Path) -> Option<Value> {
    let mut line = Vec::new();
    let mut file = BufReader::new(File::open(path).ok()?.take(HEAD_MAX));
    file.read_until(b'\n', &mut line).ok()?;
    serde_json::from_slice(&line).ok()
}

#[cfg(test)]
mod tests {
    use super::{all_named_in, named_in};
    use std::fs;
    use std::path::Path;

    #[test]
    fn a_path_is_itself_and_an_id_is_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let of = |word: &str| named_in(Path::new(word), folder.path());
        let file = |name: &str| {
            let path = folder.path().join(name);
            fs::write(&path, "").unwrap();
            path
        };
        let first = file("2026-11-20T0915Z-insert-sqlite-8c-k3f9a.jsonl");
        file("2026-11-20T0915Z-insert-sqlite-8c-k3f9a.stacks");
        assert_eq!(of("k3f9a").unwrap(), first);
        assert_eq!(of(first.to_str().unwrap()).unwrap(), first);
        for path in ["nowhere/at/all", "k3f9a.jsonl", "8c-k3f9a", ""] {
            assert_eq!(of(path).unwrap(), Path::new(path));
        }
        let message = of("3f9a").unwrap_err().to_string();
        assert!(message.contains("no record 3f9a"), "{message}");
        file("2026-11-21T0915Z-insert-redb-8c-k3f9a.jsonl");
        let message = of("k3f9a").unwrap_err().to_string();
        assert!(message.contains("2 records have the id k3f9a"), "{message}");
    }

    #[test]
    fn an_existing_file_has_precedence_over_an_id() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x-src.jsonl"), "").unwrap();
        let existing = Path::new("src");
        assert!(existing.is_dir(), "tests run in their crate's folder");
        assert_eq!(named_in(existing, folder.path()).unwrap(), existing);
    }

    // D15
    #[test]
    fn the_id_of_a_survey_names_its_records_and_that_of_a_member_names_the_member() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, kind: &str, survey: &str| {
            let path = folder.path().join(name);
            let head = format!("{{\"kind\":\"{kind}\",\"survey\":{survey}}}\nmore");
            fs::write(&path, head).unwrap();
            path
        };
        let run = file("2026-11-20T0915Z-insert-sqlite-8c-k3f9a.jsonl", "run", "\"s9s9s\"");
        let probe = file("2026-11-20T0915Z-probe-p2p2p.jsonl", "probe", "\"s9s9s\"");
        file("2026-11-20T0916Z-insert-sqlite-8c-k4k4k.jsonl", "run", "null");
        fs::write(folder.path().join("x-torn.jsonl"), "{").unwrap();
        let all = |word: &str| all_named_in(Path::new(word), folder.path());
        assert_eq!(all("s9s9s").unwrap(), [probe.clone(), run.clone()]);
        assert_eq!(all("k3f9a").unwrap(), [run]);
        assert_eq!(all("p2p2p").unwrap(), [probe]);
        assert!(all("s8s8s").is_err());
        // Where one record is expected, the error names the survey.
        let why = named_in(Path::new("s9s9s"), folder.path()).unwrap_err();
        let why = why.to_string();
        assert!(why.contains("s9s9s is a survey of 2 records"), "{why}");
    }

    #[test]
    fn without_a_folder_there_is_no_record() {
        let error = named_in(Path::new("k3f9a"), Path::new("/nowhere/at/all")).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("/nowhere/at/all") && message.contains("list runs"), "{message}");
    }
}
