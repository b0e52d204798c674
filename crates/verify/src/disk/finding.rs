//! What was found of a disk: the record of `verify disk --check`.

use super::cut_kind::Kind;
use super::judgement::Judgement;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The format of this record.
pub const FORMAT: u32 = 1;

/// All judged runs of one kind of cut, by one method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cuts {
    /// The kind.
    pub kind: Kind,
    /// Runs that were judged.
    pub judged: u64,
    /// Of them those that were survived.
    pub survived: u64,
    /// Of them those in which blocks were bad.
    pub bad: u64,
    /// Blocks promised, in all.
    pub promised: u64,
}

impl Cuts {
    /// Sums judgements, by kind.
    pub(super) fn of<'j>(judgements: impl Iterator<Item = &'j Judgement>) -> Vec<Cuts> {
        let mut kinds: BTreeMap<Kind, Cuts> = BTreeMap::new();
        for judgement in judgements {
            let kind = judgement.kind;
            let cuts = kinds.entry(kind).or_insert(Cuts {
                kind,
                judged: 0,
                survived: 0,
                bad: 0,
                promised: 0,
            });
            cuts.judged += 1;
            cuts.survived += u64::from(judgement.counts());
            cuts.bad += u64::from(judgement.bad() > 0);
            cuts.promised += judgement.promised;
        }
        kinds.into_values().collect()
    }
}

/// What may be said in the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Something that was synced was gone; what.
    NotDurable(String),
    /// Nothing was, in so many cuts of each kind.
    Survived(BTreeMap<Kind, u64>),
    /// Nothing may be said; why.
    Unknown(String),
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The format: [`FORMAT`].
    pub format: u32,
    /// Whose disk.
    pub subject: String,
    /// The method under test.
    pub method: String,
    /// Of a block.
    pub block_bytes: u32,
    /// Blocks of the file.
    pub slots: u64,
    /// The last cut.
    pub judgement: Judgement,
    /// All cuts of this disk by this method, the last among them.
    pub cuts: Vec<Cuts>,
    /// What may be said.
    pub verdict: Verdict,
}

impl Finding {
    pub(super) fn judge(&self) -> Verdict {
        let last = &self.judgement;
        if last.bad() > 0 {
            return Verdict::NotDurable(self.evidence());
        }
        if let Some(cuts) = self.cuts.iter().find(|cuts| cuts.bad > 0) {
            return Verdict::NotDurable(format!(
                "blocks were gone in {} of {} runs of kind {}, though not in this one",
                cuts.bad,
                cuts.judged,
                cuts.kind.words()
            ));
        }
        if last.promised == 0 {
            return Verdict::Unknown("nothing had been promised when the run ended".to_owned());
        }
        if !last.kind.is_cut() {
            return Verdict::Unknown(match last.kind {
                Kind::NoCut => "the writer ended in good order: nothing was cut off".to_owned(),
                _ => "the machine's kernel outlived the writer, so it may have written out all that it held"
                    .to_owned(),
            });
        }
        if !last.counts() {
            return Verdict::Unknown(
                "what was never synced is all there too, so nothing shows that the cut took anything"
                    .to_owned(),
            );
        }
        let survived = self.cuts.iter().filter(|cuts| cuts.survived > 0);
        Verdict::Survived(survived.map(|cuts| (cuts.kind, cuts.survived)).collect())
    }

    fn evidence(&self) -> String {
        let last = &self.judgement;
        let classes = last.bad.iter();
        let classes: Vec<_> =
            classes.map(|(class, count)| format!("{count} {}", class.word())).collect();
        let order = match last.reordered {
            0 => String::new(),
            some => format!("; {some} of them older than blocks that are there (reordered)"),
        };
        format!(
            "after a {}, {} of {} blocks that had been synced by {} are not as they were: {}{order}; the \
             first: {}",
            last.kind.words(),
            last.bad(),
            last.looked,
            self.method,
            classes.join(", "),
            last.example.as_deref().unwrap_or("no words for it")
        )
    }
}
