//! Which file a user means: a path, or the id of a record as lists and headings show it.

use super::writer::RUNS_FOLDER;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// The file that a word names: what stands at that path, or else the one record in the folder for records
/// that has that id. A word that can be no id is a path, whether anything is there or not.
pub fn named(word: &Path) -> Result<PathBuf> {
    named_in(word, Path::new(RUNS_FOLDER))
}

fn named_in(word: &Path, folder: &Path) -> Result<PathBuf> {
    let id = word.to_str().filter(|word| is_id(word));
    let Some(id) = id.filter(|_| !word.exists()) else {
        return Ok(word.to_owned());
    };
    let mut found = of_id(id, folder);
    let (id, folder) = (id.to_owned(), folder.to_owned());
    match found.len() {
        0 => Err(Error::NoRecord { id, folder }),
        1 => Ok(found.remove(0)),
        count => Err(Error::SameId { id, folder, count }),
    }
}

fn is_id(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The records of a folder whose names end with that id; none of a folder that is not there.
fn of_id(id: &str, folder: &Path) -> Vec<PathBuf> {
    let end = format!("-{id}.jsonl");
    // What verify wrote before its findings were records, which reading refuses with the reason.
    let alone = format!("{id}.json");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let has_id = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.ends_with(&end) || name == alone)
    };
    paths.filter(has_id).collect()
}

#[cfg(test)]
mod tests {
    use super::named_in;
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
        let said = of("3f9a").unwrap_err().to_string();
        assert!(said.contains("no record 3f9a"), "{said}");
        file("2026-11-21T0915Z-insert-redb-8c-k3f9a.jsonl");
        let said = of("k3f9a").unwrap_err().to_string();
        assert!(said.contains("2 records have the id k3f9a"), "{said}");
    }

    #[test]
    fn a_file_that_is_called_like_an_id_is_that_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x-src.jsonl"), "").unwrap();
        let there = Path::new("src");
        assert!(there.is_dir(), "tests run in their crate's folder");
        assert_eq!(named_in(there, folder.path()).unwrap(), there);
    }

    #[test]
    fn without_a_folder_there_is_no_record() {
        let said = named_in(Path::new("k3f9a"), Path::new("/nowhere/at/all")).unwrap_err();
        let said = said.to_string();
        assert!(
            said.contains("/nowhere/at/all") && said.contains("list runs"),
            "{said}"
        );
    }
}
