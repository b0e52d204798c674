//! What writer, checker and witness say to one another.
//!
//! Text, a line each. First each side greets with [`GREETING`], which names the version; then lines are
//! JSON, at most [`LINE_BYTES_MAX`] long. Whatever does not fit is answered with one [`Reply::Refused`],
//! and the connection is closed.
//!
//! | who | says | is answered |
//! |---|---|---|
//! | writer | `begin` | `begun`, or `refused` |
//! | writer | `promise` n, n + 1, ... | now and then `kept` n |
//! | writer | `leave` | `kept` |
//! | checker | `ask` | `run`, then `promised` for each of the latest, then `done`; or `refused` |
//! | checker | `judged` | `sum` |

use super::cut_kind::End;
use super::finding::Cuts;
use super::judgement::Judgement;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// What each side says first; the number is the version of all that follows.
pub(super) const GREETING: &str = "syncline-witness 1";

/// The longest line that is heard.
pub(super) const LINE_BYTES_MAX: usize = 4096;

/// A run's name: 32 hexadecimal digits.
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

/// A run, as the writer describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Begin {
    /// Whose disk: the same words for every run on it.
    pub(super) subject: String,
    /// This run and no other.
    pub(super) run: RunName,
    /// The boot of the writer's machine.
    pub(super) boot: String,
    /// The method under test.
    pub(super) method: String,
    /// Of a block.
    pub(super) block_bytes: u32,
    /// Of the file.
    pub(super) slots: u64,
    /// The last run's cut may be lost.
    pub(super) abandon: bool,
}

/// What a witness hears.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Call {
    /// A run begins.
    Begin(Begin),
    /// A block is stable, as its disk says: sequence and checksum.
    Promise(u64, u32),
    /// The run ends in good order.
    Leave,
    /// What was promised for this subject last.
    Ask(String),
    /// What has become of it.
    Judged(Judgement),
}

/// What it answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// Promises may come.
    Begun,
    /// All up to this one are kept; none if there was none.
    Kept(Option<u64>),
    /// The run that was asked for.
    Run {
        /// As it began.
        begin: Begin,
        /// How many promises.
        promised: u64,
        /// How its connection ended.
        end: End,
    },
    /// One of its latest promises.
    Promised(u64, u32),
    /// There are no more.
    Done,
    /// All judged runs by the same method, by kind of cut.
    Sum(Vec<Cuts>),
    /// No; why.
    Refused(String),
}

/// A message as its line.
pub(super) fn line(message: &impl Serialize) -> Result<Vec<u8>> {
    let line = serde_json::to_vec(message);
    let mut line = line.map_err(|error| Error::cannot(format!("cannot say that: {error}")))?;
    if line.len() >= LINE_BYTES_MAX {
        return Err(Error::cannot(format!(
            "a message of {} bytes is too long for a witness, which hears {LINE_BYTES_MAX}",
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
    fn what_is_said_is_heard() {
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
    fn what_is_too_long_is_not_said_and_a_wrong_run_not_heard() {
        let long = Call::Begin(begin(&"x".repeat(LINE_BYTES_MAX)));
        assert!(line(&long).unwrap_err().to_string().contains("too long"));
        let text = String::from_utf8(line(&Call::Begin(begin("x"))).unwrap()).unwrap();
        let wrong = text.replace("fffffffffffffffffffffffffffffffe", "no run");
        assert_ne!(text, wrong);
        assert!(serde_json::from_str::<Call>(&wrong).is_err());
    }
}
