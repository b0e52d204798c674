//! The form of source files: where `unsafe` may be, the head of a file, short lines, and the tables of large
//! folders.

use crate::sources::{code_lines, documents, root, sources};
use std::collections::BTreeMap;

/// The files that may contain `unsafe`, each for one kind of reason.
const UNSAFE: &[&str] = &[
    "crates/vfs/src/real/file_range.rs",
    "crates/vfs/src/real/batch.rs",
    "crates/vfs/src/real/read_queue.rs",
    "crates/vfs/src/real/transfer_ring.rs",
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
        // The entry of a derive macro must be in the root of its crate.
        let holds = holds && !text.contains("\n#[proc_macro_derive(");
        assert!(
            !is_root || test || !holds,
            "{path}: lib.rs and mod.rs contain only documentation, `mod` and `use`"
        );
    }
}

#[test]
fn lines_are_short_and_files_end_in_one_newline() {
    let mut texts = sources();
    texts.extend(documents());
    for (path, text) in texts {
        for (number, line) in text.lines().enumerate() {
            let location = format!("{path}:{}", number + 1);
            assert!(!line.ends_with(' '), "{location}: space at the end of the line");
            let is_prose = line.trim_start().starts_with("//")
                && !line.contains("//! |")
                && !line.contains("/// |");
            assert!(
                !is_prose || line.chars().count() <= 110,
                "{location}: a comment longer than 110 characters"
            );
        }
        assert!(
            text.ends_with('\n') && !text.ends_with("\n\n"),
            "{path}: must end in exactly one newline"
        );
    }
}

/// A folder with at least this many source files has a table of them.
const LARGE_FOLDER_FILES: usize = 8;

#[test]
fn large_folders_have_a_table_of_their_files() {
    let mut folders: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let texts: BTreeMap<String, String> = sources().into_iter().collect();
    for path in texts.keys() {
        let (folder, file) = path.rsplit_once('/').expect("a path below the root");
        if !["mod.rs", "lib.rs", "main.rs"].contains(&file) {
            folders.entry(folder.to_owned()).or_default().push(file.to_owned());
        }
    }
    let large = folders.iter().filter(|(_, files)| files.len() >= LARGE_FOLDER_FILES);
    let mut missing = Vec::new();
    for (folder, files) in large {
        let head = ["mod.rs", "lib.rs", "main.rs"];
        let head = head.iter().find_map(|name| texts.get(&format!("{folder}/{name}")));
        // Each file of `tests/` is a program of its own and has no module above it.
        let Some(head) = head else { continue };
        let rows: Vec<&str> = head.lines().filter(|line| line.starts_with("//! |")).collect();
        let in_table = |file: &&String| {
            let name = file.trim_end_matches(".rs");
            let named = [format!("`{name}`"), format!("`{file}`"), format!("[`{name}`]")];
            rows.iter().any(|row| named.iter().any(|named| row.contains(named)))
        };
        let not_in_table: Vec<_> = files.iter().filter(|file| !in_table(file)).collect();
        if !not_in_table.is_empty() {
            missing.push(format!("{folder}: {not_in_table:?}"));
        }
    }
    assert!(
        missing.is_empty(),
        "a folder of {LARGE_FOLDER_FILES} or more files has the table \"file | what it holds\" in its mod.rs; \
         missing there:\n{}",
        missing.join("\n")
    );
}
