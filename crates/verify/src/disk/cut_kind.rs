//! What kind of cut it was, as far as the evidence goes.
//!
//! | machine since | connection | operator | kind |
//! |---|---|---|---|
//! | any | the writer took its leave | | no cut |
//! | same boot | | | process kill |
//! | another boot | closed by a living kernel | | restart |
//! | another boot | silent, or the witness was away | | machine kill |
//! | another boot | silent, or the witness was away | "plug pull" | plug pull |

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// How a run's connection ended, as the witness saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    /// The writer said that it ends.
    Leave,
    /// The other machine's kernel closed it: it outlived the writer.
    Closed,
    /// Nothing more was heard.
    Silent,
    /// The witness itself was away.
    Unseen,
}

/// What the operator says was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The plug was pulled: the device lost its power.
    PlugPull,
    /// The machine was stopped, and the device kept its power: a reset, a virtual machine ended.
    MachineKill,
}

/// A kind of cut, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The writer ended in good order.
    NoCut,
    /// The machine restarted after its kernel had outlived the writer.
    Restart,
    /// The writer was killed; the kernel kept all that was written to it.
    ProcessKill,
    /// The machine stopped without warning; its device may have kept its power.
    MachineKill,
    /// The device lost its power.
    PlugPull,
}

impl Kind {
    /// The words in verdicts.
    pub fn words(self) -> &'static str {
        match self {
            Kind::NoCut => "no cut",
            Kind::Restart => "restart in good order",
            Kind::ProcessKill => "process kill",
            Kind::MachineKill => "machine kill",
            Kind::PlugPull => "plug pull",
        }
    }

    /// True if something was cut off.
    pub fn is_cut(self) -> bool {
        self >= Kind::ProcessKill
    }

    /// True if what was not synced should be gone.
    pub(super) fn takes_memory(self) -> bool {
        self >= Kind::MachineKill
    }

    /// By the evidence; fails if the operator says what it rules out.
    pub(super) fn of(same_boot: bool, end: End, said: Option<Cut>) -> Result<Kind> {
        let kind = match (end, same_boot) {
            (End::Leave, _) => Kind::NoCut,
            (_, true) => Kind::ProcessKill,
            (End::Closed, false) => Kind::Restart,
            (End::Silent | End::Unseen, false) => Kind::MachineKill,
        };
        match (said, kind) {
            (Some(Cut::PlugPull), Kind::MachineKill) => Ok(Kind::PlugPull),
            (None, _) | (Some(Cut::MachineKill), Kind::MachineKill) => Ok(kind),
            (Some(_), Kind::ProcessKill) => Err(Error::cannot(
                "--cut says that the machine was stopped, and it has not started anew since the blocks were \
                 written; leave --cut out",
            )),
            (Some(_), _) => Err(Error::cannot(format!(
                "--cut says that the machine was stopped while blocks were written, and the witness saw \
                 otherwise ({}); leave --cut out",
                kind.words()
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cut, End, Kind};

    #[test]
    fn the_kind_is_what_the_evidence_allows() {
        let plug = Some(Cut::PlugPull);
        for (same_boot, end, said, expected) in [
            (true, End::Leave, None, Some(Kind::NoCut)),
            (false, End::Leave, plug, None),
            (true, End::Closed, None, Some(Kind::ProcessKill)),
            (true, End::Silent, None, Some(Kind::ProcessKill)),
            (true, End::Silent, plug, None),
            (false, End::Closed, None, Some(Kind::Restart)),
            (false, End::Closed, plug, None),
            (false, End::Silent, None, Some(Kind::MachineKill)),
            (false, End::Silent, plug, Some(Kind::PlugPull)),
            (false, End::Unseen, plug, Some(Kind::PlugPull)),
            (false, End::Silent, Some(Cut::MachineKill), Some(Kind::MachineKill)),
            (true, End::Closed, Some(Cut::MachineKill), None),
        ] {
            let kind = Kind::of(same_boot, end, said);
            assert_eq!(kind.ok(), expected, "{same_boot} {end:?} {said:?}");
        }
    }
}
