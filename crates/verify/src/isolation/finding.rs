//! The finding about a history, compared with the store's claim: the record of `verify isolation`.

use super::hermitage::{LEGEND, Row, table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use syncline_contract::Isolation;
use syncline_history::{Anomaly, History, Order, TransactionStatus, check, known};
use syncline_instrument::{Nanos, clock};

/// The format of this record.
pub const FORMAT: u32 = 1;

/// The record of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The format: [`FORMAT`].
    pub format: u32,
    /// The source of the history: a target's URL, or a file.
    pub subject: String,
    /// The claimed isolation, in words.
    pub claimed: String,
    /// Number of committed transactions.
    pub committed: usize,
    /// Number of transactions that certainly did not commit.
    pub failed: usize,
    /// Number of transactions with an unknown ending.
    pub unknown: usize,
    /// The results of the schedules, one row per level; empty for a history from a file.
    pub schedules: Vec<Row>,
    /// Anomalies that the claimed level forbids.
    pub forbidden: Vec<Anomaly>,
    /// Anomalies that it allows.
    pub allowed: Vec<Anomaly>,
    /// Known behaviour of the store that explains the anomalies seen, as sentences without the final period.
    #[serde(default)]
    pub known: BTreeSet<String>,
    /// Processor time of the check, which runs in one thread.
    #[serde(default)]
    pub check_cpu_ns: Nanos,
    /// The peak memory of the program, including the load; none if it was not measured.
    #[serde(default)]
    pub memory_bytes_max: Option<u64>,
}

impl Finding {
    /// Checks a history against a claim. `product` is the product that made it, "PostgreSQL"; empty if
    /// unknown.
    pub fn of(subject: &str, product: &str, claimed: Isolation, history: &History) -> Finding {
        let before = clock::thread_cpu();
        let anomalies = check(history).into_iter();
        let check_cpu_ns = clock::thread_cpu() - before;
        let (forbidden, allowed): (Vec<_>, _) =
            anomalies.partition(|one| one.kind.is_forbidden(claimed, one.order));
        let known = forbidden.iter().filter_map(|one| known(product, one));
        let known = known.map(str::to_owned).collect();
        Finding {
            format: FORMAT,
            subject: subject.to_owned(),
            claimed: claimed.words().to_owned(),
            committed: history.count(TransactionStatus::Committed),
            failed: history.count(TransactionStatus::Failed),
            unknown: history.count(TransactionStatus::Unknown),
            schedules: Vec::new(),
            forbidden,
            allowed,
            known,
            check_cpu_ns,
            memory_bytes_max: None,
        }
    }

    /// True if no forbidden anomaly was seen.
    pub fn holds(&self) -> bool {
        self.forbidden.is_empty() && self.schedules.iter().all(|row| row.forbidden.is_empty())
    }

    /// The finding, one sentence per line: first the verdict; the last says what remains unknown.
    pub fn sentences(&self) -> Vec<String> {
        let (subject, claimed) = (&self.subject, &self.claimed);
        let mut lines = vec![if *claimed == *Isolation::NoneClaimed.words() {
            format!("{subject}: claims no level of isolation, so no anomaly is forbidden.")
        } else if self.forbidden.is_empty() {
            format!("{subject}: no anomaly that {claimed} forbids was found in this history.")
        } else {
            let words = self.forbidden.iter().map(name).collect::<Vec<_>>();
            format!("{subject}: not {claimed}: {}.", words.join("; "))
        }];
        lines.push(format!(
            "{} transactions committed, {} did not, the ending of {} is unknown.",
            self.committed, self.failed, self.unknown
        ));
        lines.push(self.checked());
        for (which, anomalies) in [("Forbidden", &self.forbidden), ("Allowed", &self.allowed)] {
            for anomaly in anomalies {
                lines.push(format!("{which}: {}, seen {} times.", name(anomaly), anomaly.count));
                lines.extend(anomaly.example.iter().map(|line| format!("  {line}")));
            }
        }
        lines.extend(self.known.iter().map(|known| format!("Known: {known}.")));
        if !self.schedules.is_empty() {
            lines.push(format!("Hermitage's schedules:\n{}", table(&self.schedules)));
            lines.push(LEGEND.to_owned());
        }
        for row in self.schedules.iter().filter(|row| !row.forbidden.is_empty()) {
            let (target, claimed) = (&row.target, &row.claimed);
            let shown = row.forbidden.join("; ");
            lines.push(format!("{target}: not {claimed}: its schedules show {shown}."));
        }
        lines.push(
            "Not known from a history: the behaviour under other loads, and phantoms, which lists cannot show."
                .to_owned(),
        );
        lines
    }
}

impl Finding {
    fn checked(&self) -> String {
        let seconds = self.check_cpu_ns as f64 / 1e9;
        let memory = match self.memory_bytes_max {
            Some(bytes) => format!("at most {:.0} MB", bytes as f64 / 1e6),
            None => "an unknown amount".to_owned(),
        };
        format!(
            "The check took {seconds:.2} s of processor time; the program used {memory} of memory."
        )
    }
}

fn name(anomaly: &Anomaly) -> String {
    let order = match anomaly.order {
        Order::Plain => "",
        order => order.words(),
    };
    format!("{}{order}", anomaly.kind.words())
}

#[cfg(test)]
mod tests {
    use super::*;
    use syncline_history::elle;

    /// Client 0 is the pivot, client 1 overwrites what it read, client 2 sees that and not the pivot's
    /// append; it was requested before client 1 was answered.
    const SKEW: &str = r#"{"type":"invoke","process":0,"f":"txn","value":[["r",25,null],["r",24,null],["append",24,1]]}
{"type":"invoke","process":1,"f":"txn","value":[["r",25,null],["append",25,2]]}
{"type":"invoke","process":2,"f":"txn","value":[["r",25,null],["r",24,null],["append",28,3]]}
{"type":"ok","process":0,"f":"txn","value":[["r",25,[]],["r",24,[]],["append",24,1]]}
{"type":"ok","process":1,"f":"txn","value":[["r",25,[]],["append",25,2]]}
{"type":"ok","process":2,"f":"txn","value":[["r",25,[2]],["r",24,[]],["append",28,3]]}
{"type":"invoke","process":3,"f":"txn","value":[["r",24,null]]}
{"type":"ok","process":3,"f":"txn","value":[["r",24,[1]]]}
"#;

    #[test]
    fn a_known_anomaly_is_named_and_still_breaks_the_claim() {
        let history = elle::read(SKEW.as_bytes()).unwrap();
        for (product, known) in [("PostgreSQL", 1), ("MariaDB", 0), ("", 0)] {
            let finding = Finding::of("", product, Isolation::Serializable, &history);
            assert!(!finding.holds(), "{finding:?}");
            assert_eq!((finding.forbidden.len(), finding.known.len()), (1, known), "{finding:?}");
        }
    }
}
