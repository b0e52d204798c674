//! Products whose licences restrict the publishing of figures, by the names that they give themselves.
//!
//! This is a notice and no legal advice: licences change, and some were bought under other terms.

/// What the name of such a product holds, in lower case.
const RESTRICTED: [&str; 8] = [
    "oracle",
    "microsoft sql server",
    "db2",
    "teradata",
    "hdb",
    "adaptive server",
    "vertica",
    "intersystems",
];

/// The notice for a product, if its licence is known for that.
pub(super) fn notice(product: &str) -> Option<String> {
    let name = product.to_ascii_lowercase();
    let restricted = RESTRICTED.iter().any(|part| name.contains(part));
    restricted.then(|| {
        format!(
            "the licence of {product} may forbid publishing figures without leave: read it, or replace \
             name and version in the record by --alias"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::notice;

    #[test]
    fn products_are_known_by_the_names_they_give_themselves() {
        for name in ["Oracle", "Microsoft SQL Server", "DB2/LINUXX8664", "HDB"] {
            assert!(notice(name).unwrap().contains(name));
        }
        for name in [
            "Apache Derby",
            "H2",
            "HSQL Database Engine",
            "PostgreSQL",
            "MariaDB",
        ] {
            assert_eq!(notice(name), None);
        }
    }
}
