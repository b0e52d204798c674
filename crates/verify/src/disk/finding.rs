//! The finding about a disk: the record of `verify disk --check`.

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
    /// Number of judged runs.
    pub judged: u64,
    /// Judged runs without a loss.
    pub survived: u64,
    /// Judged runs with bad blocks.
    pub bad: u64,
    /// Promised blocks, summed over the runs.
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

/// The conclusion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Synced data was lost; the text says what.
    NotDurable(String),
    /// No loss; the number of survived cuts by kind.
    Survived(BTreeMap<Kind, u64>),
    /// No conclusion; the text says why.
    Unknown(String),
}

/// The record of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The format: [`FORMAT`].
    pub format: u32,
    /// The name of the disk under test.
    pub subject: String,
    /// The method under test.
    pub method: String,
    /// Size of a block.
    pub block_bytes: u32,
    /// Number of blocks in the file.
    pub slots: u64,
    /// The judgement of the last run.
    pub judgement: Judgement,
    /// All cuts of this disk with this method, including the last.
    pub cuts: Vec<Cuts>,
    /// The conclusion.
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
                "blocks were bad in {} of {} runs that ended in a {}, though not in this one",
                cuts.bad,
                cuts.judged,
                cuts.kind.words()
            ));
        }
        if last.promised == 0 {
            return Verdict::Unknown("no block had been promised when the run ended".to_owned());
        }
        if !last.kind.is_cut() {
            return Verdict::Unknown(match last.kind {
                Kind::NoCut => "the writer ended normally, so nothing was interrupted".to_owned(),
                _ => "the machine's kernel outlived the writer, so it may have written everything back"
                    .to_owned(),
            });
        }
        if !last.counts() {
            return Verdict::Unknown(
                "the unsynced control blocks are all there too, so nothing shows that the cut lost anything"
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
            "after a {}, {} of {} blocks synced by {} are bad: {}{order}; the \
             first: {}",
            last.kind.words(),
            last.bad(),
            last.inspected,
            self.method,
            classes.join(", "),
            last.example.as_deref().unwrap_or("no example")
        )
    }
}
