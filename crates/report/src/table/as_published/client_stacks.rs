//! The difference between two client stacks: one store used through its own driver and through Java, one line
//! per pair.
//!
//! 1. With one client and one commit under way, the time of a commit is the reciprocal of the rate, and the
//!    difference of these times is the stack's cost. That holds for the mail's figures and for Syncline's.
//! 2. Only runs of one store in one directory at one durability make a pair, and each run is in one pair.
//! 3. A line prints how much longer a commit takes, never "faster": a pair is two runs, not two ranges.

use super::super::matrix::DirectoryRuns;
use super::super::prose;
use crate::published::MailDisk;
use syncline_record::RunRecord;
use syncline_record::units;

/// The prefix in the name of a target that is used through JDBC.
const BY_JDBC: &str = "jdbc:";

/// The mail's own pairs: "SAP DB, C++" and "SAP DB, Java" on one disk.
pub(super) fn then(disks: &[MailDisk]) -> String {
    let mut text = String::new();
    for disk in disks {
        for java in &disk.commits {
            let Some(store) = java.target.strip_suffix(", Java") else {
                continue;
            };
            let native = disk.commits.iter().find(|other| other.target == format!("{store}, C++"));
            if let Some(native) = native {
                let (disk, _) = disk.name.split_once(':').unwrap_or((&disk.name, ""));
                let rates = [("C++", native.per_s), ("Java", java.per_s)];
                text += &line(&format!("{store} on {disk}"), rates, None);
            }
        }
    }
    text
}

/// The pairs of Syncline's runs; empty if no store was run both ways.
pub(super) fn now(directories: &[DirectoryRuns<'_>]) -> String {
    let mut text = String::new();
    for directory in directories {
        let (by_jdbc, native): (Vec<&RunRecord>, Vec<&RunRecord>) =
            directory.singles().partition(|run| run.head.target.name.starts_with(BY_JDBC));
        let mut free = native;
        for java in by_jdbc {
            let Some(found) = free.iter().position(|run| is_same_store(run, java)) else {
                continue;
            };
            let native = free.remove(found);
            let rates = [
                ("its own protocol", native.end.throughput_per_s),
                ("JDBC", java.end.throughput_per_s),
            ];
            let name = format!("{} in {}", native.head.target.name, directory.directory());
            text += &line(&name, rates, client_cpu(native).zip(client_cpu(java)));
        }
    }
    text
}

fn is_same_store(native: &RunRecord, java: &RunRecord) -> bool {
    let (native, java) = (&native.head.target, &java.head.target);
    let product = java.name.strip_prefix(BY_JDBC);
    product.map(own_name) == Some(native.name.as_str()) && java.durability == native.durability
}

/// The name of the target with its own protocol, for a product's name in its Java driver.
fn own_name(product: &str) -> &str {
    match product {
        "postgresql" => "postgres",
        same => same,
    }
}

fn client_cpu(run: &RunRecord) -> Option<f64> {
    run.end.client.as_ref()?.cpu_ns_per_transaction
}

fn line(name: &str, rates: [(&str, f64); 2], cpu: Option<(f64, f64)>) -> String {
    let [(one, rate), (other, other_rate)] = rates;
    let mut text = format!(
        "{} by {one}, {} by {other}: {}",
        units::rate(rate),
        units::rate(other_rate),
        difference(rate, other_rate, other)
    );
    if let Some((one, other)) = cpu {
        text += &format!(
            "; client processor time {} and {} a commit",
            units::span(one),
            units::span(other)
        );
    }
    prose::wrap("", &format!("{name}: {text}"))
}

fn difference(rate: f64, other_rate: f64, other: &str) -> String {
    if rate <= 0.0 || other_rate <= 0.0 {
        return "the difference is unknown, since one of them committed nothing".to_owned();
    }
    let added_ns = (1.0 / other_rate - 1.0 / rate) * 1e9;
    let word = if added_ns < 0.0 { "less" } else { "more" };
    format!(
        "a commit takes {} {word} by {other} ({})",
        units::span(added_ns.abs()),
        units::percent((rate / other_rate - 1.0).abs())
    )
}

#[cfg(test)]
mod tests {
    use super::{difference, own_name, then};
    use crate::published::mail2002;

    #[test]
    fn the_mails_stacks_differ_by_little_on_a_disk_that_is_waited_for() {
        let text = then(&mail2002().disks);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        // 1/80 s less 1/82 s.
        let oracle =
            "Oracle on HD1: 82/s by C++, 80/s by Java: a commit takes 305 us more by Java (2.50 %)";
        assert!(text.contains(oracle), "{text}");
        assert!(
            text.contains("SAP DB on HD1: 89/s by C++, 89/s by Java: a commit takes 0 ns more")
        );
        assert!(text.contains("53.8 us less by Java"), "{text}");
    }

    #[test]
    fn a_product_has_one_name_by_either_stack() {
        for (by_driver, own) in [("postgresql", "postgres"), ("mariadb", "mariadb")] {
            assert_eq!(own_name(by_driver), own);
        }
    }

    #[test]
    fn a_stack_that_committed_nothing_has_no_difference() {
        assert!(difference(0.0, 10.0, "JDBC").contains("unknown"));
        assert!(difference(10.0, 0.0, "JDBC").contains("unknown"));
    }
}
