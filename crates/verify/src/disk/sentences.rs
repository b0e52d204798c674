//! A finding about a disk as sentences for its owner.

use super::cut_kind::Kind;
use super::finding::{Finding, Verdict};
use crate::words::many;

impl Finding {
    /// The finding, one sentence per line: first the verdict, last what remains unknown.
    pub fn sentences(&self) -> Vec<String> {
        let mut lines = vec![self.headline(), self.tested(), self.controls()];
        lines.extend(self.bounds());
        lines.push(self.not_known());
        lines
    }

    fn headline(&self) -> String {
        let subject = &self.subject;
        match &self.verdict {
            Verdict::NotDurable(evidence) => format!("{subject}: not durable: {evidence}."),
            Verdict::Survived(cuts) => {
                let strongest = cuts.iter().rev();
                let kinds: Vec<_> =
                    strongest.map(|(kind, count)| many(*count, kind.words())).collect();
                format!(
                    "{subject}: survived {}: every promised block was present and whole.",
                    kinds.join(" and ")
                )
            }
            Verdict::Unknown(reason) => format!("{subject}: unknown: {reason}."),
        }
    }

    fn tested(&self) -> String {
        let last = &self.judgement;
        format!(
            "The last run: blocks of {} bytes, each synced by {} and then promised to the witness; {} \
             promised, {} that no later block replaced were checked; ended by: {}.",
            self.block_bytes,
            self.method,
            last.promised,
            last.inspected,
            last.kind.words()
        )
    }

    fn controls(&self) -> String {
        let last = &self.judgement;
        let gone = format!(
            "Control, the same blocks without a sync: {} of {} are gone",
            last.controls_gone, last.controls
        );
        match (last.controls_gone, last.kind) {
            (0, Kind::ProcessKill) => {
                format!("{gone}: a process kill loses nothing that the kernel holds.")
            }
            (0, _) => format!("{gone}: nothing shows that this run could have detected a loss."),
            _ => format!("{gone}, so the cut did lose unsynced data."),
        }
    }

    /// After n cuts without a loss, the chance that a similar cut loses something is at most 3/n at 95 %
    /// confidence.
    fn bounds(&self) -> Vec<String> {
        let Verdict::Survived(cuts) = &self.verdict else {
            return Vec::new();
        };
        let bound = |(kind, count): (&Kind, &u64)| {
            let kind = kind.words();
            if *count < 4 {
                format!(
                    "{}: too few for a bound on the chance of a loss; repeat the test, the witness adds up \
                     the cuts.",
                    many(*count, kind)
                )
            } else {
                format!(
                    "No loss in {count} {kind}s: the chance that a similar one loses something is \
                     at most {:.1} % (95 % confidence, rule of three).",
                    300.0 / *count as f64
                )
            }
        };
        cuts.iter().rev().map(bound).collect()
    }

    fn not_known(&self) -> String {
        match self.judgement.kind {
            Kind::ProcessKill => "Not known from here: what a power loss would take; the kernel outlived this \
                                  cut, and a disk that never wrote anything would pass."
                .to_owned(),
            Kind::MachineKill => "Not known from here: whether the device lost its power, and with it its \
                                  cache; if you pulled the plug, pass --cut plug-pull."
                .to_owned(),
            _ => "Not known from here: other devices of this model, other fill levels and temperatures of \
                  this one, and cuts at other moments. One failure is proof; no number of passes is."
                .to_owned(),
        }
    }
}
