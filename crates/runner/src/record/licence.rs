//! Products whose licences are known to restrict the publishing of benchmark figures.
//!
//! This is a notice, not a judgement: users must read their own licences. The names are searched in the
//! product name that a driver or a server reports.

use syncline_record::Warning;

/// A part of a product's name, and the name in the notice.
const RESTRICTING: &[(&str, &str)] = &[
    ("oracle", "Oracle Database"),
    ("microsoft sql server", "Microsoft SQL Server"),
    ("db2", "IBM Db2"),
    ("informix", "IBM Informix"),
    ("hdb", "SAP HANA"),
    ("sap hana", "SAP HANA"),
    ("adaptive server", "SAP ASE"),
    ("sql anywhere", "SAP SQL Anywhere"),
    ("teradata", "Teradata"),
    ("vertica", "Vertica"),
    ("intersystems", "InterSystems IRIS and Caché"),
];

/// The notice for a product, if its licences are known to restrict publishing.
pub(super) fn licence_notice(product: &str) -> Option<Warning> {
    let product = product.to_lowercase();
    let entry = RESTRICTING.iter().find(|(part, _)| product.contains(part));
    entry.map(|(_, name)| Warning {
        name: "licence".to_owned(),
        what: format!(
            "licences of {name} are known to forbid publishing benchmark figures without consent"
        ),
        advice:
            "read your licence before you show this to others; run --alias 'Store A' keeps the product's \
                 name and version out of the record, survey cannot"
                .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::licence_notice;

    #[test]
    fn products_are_recognized_by_the_names_that_their_drivers_report() {
        for product in ["Oracle", "Microsoft SQL Server", "DB2/LINUXX8664", "HDB"] {
            assert!(licence_notice(product).is_some(), "{product}");
        }
        for product in ["PostgreSQL", "MariaDB", "MySQL", "Apache Derby", "SQLite", "H2"] {
            assert!(licence_notice(product).is_none(), "{product}");
        }
    }
}
