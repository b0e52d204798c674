//! The kind of cut, derived from the evidence.
//!
//! | boot of the machine | connection | operator | kind |
//! |---|---|---|---|
//! | any | closed by the writer's `leave` | | no cut |
//! | same | any other | | process kill |
//! | another | closed by a running kernel | | restart |
//! | another | silent, or the witness was down | | machine kill |
//! | another | silent, or the witness was down | "plug pull" | plug pull |

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// How a run's connection ended, from the witness's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    /// The writer ended the run.
    Leave,
    /// The other machine's kernel closed the connection, so it outlived the writer.
    Closed,
    /// No more messages arrived.
    Silent,
    /// The witness itself was down.
    Unseen,
}

/// The operator's statement of what was done.
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
    /// The writer ended in an orderly way.
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
    /// The name in verdicts.
    pub fn words(self) -> &'static str {
        match self {
            Kind::NoCut => "no cut",
            Kind::Restart => "restart in good order",
            Kind::ProcessKill => "process kill",
            Kind::MachineKill => "machine kill",
            Kind::PlugPull => "plug pull",
        }
    }

    /// True if the run was interrupted without warning.
    pub fn is_cut(self) -> bool {
        self >= Kind::ProcessKill
    }

    /// True if unsynced data should be lost.
    pub(super) fn takes_memory(self) -> bool {
        self >= Kind::MachineKill
    }

    /// Derives the kind from the evidence; fails if the operator's statement contradicts it.
    pub(super) fn of(same_boot: bool, end: End, stated: Option<Cut>) -> Result<Kind> {
        let kind = match (end, same_boot) {
            (End::Leave, _) => Kind::NoCut,
            (_, true) => Kind::ProcessKill,
            (End::Closed, false) => Kind::Restart,
            (End::Silent | End::Unseen, false) => Kind::MachineKill,
        };
        match (stated, kind) {
            (Some(Cut::PlugPull), Kind::MachineKill) => Ok(Kind::PlugPull),
            (None, _) | (Some(Cut::MachineKill), Kind::MachineKill) => Ok(kind),
            (Some(_), Kind::ProcessKill) => Err(Error::cannot(
                "--cut claims that the machine was stopped, but it has not been restarted since the blocks \
                 were written; leave --cut out",
            )),
            (Some(_), _) => Err(Error::cannot(format!(
                "--cut claims that the machine was stopped while blocks were written, but the witness \
                 recorded a {}; leave --cut out",
                kind.words()
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cut, End, Kind};

    #[test]
    fn the_kind_follows_from_the_evidence() {
        let plug = Some(Cut::PlugPull);
        for (same_boot, end, stated, expected) in [
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
            let kind = Kind::of(same_boot, end, stated);
            assert_eq!(kind.ok(), expected, "{same_boot} {end:?} {stated:?}");
        }
    }
}
