//! Which product answers, and how the products that speak PostgreSQL's protocol differ from it, as
//! data.

/// A product that speaks PostgreSQL's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Product {
    /// Its name in records.
    pub(super) name: &'static str,
    /// A substring of its `version()`.
    mark: &'static str,
    /// True if its log and its settings are PostgreSQL's: fsync, full pages, `pg_wal`, `pg_stat_wal`.
    pub(super) is_postgres: bool,
    /// The names of its server's executable, by which its process is recognized.
    pub(super) programs: &'static [&'static str],
    /// The command that creates a table's statistics after a load.
    pub(super) analyze: &'static str,
    /// A statement about its durability, which no setting reports; `None` where settings are read.
    pub(super) durability_note: Option<&'static str>,
}

/// In order of precedence: PostgreSQL comes last, since the other products also name it in `version()`.
const PRODUCTS: [Product; 3] = [
    Product {
        name: "CockroachDB",
        mark: "CockroachDB",
        is_postgres: false,
        programs: &["cockroach"],
        analyze: "ANALYZE",
        durability_note: Some(
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
        durability_note: Some(
            "YugabyteDB commits by consensus of its replicas; whether each syncs its own log depends on the flag \
             durable_wal_write, which a session cannot read",
        ),
    },
    Product {
        name: "PostgreSQL",
        mark: "PostgreSQL",
        is_postgres: true,
        programs: &["postgres"],
        // As pgbench does after a load; otherwise the first reads would write hint bits.
        analyze: "VACUUM (ANALYZE)",
        durability_note: None,
    },
];

impl Product {
    /// The product that `version()` names; PostgreSQL if it names none of the list.
    pub(super) fn of(version: &str) -> &'static Product {
        let found = PRODUCTS.iter().find(|product| version.contains(product.mark));
        found.unwrap_or(&PRODUCTS[PRODUCTS.len() - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::Product;

    #[test]
    fn products_are_recognized_by_their_version() {
        for (version, name) in [
            ("PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu", "PostgreSQL"),
            ("CockroachDB CCL v23.1.14 (x86_64-pc-linux-gnu, built 2024/01/16)", "CockroachDB"),
            ("PostgreSQL 11.2-YB-2.20.1.3-b0 on x86_64-pc-linux-gnu", "YugabyteDB"),
        ] {
            assert_eq!(Product::of(version).name, name, "{version}");
        }
    }
}
