//! The documents: titles, links, and the tests and crates that they name.

use crate::sources::{documents, folders, outside_code, root, sources};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

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

/// The relative links of a document, without anchors.
fn links(text: &str) -> Vec<String> {
    let text: String = outside_code(text).collect::<Vec<_>>().join("\n");
    let ends = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    ends.filter(|link| !link.contains("://") && !link.starts_with('#'))
        .map(|link| link.split('#').next().unwrap_or_default().to_owned())
        .collect()
}
