//! The built-in maps and their tables.

use super::rule::Map;

/// Each map's file name and text.
const MAPS: &[(&str, &str)] = &[
    ("derby.toml", include_str!("../../maps/derby.toml")),
    ("h2.toml", include_str!("../../maps/h2.toml")),
    ("hsqldb.toml", include_str!("../../maps/hsqldb.toml")),
    ("mariadb.toml", include_str!("../../maps/mariadb.toml")),
    ("postgresql.toml", include_str!("../../maps/postgresql.toml")),
    ("rocksdb.toml", include_str!("../../maps/rocksdb.toml")),
    ("sqlite.toml", include_str!("../../maps/sqlite.toml")),
    ("syncline-engine.toml", include_str!("../../maps/syncline-engine.toml")),
];

/// Tables of functions by the name that maps use.
const TABLES: &[(&str, &str)] = &[
    ("mariadb", include_str!("../../maps/mariadb.functions")),
    ("postgresql", include_str!("../../maps/postgresql.functions")),
    ("sqlite", include_str!("../../maps/sqlite.functions")),
];

/// Each map's file name and text.
#[cfg(test)]
pub(super) fn maps() -> impl Iterator<Item = (&'static str, &'static str)> {
    MAPS.iter().copied()
}

/// The text of a table.
pub(super) fn table(name: &str) -> Option<&'static str> {
    let table = TABLES.iter().find(|(known, _)| *known == name)?;
    Some(table.1)
}

/// The names of all tables.
pub(super) fn tables() -> Vec<&'static str> {
    TABLES.iter().map(|(name, _)| *name).collect()
}

impl Map {
    /// All built-in maps.
    pub fn built_in() -> Vec<Map> {
        MAPS.iter()
            .map(|(file, text)| {
                Map::parse(text, file).expect("a test reads every map that comes with the program")
            })
            .collect()
    }

    /// The map of a product by the name and version that the product reports. It warns if it was made for
    /// other versions; `None` if there is no map of the product.
    pub fn for_product(product: &str, version: &str) -> Option<Map> {
        let map = Map::built_in().into_iter().find(|map| map.is_for(product))?;
        Some(map.used_for(product, version))
    }
}
