//! The loads to choose from.

use std::fmt;
use std::str::FromStr;

/// A load beside which a probe measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Load {
    /// Writes a file through the page cache.
    Writer,
    /// Appends to a file with a sync after each write.
    Syncs,
    /// Reads a file from start to end with direct I/O.
    Read,
    /// A command, run by `sh -c`.
    Command(String),
}

/// The prefix of a command.
const COMMAND: &str = "command:";

impl FromStr for Load {
    type Err = String;

    fn from_str(typed: &str) -> Result<Load, String> {
        match (typed, typed.strip_prefix(COMMAND).map(str::trim)) {
            ("writer", _) => Ok(Load::Writer),
            ("syncs", _) => Ok(Load::Syncs),
            ("read", _) => Ok(Load::Read),
            (_, Some("")) => Err("command: needs a command line after the colon".to_owned()),
            (_, Some(line)) => Ok(Load::Command(line.to_owned())),
            (other, None) => Err(format!(
                "\"{other}\" is not one of writer, syncs, read, \"command:COMMAND LINE\""
            )),
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Load::Writer => text.write_str("a buffered writer"),
            Load::Syncs => text.write_str("competing syncs of another file"),
            Load::Read => text.write_str("a sequential read"),
            Load::Command(line) => write!(text, "the command \"{line}\""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Load;

    #[test]
    fn a_load_is_a_known_word_or_a_marked_command() {
        assert_eq!("writer".parse(), Ok(Load::Writer));
        assert_eq!("syncs".parse(), Ok(Load::Syncs));
        assert_eq!("read".parse(), Ok(Load::Read));
        assert_eq!("command: sleep 1".parse(), Ok(Load::Command("sleep 1".to_owned())));
        let misspelt = "wrtier".parse::<Load>().unwrap_err();
        assert!(misspelt.contains("writer, syncs, read"), "{misspelt}");
        assert!("command:".parse::<Load>().unwrap_err().contains("command line"));
    }
}
