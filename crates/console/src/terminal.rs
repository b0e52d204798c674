//! Terminal output: results on standard output, progress and warnings on standard error.
//!
//! This is the only file that prints. A closed pipe is not an error: the reader has stopped reading. Messages
//! that cannot be written to standard error are dropped, since there is nowhere to report that.

use crate::CannotRun;
use crate::progress::without_bar;
pub use crate::progress::{Part, Progress};
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use syncline_report::table;

/// Prints a result.
pub fn print(text: &str) -> Result<(), CannotRun> {
    print_bytes(sanitized(text).as_bytes())
}

/// Replaces control and bidirectional characters: a record may come from an untrusted source.
fn sanitized(text: &str) -> Cow<'_, str> {
    let commands = |sign: char| {
        (sign.is_control() && sign != '\n' && sign != '\t')
            || matches!(sign, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if text.contains(commands) {
        Cow::Owned(text.replace(commands, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Prints a view drawn for the width of the terminal.
pub fn print_view(draw: impl FnOnce() -> String) -> Result<(), CannotRun> {
    print(&table::at_width(columns(), draw))
}

/// The width of the terminal on standard output; none for a pipe or a file.
pub fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}

/// Prints a result of arbitrary bytes.
pub fn print_bytes(bytes: &[u8]) -> Result<(), CannotRun> {
    let mut out = io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CannotRun(format!("cannot print the result: standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a piece of a long result. Unlike the others it reports a pipe that nobody reads any more, so that
/// the rest need not be made.
pub fn print_piece(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush())
}

/// Prints a progress note.
pub fn note(sentence: &str) {
    say(&sanitized(sentence));
}

/// Prints a warning.
pub fn warn(sentence: &str) {
    say(&emphasized("warning: ", &sanitized(sentence), "33"));
}

/// Prints why the program could not run.
pub fn error(sentence: &str) {
    say(&emphasized("error: ", &sanitized(sentence), "31"));
}

/// Prints a line on standard error, if it is open.
fn say(line: &str) {
    without_bar(|| drop(writeln!(io::stderr(), "{line}")));
}

/// Colours the first word; the word itself carries the meaning.
fn emphasized(word: &str, sentence: &str, color: &str) -> String {
    let plain = std::env::var_os("NO_COLOR").is_some() || !io::stderr().is_terminal();
    if plain {
        format!("{word}{sentence}")
    } else {
        format!("\x1b[{color}m{word}\x1b[0m{sentence}")
    }
}

#[cfg(test)]
mod tests {
    use super::sanitized;

    #[test]
    fn control_characters_of_a_record_do_not_reach_the_terminal() {
        assert_eq!(sanitized("two\tcolumns\n"), "two\tcolumns\n");
        let hostile = "\u{1b}]0;title\u{7}\u{202e}txt\r";
        assert_eq!(sanitized(hostile), "\u{fffd}]0;title\u{fffd}\u{fffd}txt\u{fffd}");
    }
}
