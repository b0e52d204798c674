//! Tests of maps.

use super::built_in;
use super::document::{Document, Texts};
use super::pattern::Patterns;
use super::rule::{FrameInfo, Map};
use toml::Spanned;

fn message_of(text: &str) -> String {
    Map::parse(text, "my-store.toml").unwrap_err().to_string()
}

#[test]
fn every_built_in_map_is_parsed_and_no_product_has_two() {
    let mut products = Vec::new();
    for map in Map::built_in() {
        products.push(map.product.to_lowercase());
        products.extend(map.aliases.iter().map(|name| name.to_lowercase()));
    }
    let count = products.len();
    products.sort();
    products.dedup();
    assert_eq!(products.len(), count);
}

#[test]
fn errors_name_the_line_and_the_key() {
    let cases = [
        ("product = 5", "my-store.toml, line 1: "),
        ("product = \"S\"\nprodukt = 1", "my-store.toml, line 2: unknown field `produkt`"),
        (
            "product = \"S\"\nversions = \"new\"",
            "my-store.toml, line 2: versions: \"new\" is not a range of versions",
        ),
        (
            "product = \"S\"\n[[module]]\nname = \"soul\"\nmatch = [{ symbol = \"a\" }]",
            "my-store.toml, line 3: module.name: \"soul\" is not a module; the modules are network_server, ",
        ),
        (
            "product = \"S\"\n[[module]]\nname = \"other\"\nmatch = [\n{ symbol = [\"a\", \"b[\"] }]",
            "my-store.toml, line 5: module.match.symbol: \"b[\" is not a valid pattern",
        ),
        (
            "product = \"S\"\n[[module]]\nname = \"other\"\nmatch = [{ file = \"a.c\" }]",
            "my-store.toml, line 4: module.match.file: rules by source file need a [table]",
        ),
        (
            "product = \"S\"\n[[module]]\nname = \"other\"\nmatch = [{}]",
            "my-store.toml, line 4: module.match: give at least one of",
        ),
        (
            "product = \"S\"\n[[module]]\nname = \"other\"\nmatch = [{ symbol = [] }]",
            "my-store.toml, line 4: an empty list matches nothing",
        ),
        (
            "product = \"S\"\n[[module]]\nname = \"other\"\nmatch = []",
            "my-store.toml, line 4: module.match: an empty list matches nothing",
        ),
        (
            "product = \"S\"\n[[module]]\nname = \"other\"\nmatch = [\n{ java = [\"a\", \"b.*\"] }]",
            "my-store.toml, line 5: module.match.java: \"b.*\" is not a package or class",
        ),
        (
            "product = \"S\"\n[[module]]\nname = \"other\"\nmatch = [{ java = \"org.a.\" }]",
            "my-store.toml, line 4: module.match.java: \"org.a.\" is not a package",
        ),
        (
            "product = \"S\"\n[table]\nobject = \"s\"\nfiles = { \"a/b.c\" = [\"f\"] }\n[[module]]\n\
             name = \"other\"\nmatch = [{ file = [\"a/*\", \"b/*\"] }]",
            "my-store.toml, line 7: module.match.file: \"b/*\" matches no source file of the table",
        ),
        (
            "product = \"S\"\n[[module]]\nname = \"other\"\nblame = \"me\"\nmatch = [{ symbol = \"a\" }]",
            "my-store.toml, line 4: module.blame: the only value of blame is \"outward\"",
        ),
        (
            "product = \"S\"\n[[thread]]\nclass = \"boss\"",
            "my-store.toml, line 3: thread.class: \"boss\" is not a class of threads",
        ),
        (
            "product = \"S\"\n[[thread]]\nclass = \"client\"\nframe = \"serve[\"",
            "my-store.toml, line 4: thread.frame: \"serve[\" is not a valid pattern",
        ),
        (
            "product = \"S\"\n[[thread]]\nclass = \"client\"\nframe = []",
            "my-store.toml, line 4: an empty list matches nothing",
        ),
        (
            "product = \"S\"\n[table]\nobject = \"s\"\nfunctions_of = \"nobody\"",
            "my-store.toml, line 4: table.functions_of: there is no table of nobody",
        ),
        ("product = \"S", "my-store.toml, line 1: "),
    ];
    for (text, expected) in cases {
        let error = message_of(text);
        assert!(error.starts_with(expected), "{text}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn a_map_made_for_another_version_warns() {
    let warnings = |version: &str| {
        let map = Map::for_product("postgresql", version).unwrap();
        map.warnings().to_vec()
    };
    assert!(warnings("PostgreSQL 15.18 (Debian 15.18-0+deb12u1)").is_empty());
    assert!(warnings("PostgreSQL 9.6.1")[0].contains("was not made for version PostgreSQL 9.6.1"));
    assert!(warnings("")[0].contains("is unknown"));
    assert!(Map::for_product("Unheard Of", "1").is_none());
}

#[test]
fn ways_to_fit_may_be_tables_of_their_own() {
    let text = "product = \"S\"\n[[module]]\nname = \"other\"\n[[module.match]]\nsymbol = \"a\"\n\
                [[module.match]]\nsymbol = \"b\"";
    let map = Map::parse(text, "own.toml").unwrap();
    assert_eq!(map.rules[0].fits.len(), 2);
}

#[test]
fn a_given_map_warns_if_it_was_made_for_another_product_or_version() {
    let given = |product: &str, versions: &str, of: &str, version: &str| {
        let text = format!("product = \"{product}\"\naliases = [\"Own\"]\n{versions}");
        let map = Map::parse(&text, "own.toml").unwrap();
        map.used_for(of, version).warnings().to_vec()
    };
    let none: Vec<String> = Vec::new();
    assert_eq!(given("X", "", "x", ""), none, "every version of its product");
    assert_eq!(given("X", "versions = \">=2\"", "own", "2.1"), none);
    let old = given("X", "versions = \">=99\"", "X", "2.1");
    assert!(old[0].contains("not made for version 2.1"), "{old:?}");
    let other = given("X", "versions = \">=99\"", "SQLite", "3.45");
    assert!(other[0].contains("of X was used for SQLite"), "{other:?}");
    assert_eq!((old.len(), other.len()), (1, 1));
}

/// The simplest name that matches a pattern.
fn instance(pattern: &str) -> String {
    let mut letters = pattern.chars();
    let mut name = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '*' | '?' => name.push('x'),
            '[' => {
                name.extend(letters.next());
                letters.by_ref().find(|letter| *letter == ']');
            }
            other => name.push(other),
        }
    }
    name
}

/// For each pattern of the built-in maps there is a name for which it is the first match: a file of its
/// table, a function of it, or the simplest name that matches the pattern, since tables hold no private
/// functions of a program.
#[test]
fn no_pattern_of_a_built_in_map_is_shadowed_by_an_earlier_one() {
    let mut idle = Vec::new();
    for (origin, text) in built_in::maps() {
        let map = Map::parse(text, origin).unwrap();
        let document: Document = toml::from_str(text).unwrap();
        for (section, rule) in document.module.iter().zip(&map.rules) {
            let wins = |frame: FrameInfo<'_>| {
                let first = map.rule(frame);
                first.is_some_and(|first| std::ptr::eq(first, rule))
            };
            for fit in section.fits.as_ref() {
                let texts = |texts: &Option<Spanned<Texts>>| {
                    let texts = texts.iter().flat_map(|texts| texts.as_ref().0.clone());
                    texts.collect::<Vec<String>>()
                };
                let fit = fit.as_ref();
                let first = |texts: &Option<Spanned<Texts>>| {
                    let texts = texts.as_ref()?.as_ref();
                    texts.0.first().map(|text| instance(text))
                };
                let (object, symbol) = (first(&fit.object), first(&fit.symbol));
                let names = symbol.as_deref().map(|name| (name, name));
                let none = FrameInfo {
                    is_java: false,
                    object: object.as_deref().unwrap_or("x"),
                    names: None,
                    file: None,
                };
                let symbols = texts(&fit.symbol).into_iter().filter(|text| {
                    let pattern = Patterns::new([text.as_str()]).unwrap();
                    let named = |name: &str, file| {
                        wins(FrameInfo { names: Some((name, name)), file, ..none })
                    };
                    let own = instance(text);
                    let mut known = map.table.functions();
                    !named(&own, map.table.file(&own))
                        && !known.any(|(name, file)| pattern.fit(name) && named(name, Some(file)))
                });
                let files = texts(&fit.file).into_iter().filter(|text| {
                    let pattern = Patterns::new([text.as_str()]).unwrap();
                    let mut files = map.table.files();
                    !files.any(|file| {
                        let file_wins = wins(FrameInfo { file: Some(file), ..none });
                        pattern.fit_file(map.table.path(file)) && file_wins
                    })
                });
                let java = texts(&fit.java)
                    .into_iter()
                    .filter(|text| !wins(FrameInfo { is_java: true, object: text, ..none }));
                let objects = texts(&fit.object)
                    .into_iter()
                    .filter(|text| !wins(FrameInfo { object: &instance(text), names, ..none }));
                let all = symbols.chain(files).chain(java).chain(objects);
                idle.extend(all.map(|text| format!("{origin}: {text}")));
            }
        }
    }
    assert!(idle.is_empty(), "these patterns are never the first match: {idle:#?}");
}

#[test]
fn the_map_in_the_manual_is_valid() {
    let manual = include_str!("../../../../docs/metering.md");
    let (_, section) = manual.split_once("\n## Maps\n").unwrap();
    let (_, text) = section.split_once("```toml\n").unwrap();
    let (text, _) = text.split_once("```").unwrap();
    let map = Map::parse(text, "docs/metering.md").unwrap();
    assert_eq!((map.rules.len(), map.threads.len()), (2, 2));
}
