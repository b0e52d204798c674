//! The layers: which crate may depend on which, and which module imports which.

use crate::sources::{code_lines, folders, gather, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The dependencies of each crate on others of the workspace: exactly these, and each of them is used.
const DEPENDENCIES: &[(&str, &[&str])] = &[
    ("instrument", &[]),
    ("vfs", &[]),
    ("engine-derive", &[]),
    ("engine", &["engine-derive", "vfs", "instrument"]),
    ("profile", &["instrument"]),
    ("contract", &["instrument"]),
    ("host", &["instrument"]),
    ("profiler", &["host", "instrument", "profile"]),
    ("launcher", &["contract"]),
    ("record", &["instrument", "profile"]),
    ("record-index", &["record"]),
    ("dump", &["vfs", "engine"]),
    ("stores", &["contract", "vfs", "engine", "instrument", "launcher"]),
    ("testkit", &["contract", "instrument", "launcher"]),
    ("workloads", &["contract"]),
    ("probe", &["vfs", "host", "instrument", "record"]),
    ("runner", &["contract", "host", "instrument", "profile", "profiler", "record"]),
    ("history", &["contract"]),
    ("verify", &["contract", "history", "vfs", "instrument", "launcher", "stores"]),
    ("report", &["profile", "record"]),
    ("benchmark", &["contract", "runner", "stores", "workloads"]),
    ("console", &["contract", "instrument", "profile", "record", "report", "runner"]),
    (
        "compat",
        &[
            "benchmark",
            "console",
            "contract",
            "instrument",
            "profile",
            "record",
            "report",
            "runner",
            "stores",
            "workloads",
        ],
    ),
    (
        "cli",
        &[
            "benchmark",
            "compat",
            "console",
            "contract",
            "dump",
            "engine",
            "vfs",
            "host",
            "instrument",
            "launcher",
            "probe",
            "profile",
            "profiler",
            "record",
            "record-index",
            "record-index",
            "report",
            "runner",
            "stores",
            "verify",
            "workloads",
        ],
    ),
];

/// The folders of the runner, each of which imports only those before it. Files outside them belong to all.
const RUNNER_LAYERS: &[&str] = &["account", "drive", "coordinate"];

#[test]
fn crates_have_the_listed_dependencies_and_use_each_of_them() {
    let listed: BTreeMap<&str, BTreeSet<String>> = DEPENDENCIES
        .iter()
        .map(|(name, on)| (*name, on.iter().map(|&on| on.to_owned()).collect()))
        .collect();
    let crates = folders(&root().join("crates"));
    let known: BTreeSet<String> = listed.keys().map(|&name| name.to_owned()).collect();
    assert_eq!(
        crates, known,
        "a crate was added or removed: change DEPENDENCIES and ARCHITECTURE.md"
    );
    for name in &crates {
        let declared: BTreeSet<String> = dependencies(name).into_iter().collect();
        assert_eq!(
            declared,
            listed[name.as_str()],
            "crates/{name}/Cargo.toml has other dependencies than DEPENDENCIES allows: move the code, or change \
             the list with a decision record"
        );
        let mut texts = Vec::new();
        gather(&root().join("crates").join(name).join("src"), "rs", &mut texts);
        for on in declared {
            let path = format!("syncline_{}", on.replace('-', "_"));
            assert!(
                texts.iter().any(|(_, text)| code_lines(text).any(|line| line.contains(&path))),
                "crates/{name} depends on {on} but does not use it: remove the dependency"
            );
        }
    }
}

#[test]
fn folders_of_the_runner_import_downward() {
    let mut texts = Vec::new();
    gather(&root().join("crates/runner/src"), "rs", &mut texts);
    for (layer, folder) in RUNNER_LAYERS.iter().enumerate() {
        let below = |path: &str| path.starts_with(&format!("crates/runner/src/{folder}/"));
        let files: Vec<_> = texts.iter().filter(|(path, _)| below(path)).collect();
        assert!(!files.is_empty(), "crates/runner/src/{folder} has no files: change RUNNER_LAYERS");
        for (path, text) in files {
            for above in &RUNNER_LAYERS[layer + 1..] {
                assert!(
                    !crate_paths(text).contains(*above),
                    "{path} imports {above}: move what it uses down into {folder}, or the file up"
                );
            }
        }
    }
    for (path, text) in texts {
        let is_outside = !RUNNER_LAYERS.iter().any(|folder| path.contains(&format!("/{folder}/")));
        let imported = crate_paths(&text);
        let layer = RUNNER_LAYERS.iter().find(|folder| imported.contains(**folder));
        assert!(
            !is_outside || layer.is_none(),
            "{path} belongs to all layers and imports {layer:?}"
        );
    }
}

#[test]
fn paths_into_the_crate_are_found_however_they_are_written() {
    let text = "//! crate::prose\nuse crate::one::Item;\nuse crate::{two, three::{Item, four}, five as six};\n\
                pub(in crate::seven) fn f() { crate::eight::g(\"x\") }\nuse mycrate::nine;\n\
                use crate::{\n    ten::Item,\n};\nuse super::super::eleven::Item;\n";
    let found = crate_paths(text);
    let expected = ["eight", "eleven", "five", "one", "seven", "ten", "three", "two"];
    assert_eq!(found, expected.map(str::to_owned).into());
}

/// The modules at the root of a crate that a file of one of its folders names, in imports or in full paths.
fn crate_paths(text: &str) -> BTreeSet<String> {
    let lines = text.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
    let code = lines.collect::<Vec<_>>().join(" ");
    let code = code.replace("super::super::", "crate::");
    let word = |sign: char| sign.is_alphanumeric() || sign == '_';
    let mut found = BTreeSet::new();
    for (at, path) in code.match_indices("crate::") {
        if code[..at].ends_with(word) {
            continue;
        }
        let rest = &code[at + path.len()..];
        let group = rest.strip_prefix('{');
        let mut depth = 0_usize;
        let mut name = String::new();
        let mut named = false;
        for sign in group.unwrap_or(rest).chars() {
            if depth == 0 && !named && word(sign) {
                name.push(sign);
                continue;
            }
            if sign == ' ' && name.is_empty() {
                continue;
            }
            if !name.is_empty() {
                found.insert(std::mem::take(&mut name));
            }
            named = true;
            match sign {
                _ if group.is_none() => break,
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => named = false,
                _ => {}
            }
        }
    }
    found
}

/// The layers of the engine: the errors and the log are below the transactions.
#[test]
fn errors_and_the_log_of_the_engine_know_no_transactions() {
    let engine = root().join("crates/engine/src");
    let mut texts = Vec::new();
    gather(&engine.join("log"), "rs", &mut texts);
    assert!(texts.len() > 20, "the files of the log were found");
    for name in ["error.rs", "conflict.rs"] {
        let text = fs::read_to_string(engine.join(name)).expect("a file of the engine");
        texts.push((format!("crates/engine/src/{name}"), text));
    }
    for (path, text) in texts {
        let is_above = crate_paths(&text).contains("txn");
        assert!(!is_above, "{path} imports `txn`, which is above it: move what it uses below");
    }
}

/// B.F14, B.F9: a method with a default answer that a wrapper does not forward would silently answer wrongly
/// for every store behind it.
#[test]
fn wrappers_of_targets_forward_every_method() {
    let asked = functions("crates/contract/src/target.rs", "pub trait Target");
    assert!(asked.len() > 20, "{asked:?}");
    for (path, begins) in [
        ("crates/cli/src/registry.rs", "impl<T: Target> Target for EitherTarget"),
        ("crates/stores/src/any_target.rs", "impl Target for AnyTarget"),
    ] {
        let forwarded = functions(path, begins);
        let missing: Vec<_> = asked.difference(&forwarded).collect();
        assert!(missing.is_empty(), "{path} does not forward {missing:?}");
    }
}

/// The files of `crates/stores/src` that know every store; every other file belongs to one store or to none.
const KNOW_EVERY_STORE: &[&str] = &["any_target.rs", "lib.rs", "private_url.rs", "registry.rs"];

#[test]
fn no_store_knows_the_sum_of_all_stores() {
    let folder = "crates/stores/src";
    let mut texts = Vec::new();
    gather(&root().join(folder), "rs", &mut texts);
    for (path, text) in texts {
        let short = path.trim_start_matches(folder).trim_start_matches('/');
        let sums = ["any_target", "AnyTarget", "AnySession", "AnyWorker"];
        let named = code_lines(&text).find(|line| sums.iter().any(|sum| line.contains(sum)));
        assert!(
            named.is_none() || KNOW_EVERY_STORE.contains(&short),
            "{path} names the sum of all stores ({named:?}): return the store's own type, and wrap it in registry.rs"
        );
    }
}

/// The names of the functions in a block of a file, up to the line that closes it.
fn functions(path: &str, begins: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join(path)).expect("a file of the workspace");
    let start = text.find(begins).unwrap_or_else(|| panic!("{path} has no {begins}"));
    let indent = text[..start].len() - text[..start].trim_end_matches(' ').len();
    let close = format!("\n{}}}\n", " ".repeat(indent));
    let end = text[start..].find(&close).map_or(text.len(), |length| start + length);
    let lines = text[start..end].lines().map(str::trim_start);
    let names = lines.filter_map(|line| {
        let rest = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?;
        let name = rest.split(['(', '<']).next()?;
        Some(name.to_owned())
    });
    names.collect()
}

#[test]
fn dependencies_are_read_from_the_manifest_without_those_of_tests() {
    let manifest = "[dependencies]\nsyncline-engine = { workspace = true }\nserde = \"1\"\n\
                    [dev-dependencies]\nsyncline-cli = { workspace = true }\n";
    assert_eq!(dependencies_in(manifest), ["engine"]);
}

fn dependencies(name: &str) -> Vec<String> {
    let manifest = root().join("crates").join(name).join("Cargo.toml");
    dependencies_in(&fs::read_to_string(manifest).expect("every crate has a manifest"))
}

/// The workspace crates in `[dependencies]`. Dev-dependencies do not count, since tests may use any crate
/// below them.
fn dependencies_in(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section == "[dependencies]"
            && let Some(rest) = line.strip_prefix("syncline-")
        {
            found.push(rest.split([' ', '=', '.']).next().unwrap_or_default().to_owned());
        }
    }
    found
}
