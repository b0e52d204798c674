//! Which product answers, and where those that speak as PostgreSQL does differ from it, as data.

/// A product that speaks PostgreSQL's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Product {
    /// Its name in records.
    pub(super) name: &'static str,
    /// What its `version()` holds.
    mark: &'static str,
    /// True if its log and its settings are PostgreSQL's: fsync, full pages, `pg_wal`, `pg_stat_wal`.
    pub(super) is_postgres: bool,
    /// The names of its server's program, by which its process is known.
    pub(super) programs: &'static [&'static str],
    /// What makes a table's statistics after a load.
    pub(super) analyze: &'static str,
    /// What is said of its durability, of which it tells nothing; none where settings are read.
    pub(super) own_word: Option<&'static str>,
}

/// The first whose mark stands in `version()`; PostgreSQL's own comes last, since others say that name
/// too.
const PRODUCTS: [Product; 3] = [
    Product {
        name: "CockroachDB",
        mark: "CockroachDB",
        is_postgres: false,
        programs: &["cockroach"],
        analyze: "ANALYZE",
        own_word: Some(
            "CockroachDB commits by consensus of its replicas, each of which syncs its own log; it has no \
             setting of a session for it",
        ),
    },
    Product {
        name: "YugabyteDB",
        mark: "-YB-",
        is_postgres: false,
        programs: &["postgres", "yb-tserver"],
        analyze: "ANALYZE",
        own_word: Some(
            "YugabyteDB commits by consensus of its replicas; whether each syncs its own log is its flag \
             durable_wal_write, which a session cannot read",
        ),
    },
    Product {
        name: "PostgreSQL",
        mark: "PostgreSQL",
        is_postgres: true,
        programs: &["postgres"],
        // As pgbench does after it has loaded: else the first reads write.
        analyze: "VACUUM (ANALYZE)",
        own_word: None,
    },
];

impl Product {
    /// The product of what `version()` says; PostgreSQL where it says nothing that is known.
    pub(super) fn of(version: &str) -> &'static Product {
        let found = PRODUCTS.iter().find(|product| version.contains(product.mark));
        found.unwrap_or(&PRODUCTS[PRODUCTS.len() - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::Product;

    #[test]
    fn products_are_told_apart_by_what_they_say() {
        for (version, name) in [
            ("PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu", "PostgreSQL"),
            ("CockroachDB CCL v23.1.14 (x86_64-pc-linux-gnu, built 2024/01/16)", "CockroachDB"),
            ("PostgreSQL 11.2-YB-2.20.1.3-b0 on x86_64-pc-linux-gnu", "YugabyteDB"),
        ] {
            assert_eq!(Product::of(version).name, name, "{version}");
        }
    }
}
