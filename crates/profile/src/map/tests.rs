//! Tests of maps.

use super::rule::Map;

fn refused(text: &str) -> String {
    Map::parse(text, "my-store.toml").unwrap_err().to_string()
}

#[test]
fn every_map_that_comes_with_the_program_is_read_and_no_product_has_two() {
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
fn a_mistake_is_a_sentence_with_its_line_and_key() {
    let cases = [
        ("product = 5", "my-store.toml, line 1: "),
        (
            "product = \"S\"\nprodukt = 1",
            "my-store.toml, line 2: unknown field `produkt`",
        ),
        (
            "product = \"S\"\nversions = \"new\"",
            "my-store.toml, line 2: versions: \"new\" is no range of versions",
        ),
        (
            "product = \"S\"\n[[module]]\nname = \"soul\"\nmatch = [{ symbol = \"a\" }]",
            "my-store.toml, line 3: module.name: \"soul\" is no module; there are network_server, ",
        ),
        (
            "product = \"S\"\n[[module]]\nname = \"other\"\nmatch = [\n{ symbol = [\"a\", \"b[\"] }]",
            "my-store.toml, line 5: module.match.symbol: \"b[\" is no pattern",
        ),
        (
            "product = \"S\"\n[[module]]\nname = \"other\"\nmatch = [{ file = \"a.c\" }]",
            "my-store.toml, line 4: module.match.file: a source file is known by a [table] only",
        ),
        (
            "product = \"S\"\n[[module]]\nname = \"other\"\nmatch = [{}]",
            "my-store.toml, line 4: module.match: it needs at least one of",
        ),
        (
            "product = \"S\"\n[[module]]\nname = \"other\"\nmatch = [{ symbol = [] }]",
            "my-store.toml, line 4: an empty list fits nothing",
        ),
        (
            "product = \"S\"\n[[module]]\nname = \"other\"\nblame = \"me\"\nmatch = [{ symbol = \"a\" }]",
            "my-store.toml, line 4: module.blame: the only blame is \"outward\"",
        ),
        (
            "product = \"S\"\n[[thread]]\nclass = \"boss\"",
            "my-store.toml, line 3: thread.class: \"boss\" is no class of threads",
        ),
        (
            "product = \"S\"\n[[thread]]\nclass = \"client\"\nframe = \"serve[\"",
            "my-store.toml, line 4: thread.frame: \"serve[\" is no pattern",
        ),
        (
            "product = \"S\"\n[[thread]]\nclass = \"client\"\nframe = []",
            "my-store.toml, line 4: an empty list fits nothing",
        ),
        (
            "product = \"S\"\n[table]\nobject = \"s\"\nfunctions_of = \"nobody\"",
            "my-store.toml, line 4: table.functions_of: there is no table of nobody",
        ),
        ("product = \"S", "my-store.toml, line 1: "),
    ];
    for (text, expected) in cases {
        let said = refused(text);
        assert!(said.starts_with(expected), "{text}: {said}");
        assert!(!said.contains('\n'), "{said}");
    }
}

#[test]
fn a_map_made_for_another_version_says_so() {
    let warnings = |version: &str| {
        let map = Map::for_product("postgresql", version).unwrap();
        map.warnings().to_vec()
    };
    assert!(warnings("PostgreSQL 15.18 (Debian 15.18-0+deb12u1)").is_empty());
    assert!(warnings("PostgreSQL 9.6.1")[0].contains("was not made for version PostgreSQL 9.6.1"));
    assert!(warnings("")[0].contains("is not known"));
    assert!(Map::for_product("Unheard Of", "1").is_none());
}

#[test]
fn the_map_in_the_manual_is_one() {
    let manual = include_str!("../../../../docs/metering.md");
    let (_, section) = manual.split_once("\n## Maps\n").unwrap();
    let (_, text) = section.split_once("```toml\n").unwrap();
    let (text, _) = text.split_once("```").unwrap();
    let map = Map::parse(text, "docs/metering.md").unwrap();
    assert_eq!((map.rules.len(), map.threads.len()), (2, 2));
}
