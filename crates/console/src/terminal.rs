//! What reaches the terminal: results on standard output, progress and warnings on standard error.
//!
//! The only file that prints. A closed pipe is no error: whoever read the output has seen enough. Words
//! for standard error that cannot be written are dropped: there is no place left to complain.

use crate::CannotRun;
use crate::progress::without_bar;
pub use crate::progress::{Part, Progress};
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use syncline_report::table;

/// Prints a result.
pub fn print(text: &str) -> Result<(), CannotRun> {
    print_bytes(harmless(text).as_bytes())
}

/// Without signs that command a terminal or turn the direction of text: a record may come from anybody.
fn harmless(text: &str) -> Cow<'_, str> {
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

/// Prints a view, drawn as wide as the terminal is that it goes to.
pub fn print_view(draw: impl FnOnce() -> String) -> Result<(), CannotRun> {
    print(&table::at_width(columns(), draw))
}

/// How wide the terminal on standard output is; what is none, such as a pipe or a file, has no width.
pub fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}

/// Prints a result that need not be text.
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

/// Says what is being done.
pub fn note(sentence: &str) {
    say(&harmless(sentence));
}

/// Warns.
pub fn warn(sentence: &str) {
    say(&emphasized("warning: ", &harmless(sentence), "33"));
}

/// Says why the program could not run.
pub fn error(sentence: &str) {
    say(&emphasized("error: ", &harmless(sentence), "31"));
}

/// A line on standard error, as far as somebody still reads there.
fn say(line: &str) {
    without_bar(|| drop(writeln!(io::stderr(), "{line}")));
}

/// No meaning is carried by colour alone: the word stands there too.
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
    use super::harmless;

    #[test]
    fn what_a_record_says_commands_no_terminal() {
        assert_eq!(harmless("two\tcolumns\n"), "two\tcolumns\n");
        let hostile = "\u{1b}]0;title\u{7}\u{202e}txt\r";
        assert_eq!(harmless(hostile), "\u{fffd}]0;title\u{fffd}\u{fffd}txt\u{fffd}");
    }
}
