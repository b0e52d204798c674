//! A finding of a disk in sentences that whoever bought it can act on.

use super::cut_kind::Kind;
use super::finding::{Finding, Verdict};
use crate::words::many;

impl Finding {
    /// The finding, a line each; the first is the verdict, the last says what is not known.
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
                let kinds: Vec<_> = strongest
                    .map(|(kind, count)| {
                        format!("{} (of kind {})", many(*count, "cut"), kind.words())
                    })
                    .collect();
                format!(
                    "{subject}: survived {}: every block that had been promised was there, whole.",
                    kinds.join(" and ")
                )
            }
            Verdict::Unknown(reason) => format!("{subject}: unknown: {reason}."),
        }
    }

    fn tested(&self) -> String {
        let last = &self.judgement;
        format!(
            "The last run: blocks of {} bytes, each made stable by {} and then promised to the witness; {} \
             promised, {} that nothing later replaced were checked; ended by: {}.",
            self.block_bytes,
            self.method,
            last.promised,
            last.looked,
            last.kind.words()
        )
    }

    fn controls(&self) -> String {
        let last = &self.judgement;
        let gone = format!(
            "Control, the same blocks never synced: {} of {} are gone",
            last.controls_gone, last.controls
        );
        match (last.controls_gone, last.kind) {
            (0, Kind::ProcessKill) => {
                format!("{gone}: a process kill takes nothing that the kernel holds.")
            }
            (0, _) => format!("{gone}: nothing shows that this run could have seen a loss."),
            _ => format!("{gone}, so the cut took what it could."),
        }
    }

    /// With no loss in n cuts, the chance that one like them loses something is at most 3/n at 95 %.
    fn bounds(&self) -> Vec<String> {
        let Verdict::Survived(cuts) = &self.verdict else {
            return Vec::new();
        };
        let bound = |(kind, count): (&Kind, &u64)| {
            let kind = kind.words();
            if *count < 4 {
                format!(
                    "{} of kind {kind}: that bounds nothing yet; cut and check again, the witness adds them \
                     up.",
                    many(*count, "cut")
                )
            } else {
                format!(
                    "No loss in {count} cuts of kind {kind}: the chance that one like these loses something is \
                     at most {:.1} % (95 % confidence, rule of three).",
                    300.0 / *count as f64
                )
            }
        };
        cuts.iter().rev().map(bound).collect()
    }

    fn not_known(&self) -> String {
        match self.judgement.kind {
            Kind::ProcessKill => "Not known from here: what a loss of power takes; the kernel outlived this \
                                  cut, and a disk that never writes anything would pass."
                .to_owned(),
            Kind::MachineKill => "Not known from here: whether the device lost its power, and with it its \
                                  cache; if you pulled the plug, say --cut plug-pull."
                .to_owned(),
            _ => "Not known from here: other devices of this model, other fillings and temperatures of this \
                  one, and cuts at other moments; one failure condemns, no number of passes acquits."
                .to_owned(),
        }
    }
}
