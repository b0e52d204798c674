//! What reaches the terminal: results on standard output, progress and warnings on standard error.
//!
//! The only file that prints. A closed pipe is no error: whoever read the output has seen enough.

#![allow(
    clippy::print_stderr,
    reason = "this is the one place that speaks on standard error"
)]

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// Prints a result.
pub(crate) fn print(text: &str) -> io::Result<()> {
    print_bytes(text.as_bytes())
}

/// Prints a result that need not be text.
pub(crate) fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Says what is being done.
pub(crate) fn note(sentence: &str) {
    eprintln!("{sentence}");
}

/// Warns.
pub(crate) fn warn(sentence: &str) {
    eprintln!("{}", emphasized("warning: ", sentence, "33"));
}

/// Says why the program could not run.
pub(crate) fn error(sentence: &str) {
    eprintln!("{}", emphasized("error: ", sentence, "31"));
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

/// A bar on standard error, drawn at most five times a second, and not at all where nobody looks.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Words alone, and the time: for what has no steps of one length.
    pub(crate) fn of_words() -> Progress {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
        let style = ProgressStyle::with_template("{spinner} {elapsed}  {wide_msg}");
        bar.set_style(style.expect("the template is well formed"));
        bar.enable_steady_tick(Duration::from_millis(500));
        Progress(bar)
    }

    /// A bar over `total` steps.
    pub(crate) fn new(total: u64) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(5));
        let template = "{bar:24} {percent:>3}%  {elapsed} of about {duration}  {wide_msg}";
        let style = ProgressStyle::with_template(template).expect("the template is well formed");
        bar.set_style(style.progress_chars("=> "));
        bar.enable_steady_tick(Duration::from_millis(500));
        Progress(bar)
    }

    /// Moves to a step and says what is done there.
    pub(crate) fn at(&self, step: u64, what: &str) {
        self.0.set_position(step);
        self.0.set_message(what.to_owned());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
