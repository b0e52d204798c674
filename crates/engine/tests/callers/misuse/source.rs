//! The public functions declared in the sources, as `Type::function`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// All of them.
pub(super) fn public_functions() -> BTreeSet<String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut functions = BTreeSet::new();
    read_folder(&sources, &mut functions);
    functions
}

fn read_folder(folder: &Path, functions: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("the sources exist") {
        let path = entry.expect("the sources can be listed").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !["tests", "models", "simulation"].contains(&name.as_str()) {
                read_folder(&path, functions);
            }
        } else if path.extension().is_some_and(|ending| ending == "rs")
            && !["fuzzing.rs", "tests.rs"].contains(&name.as_str())
        {
            read_file(&fs::read_to_string(&path).expect("a source is text"), functions);
        }
    }
}

/// Functions are in an `impl` that begins at the start of a line, in the macro of calls, or free.
fn read_file(text: &str, functions: &mut BTreeSet<String>) {
    let mut owner = String::new();
    for line in text.lines() {
        if let Some(of) = impl_of(line) {
            owner = of;
        } else if line.starts_with("macro_rules! common_calls") {
            "common_calls!".clone_into(&mut owner);
        } else if line.starts_with('}') {
            owner.clear();
        }
        let Some(function) = function_of(line) else {
            continue;
        };
        if owner.is_empty() {
            functions.insert(function.to_owned());
        } else {
            functions.insert(format!("{owner}::{function}"));
        }
    }
}

/// The type of an `impl`, without its parameters.
fn impl_of(line: &str) -> Option<String> {
    let rest = line.strip_prefix("impl")?;
    let rest = rest
        .strip_prefix('<')
        .map_or(Some(rest), |parameters| Some(&parameters[parameters.find("> ")? + 1..]))?;
    let of = rest.rsplit(" for ").next()?.trim_start();
    Some(of.split(['<', ' ']).next()?.to_owned())
}

fn function_of(line: &str) -> Option<&str> {
    let mut rest = line.trim_start().strip_prefix("pub ")?;
    for word in ["const ", "async ", "unsafe "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    rest.strip_prefix("fn ")?.split(['(', '<']).next()
}

#[test]
fn functions_of_types_of_macros_and_free_ones_are_parsed() {
    let mut functions = BTreeSet::new();
    let text = "impl<D: Disk> Database<D> {\n    pub fn open(&self) {}\n    pub(crate) fn own() {}\n}\n\
        impl<'v> Change<'v> {\n    pub const fn set<T>() {}\n}\npub fn asc() {}\n\
        macro_rules! common_calls {\n    () => {\n        pub fn get() {}\n    };\n}\n";
    read_file(text, &mut functions);
    let expected = ["Change::set", "Database::open", "asc", "common_calls!::get"];
    assert!(functions.iter().map(String::as_str).eq(expected), "{functions:?}");
}
