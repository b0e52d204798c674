//! The language of code, messages and documents: the field's standard terms.
//!
//! | checked | how |
//! |---|---|
//! | code | identifiers are split into words at underscores and capitals |
//! | comments and messages | by words and by phrases |
//! | documents | by words and by phrases, outside of code |
//!
//! `docs/glossary.md` and CHANGELOG.md may name a private word of an early version, and so may this file.

use crate::sources::{documents, outside_code, sources};

/// Claims and marks that no file contains, with what to say instead.
const CLAIMS: &[(&str, &str)] = &[
    ("provably", "say tested, or name the evidence"),
    ("the disk lies", "say not durable: and the evidence"),
    ("tpmC", "say new-orders/min"),
    ("tpsA", "say transactions/s, derived from TPC-A"),
    ("tpsB", "say transactions/s, derived from TPC-B"),
    ("FIXME", "fix it, or open an issue"),
];

/// Words and phrases that code, messages and documents do not use, with the standard term. A trailing `*`
/// stands for any ending.
const TERMS: &[(&str, &str)] = &[
    ("as far as", "up to, where, or if"),
    ("climb*", "unwind"),
    ("cork*", "hold or release a batch; begin_pass, end_pass"),
    ("uncork*", "hold or release a batch; begin_pass, end_pass"),
    ("crew*", "worker pool"),
    ("dear", "expensive"),
    ("dearer", "more expensive"),
    ("dearest", "most expensive"),
    ("desk*", "client context"),
    ("doors", "commands, or entry points"),
    ("foreign", "third-party, or unmanaged"),
    ("front door", "compatibility command"),
    ("furniture", "items"),
    ("hence", "so"),
    ("horizon*", "durable LSN"),
    ("in place of", "instead of"),
    ("keeper*", "supervisor, or maintenance thread"),
    ("lent", "attached, or borrowed"),
    ("lest", "so that ... not"),
    ("of ours", "our own, or managed"),
    ("outlet*", "frame writer"),
    ("overdue", "past its deadline"),
    ("recipe*", "launcher, or launch spec"),
    ("ripe", "ready to flush"),
    ("rung*", "step"),
    ("scout*", "batched prefetch"),
    ("settle*", "install, publish, or decide"),
    ("shelf", "registry"),
    ("shelves", "registries"),
    ("so many", "the number, or n"),
    ("spell", "sampling window"),
    ("spells", "sampling windows"),
    ("staff*", "worker autotuning"),
    ("stands", "there is, or a verb"),
    ("stocker*", "preallocator"),
    ("stranger*", "third-party, or unmanaged"),
    ("stub", "overflow pointer, or placeholder"),
    ("telling", "head, or sample"),
    ("thus", "so"),
    ("to be had", "available"),
    ("told", "reported, returned, or knows"),
    ("twin*", "replica configuration, or second instance"),
    ("weigh", "measure, or test the overhead"),
    ("weighed", "measured, or of the overhead test"),
    ("weighing", "overhead test"),
    ("weighs", "measures, or costs"),
    ("whoever", "the actor by name"),
];

/// Uses that stay: the end of a path, the term, and the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("tests/program/help_texts.rs", "in place of", "refuses it in help texts"),
    ("tests/program/help_texts.rs", "rung*", "refuses it in help texts"),
    ("tests/program/help_texts.rs", "so many", "refuses it in help texts"),
    ("tests/program/help_texts.rs", "spell", "refuses it in help texts"),
    ("tests/program/help_texts.rs", "stands", "refuses it in help texts"),
    ("report/tests/suite/views.rs", "spells", "refuses it in views"),
    ("report/tests/suite/views.rs", "stands", "refuses it in views"),
    ("symbols/perf_map.rs", "stub", "HotSpot names its stub routines so"),
    ("runner/src/account/warning.rs", "foreign", "the name of a warning in published records"),
];

#[test]
fn no_file_makes_a_claim_that_was_not_tested() {
    let mut texts = sources();
    texts.extend(documents());
    for (path, text) in texts.iter().filter(|(path, _)| !path.ends_with("/language.rs")) {
        for (number, line) in text.lines().enumerate() {
            for (claim, instead) in CLAIMS {
                let location = format!("{path}:{}", number + 1);
                assert!(!line.contains(claim), "{location}: do not use \"{claim}\": {instead}");
            }
        }
    }
}

#[test]
fn code_comments_and_messages_use_the_standard_terms() {
    let texts = sources().into_iter().filter(|(path, _)| !path.ends_with("/language.rs"));
    let found: Vec<String> = texts.flat_map(|(path, text)| private_words(&path, &text)).collect();
    assert!(found.is_empty(), "private words:\n{}", found.join("\n"));
}

#[test]
fn documents_use_the_standard_terms() {
    let may_name_them = |path: &str| path.ends_with("glossary.md") || path == "CHANGELOG.md";
    let texts = documents().into_iter().filter(|(path, _)| !may_name_them(path));
    let found = texts.flat_map(|(path, text)| {
        // Every other part of a line between backticks is code, which the sources' test checks.
        let prose = outside_code(&text)
            .map(|line| line.split('`').step_by(2).collect::<Vec<_>>().join(" "));
        private_words(&path, &prose.collect::<Vec<_>>().join("\n"))
    });
    let found: Vec<String> = found.collect();
    assert!(found.is_empty(), "private words:\n{}", found.join("\n"));
}

#[test]
fn every_exception_is_needed() {
    let mut texts = sources();
    texts.extend(documents());
    for (path, term, reason) in EXCEPTIONS {
        let is_used = texts.iter().any(|(name, text)| {
            name.ends_with(path) && text.lines().any(|line| contains(&words(line), term))
        });
        assert!(is_used, "{path} no longer says \"{term}\" ({reason}): remove the exception");
    }
}

#[test]
fn identifiers_are_split_into_words() {
    let found = words("let is_ripe = Scout::new(HTTPKeeper, foreign_key); // as far");
    assert_eq!(found, " let is ripe scout new httpkeeper foreign key as far ");
    assert!(contains(&found, "ripe") && contains(&found, "as far") && contains(&found, "scout*"));
    assert!(!contains(&found, "foreign"), "a foreign key is the field's word");
    assert!(!contains(&words("scoutless"), "scout") && contains(&words("scoutless"), "scout*"));
}

/// The lines that use a private word, each with its location and the standard term.
fn private_words(path: &str, text: &str) -> Vec<String> {
    let terms: Vec<_> = TERMS
        .iter()
        .filter(|(term, _)| {
            !EXCEPTIONS.iter().any(|(end, except, _)| path.ends_with(end) && except == term)
        })
        .collect();
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let words = words(line);
        for (term, instead) in &terms {
            if contains(&words, term) {
                let line = line.trim();
                found.push(format!("{path}:{}: \"{term}\": use {instead}: {line}", number + 1));
            }
        }
    }
    found
}

/// The words of a line in lower case, one space before and after each.
fn words(line: &str) -> String {
    let mut words = " ".to_owned();
    let mut was_lower = false;
    for sign in line.chars() {
        if sign.is_uppercase() && was_lower {
            words.push(' ');
        }
        was_lower = sign.is_lowercase() || sign.is_ascii_digit();
        if sign.is_alphanumeric() {
            words.extend(sign.to_lowercase());
        } else if !words.ends_with(' ') {
            words.push(' ');
        }
    }
    if !words.ends_with(' ') {
        words.push(' ');
    }
    words
}

/// True if the words contain the term; a foreign key and the record's `foreign_cpus` are not private words.
fn contains(words: &str, term: &str) -> bool {
    let begins = match term.strip_suffix('*') {
        Some(stem) => format!(" {stem}"),
        None => format!(" {term} "),
    };
    let is_published = |rest: &str| rest.starts_with("key") || rest.starts_with("cpus");
    words
        .match_indices(&begins)
        .any(|(at, _)| !(term == "foreign" && is_published(&words[at + begins.len()..])))
}
