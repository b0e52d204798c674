//! `verify durability`: what it prints, what it writes, how it ends.

use crate::support::{Said, folder, left_behind, say};
use std::path::Path;
use syncline_verify::power::Mount;

/// True where a file system of ours can be mounted; else power loss is not simulated, and nothing claimed.
fn loses_power() -> bool {
    Mount::refusal().is_none()
}

const SMALL: &str = "--images 20 --control-images 10 --kills 1 --load 300ms --no-faults";

fn small(folder: &Path, line: &str) -> Said {
    say(folder, &format!("verify durability {line} {SMALL}"))
}

#[test]
fn a_setting_that_holds_ends_with_0_and_says_what_is_not_known() {
    let folder = folder();
    let said = small(folder.path(), "sqlite");
    if !loses_power() {
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.out.contains("process kills alone"), "{said:?}");
        return;
    }
    assert_eq!(said.code, 0, "{said:?}");
    let first = said.out.lines().next().unwrap();
    assert!(
        first.contains(
            "survived 2 cuts (of kind simulated power loss; 20 crash images) and 1 process kill:"
        ),
        "{first}"
    );
    assert!(said.out.contains("Not known from here"), "{said:?}");
    assert!(
        said.out
            .contains("Control WAL, synchronous=OFF (must lose): did"),
        "{said:?}"
    );
    assert!(said.err.contains("record: syncline-runs/"), "{said:?}");
    assert_eq!(
        left_behind(folder.path()),
        Vec::<String>::new(),
        "nothing else stays"
    );
}

#[test]
fn a_setting_that_loses_ends_with_1_if_it_must_hold_and_keeps_images_that_fail_again() {
    let folder = folder();
    if !loses_power() {
        println!("not tested here: no file system of ours can be mounted");
        return;
    }
    let said = small(folder.path(), "sqlite?durability=os --must-hold");
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains(": not durable: "), "{said:?}");
    assert!(said.err.contains("not durable"), "{said:?}");
    assert_eq!(left_behind(folder.path()), ["syncline-kept"]);
    let again = say(
        folder.path(),
        "verify durability --again syncline-kept/image-1",
    );
    assert_eq!(again.code, 1, "{again:?}");
    assert!(
        again.out.contains("Then: ") && again.out.contains("Now: "),
        "{again:?}"
    );
    let again = say(
        folder.path(),
        "verify durability --again syncline-kept/image-1 --json",
    );
    assert_eq!(again.code, 1, "{again:?}");
    let found = again.json();
    assert_eq!(found["store"], "sqlite");
    assert_eq!(found["then"]["class"], found["now"]["class"], "{found}");
}

#[test]
fn the_same_setting_ends_with_0_if_it_promises_nothing() {
    let folder = folder();
    let said = small(folder.path(), "sqlite?durability=os --json");
    assert_eq!(said.code, 0, "{said:?}");
    let record = said.json();
    assert!(
        record["verdict"]["promises_nothing"].is_string(),
        "{record}"
    );
    assert_eq!(
        (&record["store"], &record["tears"]),
        (&"sqlite".into(), &true.into())
    );
}

#[test]
fn what_is_not_ours_to_kill_is_refused_with_2_before_anything_is_made() {
    for (target, words) in [
        ("postgres://host/db", "makes one of its own"),
        ("sqlite:precious.db", "makes one of its own"),
        ("nosuchstore", "this one knows"),
        ("postgres?fsync", "has no value"),
        ("postgres?durability=much", "own settings"),
        ("sqlite --dir absent", "absent"),
    ] {
        let folder = folder();
        let said = small(folder.path(), target);
        assert_eq!(said.code, 2, "{target}: {said:?}");
        assert_eq!(said.out, "", "{target}");
        assert!(said.err.contains(words), "{target}: {said:?}");
        assert_eq!(left_behind(folder.path()), Vec::<String>::new(), "{target}");
    }
}
