//! What was found of a history, against what its store claims: the record of `verify isolation`.

use super::anomaly::{Anomaly, Order};
use super::check::check;
use super::concurrency_window::known;
use super::hermitage::{LEGEND, Row, table};
use super::history::{Ending, History};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use syncline_contract::Isolation;
use syncline_instrument::{Nanos, clock};

/// The format of this record.
pub const FORMAT: u32 = 1;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The format: [`FORMAT`].
    pub format: u32,
    /// What made the history: a target's URL, or a file.
    pub subject: String,
    /// The isolation that it claims, in words.
    pub claimed: String,
    /// Transactions that committed.
    pub committed: usize,
    /// Those that certainly did not.
    pub failed: usize,
    /// Those of which it is not known.
    pub unknown: usize,
    /// What the schedules showed, a row a level; none for a history from elsewhere.
    pub schedules: Vec<Row>,
    /// Anomalies that the claimed isolation forbids.
    pub forbidden: Vec<Anomaly>,
    /// Anomalies that it allows.
    pub allowed: Vec<Anomaly>,
    /// What is known of the store's anomalies like those seen, as sentences without the last full stop.
    #[serde(default)]
    pub known: BTreeSet<String>,
    /// Processor time that the check of the history took, which is one thread.
    #[serde(default)]
    pub check_cpu_ns: Nanos,
    /// The most memory that the program held by then, load and all; none if it was not asked for.
    #[serde(default)]
    pub memory_bytes_max: Option<u64>,
}

impl Finding {
    /// Checks a history against a claim. `product` made it, "PostgreSQL"; empty where that is not known.
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
            committed: history.count(Ending::Committed),
            failed: history.count(Ending::Failed),
            unknown: history.count(Ending::Unknown),
            schedules: Vec::new(),
            forbidden,
            allowed,
            known,
            check_cpu_ns,
            memory_bytes_max: None,
        }
    }

    /// True if nothing that a level forbids was seen.
    pub fn holds(&self) -> bool {
        self.forbidden.is_empty() && self.schedules.iter().all(|row| row.forbidden.is_empty())
    }

    /// The finding, a line each; the first says whether the claim holds, one what is not known.
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
            "{} transactions committed, {} did not, {} are unknown.",
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
            "Not known from a history: what other loads would show; and phantoms, which no list shows."
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
            "The check took {seconds:.2} s of one processor; the program held {memory} of memory."
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
