//! The files of the workspace that the tests read.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn folders(path: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(path).expect("the folder is there");
    let entries = entries.map(|entry| entry.expect("the folder can be read").path());
    entries.filter(|path| path.join("Cargo.toml").exists()).map(|path| name_of(&path)).collect()
}

pub(crate) fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

pub(crate) fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    gather(&root().join("crates"), "rs", &mut found);
    gather(&root().join("examples"), "rs", &mut found);
    gather(&root().join("fuzz/src"), "rs", &mut found);
    gather(&root().join("fuzz/targets"), "rs", &mut found);
    assert!(found.len() > 20, "the sources were found");
    found
}

pub(crate) fn documents() -> Vec<(String, String)> {
    let mut found = Vec::new();
    gather(&root().join("docs"), "md", &mut found);
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        let text = fs::read_to_string(root().join(name));
        found.push((name.to_owned(), text.unwrap_or_else(|error| panic!("{name}: {error}"))));
    }
    found
}

pub(crate) fn gather(folder: &Path, ending: &str, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() && name_of(&path) != "target" {
            gather(&path, ending, found);
        } else if path.extension().is_some_and(|got| got == ending) {
            let text = fs::read_to_string(&path).expect("a source is text");
            let short = path.strip_prefix(root()).expect("below the root");
            found.push((short.to_string_lossy().into_owned(), text));
        }
    }
}

/// Lines that are neither comments nor lint attributes.
pub(crate) fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| {
        let line = line.trim_start();
        !line.starts_with("//") && !line.starts_with("#!") && !line.contains('"')
    })
}

pub(crate) fn outside_code(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    text.lines().filter(move |line| {
        inside ^= line.starts_with("```");
        !inside
    })
}
