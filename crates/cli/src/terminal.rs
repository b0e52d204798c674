//! What reaches the terminal: results on standard output, progress and warnings on standard error.
//!
//! The only file that prints. A closed pipe is no error: whoever read the output has seen enough. Words
//! for standard error that cannot be written are dropped: there is no place left to complain.

use crate::exit::CannotRun;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use syncline_metering::{Nanos, clock};
use syncline_report::table;

/// Prints a result.
pub(crate) fn print(text: &str) -> Result<(), CannotRun> {
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
pub(crate) fn print_view(draw: impl FnOnce() -> String) -> Result<(), CannotRun> {
    print(&table::at_width(columns(), draw))
}

/// How wide the terminal on standard output is; what is none, such as a pipe or a file, has no width.
pub(crate) fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}

/// Prints a result that need not be text.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), CannotRun> {
    let mut out = io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CannotRun(format!(
            "cannot print the result: standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

/// Says what is being done.
pub(crate) fn note(sentence: &str) {
    say(&harmless(sentence));
}

/// Warns.
pub(crate) fn warn(sentence: &str) {
    say(&emphasized("warning: ", &harmless(sentence), "33"));
}

/// Says why the program could not run.
pub(crate) fn error(sentence: &str) {
    say(&emphasized("error: ", &harmless(sentence), "31"));
}

/// A line on standard error, as far as somebody still reads there.
fn say(line: &str) {
    drop(writeln!(io::stderr(), "{line}"));
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

/// A bar on standard error, drawn at most five times a second, and not at all where nobody looks. What has
/// words alone is told there in plain lines: a line a phase, and one when ten seconds have passed.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    plain: Option<Mutex<Plain>>,
}

/// How long a log stays without a line while a phase goes on.
const LINE_EVERY_NS: Nanos = 10_000_000_000;

/// Which lines of progress are told where no bar can be drawn.
#[derive(Debug, Default)]
struct Plain {
    phase: String,
    told_at: Nanos,
}

impl Plain {
    /// True if what is done now is to be told. A phase is named before a colon, and how far it is stands
    /// behind it.
    fn tells(&mut self, what: &str, now: Nanos) -> bool {
        let phase = what.split(": ").next().unwrap_or(what);
        let tells = phase != self.phase || now >= self.told_at + LINE_EVERY_NS;
        if tells {
            phase.clone_into(&mut self.phase);
            self.told_at = now;
        }
        tells
    }
}

impl Progress {
    /// Words alone, and the time: for what has no steps of one length.
    pub(crate) fn of_words() -> Progress {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
        let style = ProgressStyle::with_template("{spinner} {elapsed}  {wide_msg}");
        bar.set_style(style.expect("the template is well formed"));
        bar.enable_steady_tick(Duration::from_millis(500));
        let plain = (!io::stderr().is_terminal()).then(Mutex::default);
        Progress { bar, plain }
    }

    /// A bar over `total` steps.
    pub(crate) fn new(total: u64) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(5));
        let template = "{bar:24} {percent:>3}%  {elapsed} of about {duration}  {wide_msg}";
        let style = ProgressStyle::with_template(template).expect("the template is well formed");
        bar.set_style(style.progress_chars("=> "));
        bar.enable_steady_tick(Duration::from_millis(500));
        Progress { bar, plain: None }
    }

    /// Moves to a step and says what is done there.
    pub(crate) fn at(&self, step: u64, what: &str) {
        if let Some(plain) = &self.plain {
            let mut plain = plain.lock().unwrap_or_else(PoisonError::into_inner);
            if plain.tells(what, clock::now()) {
                note(what);
            }
        }
        self.bar.set_position(step);
        self.bar.set_message(what.to_owned());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{Plain, harmless};

    #[test]
    fn a_log_gets_a_line_a_phase_and_one_every_ten_seconds() {
        let mut plain = Plain::default();
        let second = 1_000_000_000;
        let told = [
            (0, "loading", true),
            (1, "this setting: 10 of 200 images", true),
            (2, "this setting: 20 of 200 images", false),
            (10, "this setting: 90 of 200 images", false),
            (11, "this setting: 100 of 200 images", true),
            (12, "this setting: 110 of 200 images", false),
            (13, "loading", true),
        ];
        for (at, what, tells) in told {
            assert_eq!(plain.tells(what, at * second), tells, "{at} s: {what}");
        }
    }

    #[test]
    fn what_a_record_says_commands_no_terminal() {
        assert_eq!(harmless("two\tcolumns\n"), "two\tcolumns\n");
        let hostile = "\u{1b}]0;title\u{7}\u{202e}txt\r";
        assert_eq!(
            harmless(hostile),
            "\u{fffd}]0;title\u{fffd}\u{fffd}txt\u{fffd}"
        );
    }
}
