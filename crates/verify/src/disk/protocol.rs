//! The protocol between writer, checker and witness.
//!
//! Text, one message per line. First each side sends [`GREETING`], which names the version; then each line is
//! JSON, at most [`LINE_BYTES_MAX`] long. An invalid message is answered with one [`Reply::Refused`], and the
//! connection is closed.
//!
//! | sender | message | answer |
//! |---|---|---|
//! | writer | `begin` | `begun`, or `refused` |
//! | writer | `promise` n, n + 1, ... | `kept` n, for several promises at once |
//! | writer | `leave` | `kept` |
//! | checker | `ask` | `run`, then `promised` for each of the latest, then `done`; or `refused` |
//! | checker | `judged` | `sum` |

use super::cut_kind::End;
use super::finding::Cuts;
use super::judgement::Judgement;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The first line from each side; the number is the version of the protocol.
pub(super) const GREETING: &str = "syncline-witness 1";

/// The longest line that is accepted.
pub(super) const LINE_BYTES_MAX: usize = 4096;

/// A run's id: 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct RunName(pub(super) u128);

impl TryFrom<String> for RunName {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> std::result::Result<RunName, Self::Error> {
        u128::from_str_radix(&text, 16).map(RunName)
    }
}

impl From<RunName> for String {
    fn from(run: RunName) -> String {
        format!("{:032x}", run.0)
    }
}

/// The writer's description of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Begin {
    /// The disk under test; the same name for all runs on it.
    pub(super) subject: String,
    /// A random id of this run.
    pub(super) run: RunName,
    /// The boot id of the writer's machine.
    pub(super) boot: String,
    /// The method under test.
    pub(super) method: String,
    /// Size of a block.
    pub(super) block_bytes: u32,
    /// Number of slots in the file.
    pub(super) slots: u64,
    /// Discards the subject's last run if it was not judged.
    pub(super) abandon: bool,
}

/// A message to the witness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Call {
    /// A run begins.
    Begin(Begin),
    /// The disk reported a block as stable: sequence and checksum.
    Promise(u64, u32),
    /// The run ends in an orderly way.
    Leave,
    /// Requests the last run of this subject.
    Ask(String),
    /// The judgement of that run.
    Judged(Judgement),
}

/// A message from the witness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// The witness is ready for promises.
    Begun,
    /// All promises up to this one are stable; none if there was no promise.
    Kept(Option<u64>),
    /// The requested run.
    Run {
        /// The run's description.
        begin: Begin,
        /// Number of promises.
        promised: u64,
        /// How the connection ended.
        end: End,
    },
    /// One of the run's latest promises.
    LastPromises(u64, u32),
    /// The end of the promises.
    Done,
    /// All judged runs by the same method, by kind of cut.
    Sum(Vec<Cuts>),
    /// The request failed; the text says why.
    Refused(String),
}

/// Encodes a message as a line.
pub(super) fn line(message: &impl Serialize) -> Result<Vec<u8>> {
    let line = serde_json::to_vec(message);
    let mut line =
        line.map_err(|error| Error::cannot(format!("cannot encode a message: {error}")))?;
    if line.len() >= LINE_BYTES_MAX {
        return Err(Error::cannot(format!(
            "a message of {} bytes is too long for the witness, which accepts {LINE_BYTES_MAX}",
            line.len()
        )));
    }
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::{Begin, Call, LINE_BYTES_MAX, Reply, RunName, line};

    fn begin(subject: &str) -> Begin {
        Begin {
            subject: subject.to_owned(),
            run: RunName(u128::MAX - 1),
            boot: "b".to_owned(),
            method: "fdatasync".to_owned(),
            block_bytes: 4096,
            slots: 16,
            abandon: false,
        }
    }

    #[test]
    fn messages_survive_a_round_trip() {
        for call in [
            Call::Begin(begin("host:/mnt\n\"x\"")),
            Call::Promise(u64::MAX, 7),
            Call::Leave,
            Call::Ask("x".to_owned()),
        ] {
            let line = line(&call).unwrap();
            let end = line.iter().position(|byte| *byte == b'\n');
            assert_eq!(end, Some(line.len() - 1), "one line");
            assert_eq!(serde_json::from_slice::<Call>(&line).unwrap(), call);
        }
        assert_eq!(line(&Call::Promise(17, 5)).unwrap(), b"{\"promise\":[17,5]}\n");
        assert_eq!(line(&Reply::Begun).unwrap(), b"\"begun\"\n");
    }

    #[test]
    fn long_messages_and_invalid_runs_are_refused() {
        let long = Call::Begin(begin(&"x".repeat(LINE_BYTES_MAX)));
        assert!(line(&long).unwrap_err().to_string().contains("too long"));
        let text = String::from_utf8(line(&Call::Begin(begin("x"))).unwrap()).unwrap();
        let wrong = text.replace("fffffffffffffffffffffffffffffffe", "not a run");
        assert_ne!(text, wrong);
        assert!(serde_json::from_str::<Call>(&wrong).is_err());
    }
}
