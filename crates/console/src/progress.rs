//! Progress of a command: a bar on a terminal, plain lines elsewhere, nothing with `--quiet`.
//!
//! 1. A command of several phases has one [`Progress`] over all of them; a phase moves it by [`Part`].
//! 2. If the total time is known in advance, progress shows time passed, the estimate and the share done,
//!    over all phases.
//! 3. Without a terminal, a phase begins with a line; further lines follow every ten seconds, and never two
//!    within a second.
//! 4. The share never goes back, and is below 100 % until the end.

use crate::terminal::note;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::{Mutex, MutexGuard};
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use syncline_instrument::{Nanos, clock};
use syncline_record::units;

const SECOND_NS: Nanos = 1_000_000_000;
/// The longest time without a line during a phase.
const LINE_EVERY_NS: Nanos = 10 * SECOND_NS;
/// Phases that follow one another within this time share a line.
const LINE_LEAST_NS: Nanos = SECOND_NS;

/// True after `--quiet`.
static QUIET: AtomicBool = AtomicBool::new(false);

/// The bar on the screen, which must be hidden while other lines are printed.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

fn shown() -> MutexGuard<'static, Option<ProgressBar>> {
    SHOWN.lock()
}

/// Runs `print` while no bar is on the screen.
pub fn without_bar(print: impl FnOnce()) {
    let bar = shown().clone();
    match bar {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

/// Turns progress off.
pub fn quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Progress on standard error; on a terminal it is drawn at most five times a second.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    template: String,
    total: Total,
    began: Nanos,
    plain: Option<Mutex<Plain>>,
}

/// The known total of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Total {
    /// Nothing.
    Unknown,
    /// This number of steps.
    Steps(u64),
    /// This estimated time, in tenths of a second.
    Tenths(u64),
}

/// Decides which lines are printed without a terminal.
#[derive(Debug, Default)]
struct Plain {
    phase: Option<String>,
    printed_at: Nanos,
}

impl Plain {
    /// True if a line is due now.
    fn prints(&mut self, phase: &str, now: Nanos) -> bool {
        let is_new = self.phase.as_deref() != Some(phase);
        let passed = now.saturating_sub(self.printed_at);
        let is_first = self.phase.is_none();
        let prints = is_first || passed >= LINE_EVERY_NS || (is_new && passed >= LINE_LEAST_NS);
        if prints {
            self.phase = Some(phase.to_owned());
            self.printed_at = now;
        }
        prints
    }
}

impl Progress {
    /// For commands without countable steps: shows a message and the time passed.
    pub fn of_messages() -> Progress {
        let bar = ProgressBar::with_draw_target(None, target());
        Progress::of(bar, Total::Unknown, "{spinner} {elapsed}  {wide_msg}")
    }

    /// For a command of `total` steps.
    pub fn of_steps(total: u64) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(total), target());
        let template = "{bar:24} {percent:>3}%  {elapsed}  {wide_msg}";
        Progress::of(bar, Total::Steps(total), template)
    }

    /// For the estimated time of all phases of a command, in tenths of a second.
    pub fn of_time(tenths: u64) -> Progress {
        if tenths == 0 {
            return Progress::of_messages();
        }
        let bar = ProgressBar::with_draw_target(Some(tenths), target());
        let template = format!(
            "{{bar:24}} {{percent:>3}}%  {{elapsed}} of about {}  {{wide_msg}}",
            time_of(tenths)
        );
        Progress::of(bar, Total::Tenths(tenths), &template)
    }

    fn of(bar: ProgressBar, total: Total, template: &str) -> Progress {
        bar.set_style(style(template));
        let is_quiet = QUIET.load(Ordering::Relaxed);
        *shown() = Some(bar.clone());
        if !is_quiet {
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        let has_lines = !is_quiet && !io::stderr().is_terminal();
        let plain = has_lines.then(Mutex::default);
        Progress { bar, template: template.to_owned(), total, began: clock::now(), plain }
    }

    /// Only a bar: without a terminal, nothing is printed.
    #[must_use]
    pub fn without_lines(self) -> Progress {
        let mut silent = self;
        silent.plain = None;
        silent
    }

    /// Shows a line below the bar, on a terminal only; none if it is empty.
    fn status(&self, line: &str) {
        let template = match line {
            "" => self.template.clone(),
            _ => format!("{}\n  {{prefix}}", self.template),
        };
        self.bar.set_style(style(&template));
        self.bar.set_prefix(line.to_owned());
    }

    /// Moves to a step; the phase is the part of `what` before the first colon.
    pub fn at(&self, step: u64, what: &str) {
        self.at_phase(what.split(": ").next().unwrap_or(what), step, what);
    }

    fn at_phase(&self, phase: &str, step: u64, what: &str) {
        let step = step.max(self.bar.position());
        if let Some(plain) = &self.plain {
            let now = clock::now();
            let mut plain = plain.lock();
            if plain.prints(phase, now) {
                note(&line(self.total, step, now - self.began, what));
            }
        }
        self.bar.set_position(step);
        self.bar.set_message(what.to_owned());
    }

    /// A phase that moves this by `length` from its current position, in `steps` steps. Without a name, the
    /// phases are taken from its messages.
    pub fn part(&self, phase: Option<&str>, length: u64, steps: u64) -> Part<'_> {
        Part {
            whole: self,
            phase: phase.map(str::to_owned),
            from: self.bar.position(),
            length,
            steps,
        }
    }
}

/// A phase of a command.
#[derive(Debug)]
pub struct Part<'p> {
    whole: &'p Progress,
    phase: Option<String>,
    from: u64,
    length: u64,
    steps: u64,
}

impl Part<'_> {
    /// Moves to a step of this phase.
    pub fn at(&self, step: u64, what: &str) {
        let step = self.from + moved(self.length, step, self.steps);
        match &self.phase {
            Some(phase) => self.whole.at_phase(phase, step, what),
            None => self.whole.at(step, what),
        }
    }

    /// Shows a line below the bar, on a terminal only; none if it is empty.
    pub fn status(&self, line: &str) {
        self.whole.status(line);
    }
}

impl Drop for Part<'_> {
    /// Moves to the phase's end, where the next phase begins.
    fn drop(&mut self) {
        self.whole.status("");
        let end = self.from + self.length;
        self.whole.bar.set_position(end.max(self.whole.bar.position()));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        *shown() = None;
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).expect("the template is well formed");
    style.progress_chars("=> ")
}

fn target() -> ProgressDrawTarget {
    if QUIET.load(Ordering::Relaxed) {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr_with_hz(5)
    }
}

/// The progress within `length` after `step` of `steps`.
fn moved(length: u64, step: u64, steps: u64) -> u64 {
    let part = u128::from(length) * u128::from(step.min(steps)) / u128::from(steps.max(1));
    u64::try_from(part).unwrap_or(length)
}

/// A plain line: the share done and the time passed if known, then the message.
fn line(total: Total, step: u64, passed: Nanos, what: &str) -> String {
    let percent = |total: u64| moved(100, step, total).min(99);
    let passed = seconds(passed);
    match total {
        Total::Unknown => what.to_owned(),
        Total::Steps(total) => format!("{:>3} %  {passed}  {what}", percent(total)),
        Total::Tenths(total) => {
            format!("{:>3} %  {passed} of about {}  {what}", percent(total), time_of(total))
        }
    }
}

/// Seconds, and minutes from 1000 s.
fn seconds(ns: Nanos) -> String {
    if ns < 1_000 * SECOND_NS { format!("{} s", ns / SECOND_NS) } else { units::span_ns(ns) }
}

fn time_of(tenths: u64) -> String {
    seconds(tenths.div_ceil(10) * SECOND_NS)
}

#[cfg(test)]
mod tests {
    use super::{LINE_EVERY_NS, Part, Plain, Progress, SECOND_NS, Total, line, moved};

    #[test]
    fn a_line_is_printed_per_phase_and_every_ten_seconds() {
        let mut plain = Plain::default();
        let printed = [
            (0, "loading", true),
            (1, "this setting", true),
            (2, "this setting", false),
            (10, "this setting", false),
            (11, "this setting", true),
            (12, "this setting", false),
            (13, "loading", true),
        ];
        for (at, phase, prints) in printed {
            assert_eq!(plain.prints(phase, at * SECOND_NS), prints, "{at} s: {phase}");
        }
    }

    // D13
    #[test]
    fn phases_within_a_second_share_a_line() {
        let mut plain = Plain::default();
        assert!(plain.prints("a", 0));
        assert!(!plain.prints("b", SECOND_NS / 2));
        assert!(plain.prints("c", SECOND_NS));
        assert!(!plain.prints("c", LINE_EVERY_NS));
        assert!(plain.prints("c", LINE_EVERY_NS + SECOND_NS));
    }

    // D13
    #[test]
    fn a_line_has_the_share_done_the_time_passed_and_the_estimate() {
        let what = "8 clients: engine: measuring";
        assert_eq!(
            line(Total::Tenths(1_057), 444, 45_900_000_000, what),
            " 42 %  45 s of about 106 s  8 clients: engine: measuring"
        );
        assert_eq!(line(Total::Steps(200), 400, 3_000_000_000, "loading"), " 99 %  3 s  loading");
        assert_eq!(line(Total::Steps(3), u64::MAX, 0, "checking"), " 99 %  0 s  checking");
        assert_eq!(line(Total::Unknown, 0, 0, "checking"), "checking");
    }

    // D20
    #[test]
    fn one_total_spans_all_phases_and_the_share_never_falls() {
        let whole = Progress::of_time(300);
        let first = whole.part(Some("probe"), 100, 4);
        first.at(2, "fsync");
        assert_eq!(whole.bar.position(), 50);
        drop(first);
        assert_eq!(whole.bar.position(), 100);
        let second: Part<'_> = whole.part(Some("8 clients"), 200, 10);
        second.at(5, "measuring");
        second.at(0, "late");
        assert_eq!(whole.bar.position(), 200);
        assert_eq!(moved(100, 7, 0), 0);
        assert_eq!(moved(u64::MAX, 7, 7), u64::MAX);
    }
}
