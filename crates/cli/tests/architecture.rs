//! Tests of the architecture: the dependencies between crates, the files that may contain `unsafe`, banned
//! words, file heads, and links of the documents.
//!
//! Each message names the file, the rule and the remedy. A wrong rule is changed here, with its reason in
//! `docs/decisions/`; it is not worked around.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The dependencies of each crate on others of the workspace: exactly these, and each of them is used.
const DEPENDENCIES: &[(&str, &[&str])] = &[
    ("instrument", &[]),
    ("vfs", &[]),
    ("engine", &["vfs", "instrument"]),
    ("profile", &["instrument"]),
    ("contract", &["instrument"]),
    ("host", &["instrument"]),
    ("profiler", &["host", "instrument", "profile"]),
    ("launcher", &["contract"]),
    ("record", &["instrument", "profile"]),
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
            "vfs",
            "host",
            "instrument",
            "launcher",
            "probe",
            "profile",
            "profiler",
            "record",
            "report",
            "runner",
            "stores",
            "verify",
            "workloads",
        ],
    ),
];

/// The files that may contain `unsafe`, each for one kind of reason.
const UNSAFE: &[&str] = &[
    "crates/vfs/src/real/file_range.rs",
    "crates/vfs/src/real/uring.rs",
    "crates/engine/benches/store/pointer_chase.rs",
    "crates/engine/benches/store/peers.rs",
    "crates/engine/src/buffer/blocks.rs",
    "crates/engine/src/buffer/prefetch.rs",
    "crates/engine/src/buffer/translation.rs",
    "crates/instrument/src/ticker.rs",
    "crates/host/src/perf_event.rs",
    "crates/host/src/perf_ring_buffer.rs",
    "crates/host/src/proc/context_switches.rs",
    "crates/profiler/src/bpf/clobbered_frame_pointer.rs",
    "crates/profiler/src/tag/thread_timer.rs",
    "crates/runner/src/drive/executor/prefetch.rs",
    "crates/runner/src/drive/executor/pinned_futures.rs",
    "crates/stores/src/jdbc/jvm/call.rs",
    "crates/stores/src/lmdb.rs",
    "crates/stores/src/sqlite/raw.rs",
    "crates/stores/tests/postgres/allocations.rs",
];

/// The folders of the runner, each of which imports only those before it. Files outside them belong to all.
const RUNNER_LAYERS: &[&str] = &["account", "drive", "coordinate"];

/// Words that code, messages and documents do not use, with what to say instead.
const BANNED: &[(&str, &str)] = &[
    ("provably", "say tested, or name the evidence"),
    ("the disk lies", "say not durable: and the evidence"),
    ("tpmC", "say new-orders/min"),
    ("tpsA", "say transactions/s, derived from TPC-A"),
    ("tpsB", "say transactions/s, derived from TPC-B"),
    ("FIXME", "fix it, or open an issue"),
];

/// Private words of early versions, with the standard term. Documents use none of them outside of code;
/// `docs/glossary.md` may name them.
const BANNED_IN_DOCUMENTS: &[(&str, &str)] = &[
    ("climb", "unwind"),
    ("crew", "worker pool"),
    ("desk", "client context"),
    ("front door", "compatibility command"),
    ("furniture", "items"),
    ("in place of", "instead of"),
    ("keeper", "supervisor, or maintenance thread"),
    ("outlet", "frame writer"),
    ("overdue", "past its deadline"),
    ("ripe", "ready to flush"),
    ("rung", "step"),
    ("scout", "batched prefetch"),
    ("shelf", "registry"),
    ("so many", "the number, or n"),
    ("spell", "sampling window"),
    ("staff", "worker autotuning"),
    ("stands", "there is, or a verb"),
    ("stocker", "preallocator"),
    ("stranger", "third-party store"),
    ("to be had", "available"),
    ("twin", "replica configuration"),
    ("whoever", "the actor by name"),
];

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
            let path = format!("syncline_{on}");
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

#[test]
fn unsafe_is_only_in_listed_files() {
    for (path, text) in sources() {
        let holds =
            code_lines(&text).any(|line| line.contains("unsafe ") || line.contains("unsafe{"));
        let listed = UNSAFE.contains(&path.as_str());
        assert!(!holds || listed, "{path} contains `unsafe`: move it into a listed file");
        assert!(
            holds || !listed,
            "{path} is listed for `unsafe` but contains none: remove it from UNSAFE"
        );
    }
    for listed in UNSAFE {
        assert!(root().join(listed).exists(), "{listed} is listed for `unsafe` but does not exist");
    }
}

#[test]
fn every_file_begins_with_a_description() {
    for (path, text) in sources() {
        let opens = text.lines().next().is_some_and(|line| line.starts_with("//! "));
        assert!(opens, "{path}: the first line must say what the file is, with `//!`");
    }
}

#[test]
fn lib_rs_and_mod_rs_hold_no_items() {
    for (path, text) in sources() {
        let is_root = path.ends_with("/mod.rs") || path.ends_with("/lib.rs");
        let holds = code_lines(&text).any(|line| {
            line.trim_start().starts_with("fn ")
                || line.trim_start().starts_with("pub fn ")
                || line.trim_start().starts_with("impl ")
        });
        let test = path.contains("/tests/");
        assert!(
            !is_root || test || !holds,
            "{path}: lib.rs and mod.rs contain only documentation, `mod` and `use`"
        );
    }
}

#[test]
fn lines_are_short_and_contain_no_banned_word() {
    let mut texts = sources();
    texts.extend(documents());
    for (path, text) in texts {
        if path.ends_with("tests/architecture.rs") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let place = format!("{path}:{}", number + 1);
            assert!(!line.ends_with(' '), "{place}: space at the end of the line");
            let prose = line.trim_start().starts_with("//")
                && !line.contains("//! |")
                && !line.contains("/// |");
            assert!(
                !prose || line.chars().count() <= 110,
                "{place}: a comment longer than 110 characters"
            );
            for (word, instead) in BANNED {
                assert!(!line.contains(word), "{place}: do not use \"{word}\": {instead}");
            }
        }
        assert!(
            text.ends_with('\n') && !text.ends_with("\n\n"),
            "{path}: must end in exactly one newline"
        );
    }
}

#[test]
fn documents_use_the_standard_terms() {
    for (path, text) in documents() {
        if path.ends_with("glossary.md") {
            continue;
        }
        for line in outside_code(&text) {
            // Every other part is code within the line.
            let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join(" ");
            let words = format!(
                " {} ",
                prose.to_lowercase().replace(|sign: char| !sign.is_alphanumeric(), " ")
            );
            for (word, instead) in BANNED_IN_DOCUMENTS {
                assert!(
                    !words.contains(&format!(" {word} ")),
                    "{path}: \"{word}\" is a private word: use {instead}: {line}"
                );
            }
        }
    }
}

#[test]
fn documents_have_one_title_and_no_dead_links() {
    for (path, text) in documents() {
        let titles = outside_code(&text).filter(|line| line.starts_with("# ")).count();
        assert_eq!(titles, 1, "{path}: a document has one title");
        let folder = root().join(&path).parent().map(Path::to_owned).unwrap_or_default();
        for link in links(&text) {
            assert!(folder.join(&link).exists(), "{path}: the link {link} is broken");
        }
    }
}

#[test]
fn every_test_that_the_page_on_security_names_exists() {
    let page = fs::read_to_string(root().join("docs/security.md")).expect("the page is there");
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.ends_with("| test |"));
    let mut named = BTreeSet::new();
    for row in rows {
        let last = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        let tests: Vec<_> = last.split('`').skip(1).step_by(2).collect();
        assert!(!tests.is_empty(), "a line without a test: {row}");
        named.extend(tests.into_iter().map(str::to_owned));
    }
    assert!(named.len() > 30, "{}", named.len());
    let sources: Vec<String> = sources().into_iter().map(|(_, text)| text).collect();
    for test in named {
        let head = format!("fn {test}()");
        let found = sources.iter().any(|text| {
            text.split(&head).count() > 1
                && text.split(&head).next().is_some_and(|before| {
                    before.trim_end().rsplit('\n').take(2).any(|line| line.trim() == "#[test]")
                })
        });
        assert!(found, "docs/security.md names {test}, which is not a test");
    }
}

#[test]
fn architecture_md_names_every_crate() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is there");
    for name in folders(&root().join("crates")) {
        assert!(map.contains(&format!("`{name}`")), "ARCHITECTURE.md does not name `{name}`");
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn folders(path: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(path).expect("the folder is there");
    let entries = entries.map(|entry| entry.expect("the folder can be read").path());
    entries.filter(|path| path.join("Cargo.toml").exists()).map(|path| name_of(&path)).collect()
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
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

fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    gather(&root().join("crates"), "rs", &mut found);
    gather(&root().join("examples"), "rs", &mut found);
    gather(&root().join("fuzz/src"), "rs", &mut found);
    gather(&root().join("fuzz/targets"), "rs", &mut found);
    assert!(found.len() > 20, "the sources were found");
    found
}

fn documents() -> Vec<(String, String)> {
    let mut found = Vec::new();
    gather(&root().join("docs"), "md", &mut found);
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        let text = fs::read_to_string(root().join(name));
        found.push((name.to_owned(), text.unwrap_or_else(|error| panic!("{name}: {error}"))));
    }
    found
}

fn gather(folder: &Path, ending: &str, found: &mut Vec<(String, String)>) {
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
fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| {
        let line = line.trim_start();
        !line.starts_with("//") && !line.starts_with("#!") && !line.contains('"')
    })
}

fn outside_code(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    text.lines().filter(move |line| {
        inside ^= line.starts_with("```");
        !inside
    })
}

/// The relative links of a document, without anchors.
fn links(text: &str) -> Vec<String> {
    let text: String = outside_code(text).collect::<Vec<_>>().join("\n");
    let ends = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    ends.filter(|link| !link.contains("://") && !link.starts_with('#'))
        .map(|link| link.split('#').next().unwrap_or_default().to_owned())
        .collect()
}
